//! `POST /api/exec`: functions and procedures of PostgreSQL, and declared ones of SQLite.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, ORDERS_OF, RENAME};
use crate::support::postgres::connect;

const ROUTINES: &str = "
CREATE TABLE log (word text);
CREATE FUNCTION add(a int4, b int4 DEFAULT 2) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
CREATE FUNCTION add(a text, c text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT a || c';
CREATE FUNCTION pick(x int4) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'int' $$;
CREATE FUNCTION pick(x text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'text' $$;
CREATE FUNCTION either(x date) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'date' $$;
CREATE FUNCTION either(x uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'uuid' $$;
CREATE FUNCTION listing(n int4) RETURNS TABLE (id int4, price money) LANGUAGE sql STABLE
    AS 'SELECT g, g::numeric::money FROM generate_series(1, n) g';
CREATE FUNCTION any_row(a int4) RETURNS record LANGUAGE sql IMMUTABLE AS $$ SELECT a, 'x, y' $$;
CREATE FUNCTION any_rows() RETURNS SETOF record LANGUAGE sql IMMUTABLE AS $$ SELECT g, g * 2 FROM generate_series(1, 2) g $$;
CREATE FUNCTION numbers(n int4) RETURNS SETOF int8 LANGUAGE sql STABLE AS 'SELECT generate_series(1::int8, n)';
CREATE FUNCTION pair(a int4, INOUT b numeric, OUT c date) LANGUAGE sql STABLE AS $$ SELECT b + a, date '2026-01-02' $$;
CREATE FUNCTION total(label text, VARIADIC n numeric[]) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT label || ' ' || sum(u) FROM unnest(n) u $$;
CREATE FUNCTION note(word text) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (word); END';
CREATE PROCEDURE change(INOUT n numeric, OUT word text, extra int4 DEFAULT 1) LANGUAGE plpgsql
    AS $$ BEGIN n := n + extra; word := 'changed'; END $$;
CREATE PROCEDURE commits(word text) LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO log VALUES (word); COMMIT; INSERT INTO log VALUES ('more'); RAISE 'too late'; END $$;
CREATE FUNCTION fails() RETURNS int4 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    RAISE 'no such parcel' USING ERRCODE = 'PX001', DETAIL = 'parcel 7', HINT = 'look in the cellar'; END $$;
CREATE FUNCTION one_set() RETURNS refcursor LANGUAGE plpgsql STABLE AS $$ DECLARE c refcursor; BEGIN
    OPEN c FOR SELECT id, name FROM customers ORDER BY id; RETURN c; END $$;
CREATE FUNCTION sets() RETURNS SETOF refcursor LANGUAGE plpgsql AS $$ DECLARE a refcursor; b refcursor := 'odd \" name'; BEGIN
    INSERT INTO log VALUES ('sets');
    OPEN a FOR SELECT i FROM generate_series(1, 1000) i; RETURN NEXT a; RETURN NEXT NULL;
    OPEN b FOR SELECT name AS who FROM customers WHERE id = 3; RETURN NEXT b; END $$;
CREATE FUNCTION many_sets() RETURNS SETOF refcursor LANGUAGE plpgsql AS $$ DECLARE a refcursor; b refcursor; BEGIN
    INSERT INTO log VALUES ('many');
    OPEN a FOR SELECT i FROM generate_series(1, 20000) i; RETURN NEXT a;
    OPEN b FOR SELECT 1 AS one; RETURN NEXT b; END $$;
CREATE PROCEDURE report(lowest int4, OUT hits int4, INOUT rows refcursor DEFAULT 'report_rows') LANGUAGE plpgsql
    AS $$ BEGIN SELECT count(*) INTO hits FROM orders WHERE id >= lowest;
    OPEN rows FOR SELECT id, total FROM orders WHERE id >= lowest ORDER BY id; END $$;
CREATE SCHEMA other; CREATE FUNCTION other.where_am_i() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'other' $$;";

async fn on_postgres() -> (TestApp, tokio_postgres::Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute(ROUTINES).await.unwrap();
    (fixture::with_postgres(&url, "access = \"read-write\"").await, admin)
}

/// The rows of each result.
fn sets(document: &Value) -> Vec<&Value> {
    assert!(document.get("error").is_none(), "{document}");
    document["results"].as_array().unwrap().iter().map(|result| &result["rows"]).collect()
}

#[actix_web::test]
async fn routines_are_called_in_every_way() {
    let (app, _admin) = on_postgres().await;
    let wrapped = json!({"@a": {"dataType": 8, "direction": 1, "value": 1}, "@b": {"dataType": "", "value": 5}});
    for (procedure, parameters, rows) in [
        ("add", wrapped, json!([[6]])),
        ("shop.public.add", json!({"b": 5, "A": 1}), json!([[6]])),
        ("[shop].[public].[pair]", json!({"@1": 1, "@2": 4}), json!([[5, "2026-01-02"]])),
        ("public.ADD", json!([1]), json!([[3]])),
        ("add", json!({"a": "x'", "c": "y"}), json!([["x'y"]])),
        ("listing", json!({"n": 2}), json!([[1, "$1.00"], [2, "$2.00"]])),
        ("numbers", json!([3]), json!([[1], [2], [3]])),
        ("any_row", json!({"a": 7}), json!([["(7,\"x, y\")"]])),
        ("any_rows", json!([]), json!([["(1,2)"], ["(2,4)"]])),
        ("pair", json!({"a": 1, "b": 1.50}), json!([[2.50, "2026-01-02"]])),
        ("total", json!({"label": "all", "n": [1, 2.5]}), json!([["all 3.5"]])),
        ("total", json!(["all", 1, 2, 3]), json!([["all 6"]])),
        ("total", json!({"@3": 2, "@1": "one", "@2": 1}), json!([["one 3"]])),
        ("total", json!({"label": "one", "n": 4}), json!([["one 4"]])),
        ("change", json!({"n": 1.5}), json!([[2.5, "changed"]])),
        ("change", json!({"n": 1.5, "extra": 10, "word": null}), json!([[11.5, "changed"]])),
        ("change", json!({"n": 1, "word": {"direction": 4, "dataType": 5}}), json!([[2, "changed"]])),
        ("other.where_am_i", json!({}), json!([["other"]])),
    ] {
        let (status, document) = app.exec(json!({"procedure": procedure, "parameters": parameters})).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &rows), "{procedure}: {document}");
        assert_eq!(document["results"][0]["affectedRows"], -1);
    }
    let (status, document) = app.exec(json!({"procedure": "where_am_i", "defaultSchema": "other"})).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([["other"]])]));
    let (_, document) = app.exec(json!({"procedure": "change", "parameters": {"n": 1}})).await;
    let labels: Vec<&Value> =
        document["results"][0]["schema"].as_array().unwrap().iter().map(|column| &column["columnLabel"]).collect();
    assert_eq!(labels, ["n", "word"]);
}

#[actix_web::test]
async fn routines_write_and_commit_by_themselves() {
    let (app, admin) = on_postgres().await;
    let (status, document) = app.exec(json!({"procedure": "note", "parameters": {"word": "kept"}})).await;
    assert_eq!(status, 200, "{document}");
    let (status, answer) = app.exec(json!({"procedure": "commits", "parameters": ["first"]})).await;
    assert_eq!((status, &answer["error"]["message"]), (400, &json!("too late")), "{answer}");
    let logged: Vec<String> =
        admin.query("SELECT word FROM log", &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(logged, ["kept", "first"], "what was committed inside stays, what came after it is undone");
    let request = app.http.post(format!("{}/api/exec", app.url)).basic_auth(&app.reader.name, Some(&app.reader.secret));
    let (status, answer) =
        read(request.json(&json!({"procedure": "note", "parameters": ["no"]})).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{answer}");
}

#[actix_web::test]
async fn each_cursor_is_a_set_of_its_own() {
    let (app, admin) = on_postgres().await;
    let (status, document) = app.exec(json!({"procedure": "one_set"})).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[1, "Łukasz"], [2, "José"], [3, "美咲"]])]));
    assert_eq!(document["results"][0]["schema"][1]["tableName"], "customers");
    let (status, document) = app.exec(json!({"procedure": "sets"})).await;
    let found = sets(&document);
    assert_eq!((status, found.len(), found[0].as_array().unwrap().len()), (200, 2, 1000), "{document}");
    assert_eq!(found[1], &json!([["美咲"]]));
    assert_eq!(document["results"][1]["schema"][0]["columnLabel"], "who");
    let logged: i64 = admin.query_one("SELECT count(*) FROM log", &[]).await.unwrap().get(0);
    assert_eq!(logged, 1, "what it wrote is committed");
    // OUT values beside cursors keep their row.
    let (status, document) = app.exec(json!({"procedure": "report", "parameters": {"lowest": 2}})).await;
    assert_eq!(status, 200, "{document}");
    let found = sets(&document);
    assert_eq!(found, [&json!([[2, "report_rows"]]), &json!([[2, 0.10], [3, 99999.99]])]);
}

#[actix_web::test]
async fn what_does_not_fit_is_told() {
    let (app, _admin) = on_postgres().await;
    for (procedure, parameters, words) in [
        ("add", json!({"z": 1}), "public.add(a integer, b integer = default); public.add(a text, c text)"),
        ("either", json!({"x": "2026-01-01"}), "more than one overload"),
        ("either", json!({"x": true}), "no overload takes arguments of these types"),
        ("listing", json!({}), "listing(n integer)"),
        ("listing", json!([1, 2]), "listing(n integer)"),
        ("add", json!({"a": [1], "b": 1}), "@a: int4 expects a whole number"),
    ] {
        let (status, answer) = app.exec(json!({"procedure": procedure, "parameters": parameters})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{procedure}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{procedure}: {answer}");
    }
    let date = json!({"procedure": "either", "parameters": {"@x": {"value": "2026-01-01", "dataType": 15}}});
    let (status, document) = app.exec(date).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([["date"]])]), "{document}");
    let (status, answer) = app.exec(json!({"procedure": "fails"})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)), "{answer}");
    assert_eq!(
        (
            &answer["error"]["message"],
            &answer["error"]["sqlState"],
            answer["error"].get("detail"),
            &answer["error"]["hint"]
        ),
        (&json!("no such parcel: parcel 7"), &json!("PX001"), None, &json!("look in the cellar"))
    );
    let (status, answer) = app.exec(json!({"procedure": "lsting"})).await;
    assert_eq!((status, &answer["error"]["hint"]), (404, &json!("did you mean public.listing?")), "{answer}");
}

#[actix_web::test]
async fn declared_procedures_are_called_the_same_way() {
    let app = fixture::with_sqlite(&["access = \"read-write\"", ORDERS_OF, RENAME].concat()).await;
    for (procedure, parameters, rows) in [
        ("orders_of", json!({"@customer": {"dataType": 8, "value": 1}}), json!([[1, 10.5], [2, 0.1]])),
        ("shop.main.orders_of", json!({"customer": 1, "least": 1}), json!([[1, 10.5]])),
        ("main.ORDERS_OF", json!({"@2": 1, "@1": 1}), json!([[1, 10.5]])),
        ("[orders_of]", json!([3]), json!([[3, 99999.99]])),
    ] {
        let (status, document) = app.exec(json!({"procedure": procedure, "parameters": parameters})).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &rows), "{procedure}: {document}");
        assert_eq!(document["results"][0]["affectedRows"], -1);
    }
    let (status, document) = app.exec(json!({"procedure": "rename", "parameters": [1, "new; --"]})).await;
    assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(1)), "{document}");
    assert_eq!(app.rows("SELECT name FROM customers WHERE id = 1").await, json!([["new; --"]]));
    for (procedure, parameters, status, words) in [
        ("orders_of", json!({}), 400, "needs @customer"),
        ("orders_of", json!({"customer": 1, "more": 1}), 400, "has no parameter @more"),
        ("orders_off", json!([1]), 404, "no procedure orders_off"),
        ("orders_of", json!({"customer": "x"}), 400, "@customer: bigint expects a whole number"),
        ("orders_of", json!({"customer": {"dataType": 8, "value": 1.5}}), 400, "expects a whole number"),
        ("orders_of", json!({"customer": 1, "least": "x"}), 400, "@least: decimal expects a number"),
    ] {
        let (got, answer) = app.exec(json!({"procedure": procedure, "parameters": parameters})).await;
        assert_eq!(got, status, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
    let (status, answer) =
        app.exec(json!({"procedure": "orders_of", "parameters": [1], "defaultSchema": "nothing"})).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
    let words =
        app.tool_error("execute_procedure", json!({"procedure": "orders_of", "parameters": {"customer": "x"}})).await;
    assert!(words.contains("expects a whole number"), "{words}");
}

/// A form with room for one result: nothing that it does not tell of has happened.
#[actix_web::test]
async fn a_procedure_with_further_results_is_undone_where_one_has_room() {
    let (app, admin) = on_postgres().await;
    let written = async || admin.query_one("SELECT count(*) FROM log", &[]).await.unwrap().get::<_, i64>(0);
    let call = |procedure: &str, accept: &str| {
        app.post("/api/exec").header("accept", accept).json(&json!({"procedure": procedure})).send()
    };
    for accept in ["text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"] {
        let (status, answer) = read(call("sets", accept).await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{accept}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Accept: ") && message.ends_with("nothing was kept"), "{answer}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains("application/json"), "{answer}");
        assert_eq!(written().await, 0, "{accept}");
        // Beyond what is held back the transfer breaks off, and that is undone too.
        let mut broken = call("many_sets", accept).await.unwrap();
        assert_eq!(broken.status(), 200);
        let mut received = Vec::new();
        let whole = loop {
            match broken.chunk().await {
                Ok(Some(chunk)) => received.extend_from_slice(&chunk),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let told = String::from_utf8_lossy(&received).lines().last().is_some_and(|line| line.starts_with("{\"error\""));
        assert_eq!((whole, told), if accept.ends_with("ndjson") { (true, true) } else { (false, false) }, "{accept}");
        assert_eq!(written().await, 0, "{accept}");
        // One result is answered, and kept.
        let one = call("one_set", accept).await.unwrap();
        assert_eq!(one.status(), 200);
        assert!(!one.bytes().await.unwrap().is_empty());
    }
    let (status, document) = app.exec(json!({"procedure": "sets"})).await;
    assert_eq!((status, sets(&document).len(), written().await), (200, 2, 1));
}

/// Somebody recreates what was read before: the call means the routine as it is now.
#[actix_web::test]
async fn arguments_keep_their_names_when_a_routine_is_made_anew() {
    let (app, admin) = on_postgres().await;
    let made =
        async |words: &str| admin.batch_execute(&format!("DROP ROUTINE IF EXISTS minus; {words}")).await.unwrap();
    let minus = async |parameters: Value| app.exec(json!({"procedure": "minus", "parameters": parameters})).await;
    made("CREATE FUNCTION minus(a int4, b int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a - b'").await;
    let named = json!({"a": 10, "b": 3});
    let (status, document) = minus(named.clone()).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]));
    // Turned round, with a default in front, of other types, and as a procedure.
    for words in [
        "CREATE FUNCTION minus(b int4, a int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a - b'",
        "CREATE FUNCTION minus(c int4 DEFAULT 0, b int4 DEFAULT 1, a int4 DEFAULT 1) RETURNS int4 LANGUAGE sql IMMUTABLE
            AS 'SELECT a - b - c'",
        "CREATE FUNCTION minus(b text, a text) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a::int4 - b::int4'",
        "CREATE FUNCTION minus(b int8, a numeric) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT (a - b)::int4'",
    ] {
        made(words).await;
        let (status, document) = minus(named.clone()).await;
        assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]), "{words}");
    }
    // By place they mean the places that there are now.
    made("CREATE FUNCTION minus(x int4, y int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT x - y'").await;
    let (status, document) = minus(json!([10, 3])).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]));
    made("CREATE FUNCTION minus(y int4, x int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT y - x'").await;
    let (status, document) = minus(json!([10, 3])).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]));
    // Without these names there is no such call.
    let (status, answer) = minus(named.clone()).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("minus(y integer, x integer)"), "{answer}");
    made("CREATE FUNCTION minus(a int4, b int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a - b'").await;
    assert_eq!(minus(named.clone()).await.0, 200);
    made("CREATE PROCEDURE minus(b int4, a int4, OUT c int4) LANGUAGE plpgsql AS 'BEGIN c := a - b; END'").await;
    let (status, document) = minus(named.clone()).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]));
    made("CREATE PROCEDURE minus(a int4, b int4, OUT c int4) LANGUAGE plpgsql AS 'BEGIN c := a - b; END'").await;
    let (status, document) = minus(named).await;
    assert_eq!((status, sets(&document)), (200, vec![&json!([[7]])]));
}

/// A name without a schema means what comes first on the path by now.
#[actix_web::test]
async fn a_routine_that_is_made_in_front_of_another_is_the_one_that_is_called() {
    let (app, admin) = on_postgres().await;
    let make = |schema: &str| {
        format!("CREATE FUNCTION {schema}.which(a int4) RETURNS text LANGUAGE sql STABLE AS $$ SELECT '{schema}' $$")
    };
    let which = async |schema: &str| {
        let body = json!({"procedure": "which", "parameters": {"a": 1}, "defaultSchema": schema});
        let (status, document) = app.exec(body).await;
        assert_eq!(status, 200, "{document}");
        document["results"][0]["rows"][0][0].as_str().unwrap().to_owned()
    };
    admin.batch_execute(&format!("CREATE SCHEMA first; {}", make("public"))).await.unwrap();
    assert_eq!((which("first").await, which("public").await), ("public".to_owned(), "public".to_owned()));
    admin.batch_execute(&make("first")).await.unwrap();
    assert_eq!((which("first").await, which("public").await), ("first".to_owned(), "public".to_owned()));
    admin.batch_execute("DROP FUNCTION first.which").await.unwrap();
    assert_eq!((which("first").await, which("public").await), ("public".to_owned(), "public".to_owned()));
}

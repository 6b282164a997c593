//! Values that only PostgreSQL itself can print, where nothing can stand around the statement: OUT
//! values of procedures, and rows of cursors. They are what a SELECT of the same values shows.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::postgres::connect;

/// Types with and without a form of our own. `label` has no binary form at all.
const TYPES: [(&str, &str); 24] = [
    ("interval", "'1 year 2 days 03:04:05.6'"),
    ("int4range", "'[1,10)'"),
    ("tstzmultirange", "'{[2026-01-02 03:04Z,2026-01-03 00:00Z)}'"),
    ("point_of_sale", "'(7,\"a \"\"b\"\", c\",{1.50})'"),
    ("inet", "'192.168.0.1/24'"),
    ("money", "'1234.50'"),
    ("mood", "'very happy'"),
    ("money[]", "'{1.50,NULL}'"),
    ("mood[]", "'{sad,\"very happy\"}'"),
    ("numeric[]", "'{{1.50,2},{NaN,-0.001}}'"),
    ("label", "'any ''text'''"),
    ("label[]", "'{a,\"b c\"}'"),
    ("price", "12.50"),
    ("tsvector", "'a:1 b:2'"),
    ("point", "'(1.5,-2)'"),
    ("bit varying", "'10101'"),
    ("xml", "'<a b=\"c\"/>'"),
    ("jsonb", "'{\"a\": [1, null]}'"),
    ("numeric", "123456789012345678901234567890.000"),
    ("float8", "0.1"),
    ("bytea", "'\\x00ff'"),
    ("timestamptz", "'0044-03-15 12:00:00.000001+00 BC'"),
    ("text", "'it''s $1 @name'"),
    ("boolean", "true"),
];

fn schema() -> String {
    let parameters: Vec<String> =
        TYPES.iter().enumerate().map(|(number, (name, _))| format!("INOUT v{number} {name}")).collect();
    format!(
        "CREATE TYPE mood AS ENUM ('sad', 'very happy');
        CREATE TYPE point_of_sale AS (id int4, name text, prices numeric[]);
        CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE >= 0);
        CREATE TYPE label;
        CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT AS 'textin';
        CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
        CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, LIKE = text);
        CREATE TABLE log (word text);
        CREATE PROCEDURE echo({}) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('called'); END $$;
        CREATE PROCEDURE halves(INOUT m money) LANGUAGE plpgsql
            AS $$ BEGIN INSERT INTO log VALUES (m::text); COMMIT; m := m / 2; END $$;
        CREATE PROCEDURE \"p$1\"(INOUT a text, INOUT m money DEFAULT 1) LANGUAGE plpgsql AS $$ BEGIN END $$;
        CREATE PROCEDURE fails(INOUT m money) LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more' USING ERRCODE = 'PX002'; END $$;",
        parameters.join(", ")
    )
}

async fn on_postgres() -> (TestApp, tokio_postgres::Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute(&schema()).await.unwrap();
    (fixture::with_postgres(&url, "access = \"read-write\"").await, admin)
}

fn selected(values: impl Fn(&str) -> String) -> String {
    let columns: Vec<String> = TYPES
        .iter()
        .enumerate()
        .map(|(number, (name, value))| format!("{}::{name} AS v{number}", values(value)))
        .collect();
    format!("SELECT {}", columns.join(", "))
}

fn called(values: impl Fn(&str) -> String) -> String {
    let values: Vec<String> = TYPES.iter().map(|(name, value)| format!("{}::{name}", values(value))).collect();
    format!("CALL echo({})", values.join(", "))
}

/// The text of the first result's rows: every digit counts.
async fn text(app: &TestApp, path: &str, body: Value) -> String {
    let response = app.post(path).json(&body).send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(document.get("error").is_none(), "{text}");
    let (_, rows) = text.split_once("\"rows\":").unwrap();
    rows.split_once(",\"affectedRows\"").unwrap().0.to_owned()
}

#[actix_web::test]
async fn out_values_are_what_a_select_shows() {
    let (app, _admin) = on_postgres().await;
    for values in [|value: &str| value.to_owned(), |_: &str| "NULL".to_owned()] {
        let expected = text(&app, "/api/query", json!({"query": selected(values)})).await;
        assert!(!expected.contains("\\\\x"), "{expected}");
        let out = text(&app, "/api/query", json!({"query": called(values)})).await;
        assert_eq!(out, expected, "CALL");
        // In a transaction that goes on, and in one that only tries.
        let script = format!("{}; SELECT 1", called(values));
        assert_eq!(text(&app, "/api/query", json!({"query": script})).await, expected, "CALL in a script");
        let dry = json!({"query": called(values), "dryRun": true});
        assert_eq!(text(&app, "/api/query", dry).await, expected, "CALL in a dry run");
    }
    assert_eq!(app.rows("SELECT count(*) FROM log").await, json!([[4]]), "all but the dry runs are kept");
}

#[actix_web::test]
async fn values_that_are_given_come_back_whole() {
    let (app, _admin) = on_postgres().await;
    let printed = app.rows(&selected(str::to_owned)).await;
    let given: serde_json::Map<String, Value> = printed[0]
        .as_array()
        .unwrap()
        .iter()
        .zip(TYPES)
        .enumerate()
        // JSON texts are given as what they mean; digits that a float loses as text.
        .map(|(number, (value, (name, _)))| match value.as_str() {
            Some(_) if name == "numeric[]" => (format!("v{number}"), json!([["1.50", 2], ["NaN", -0.001]])),
            Some(text) if name.ends_with("[]") || name == "jsonb" => {
                (format!("v{number}"), serde_json::from_str(text).unwrap())
            }
            _ => (format!("v{number}"), value.clone()),
        })
        .collect();
    let (status, document) = app.exec(json!({"procedure": "echo", "parameters": given})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &printed), "{document}");
    let columns = document["results"][0]["schema"].as_array().unwrap();
    let types = |number: usize| columns[number]["dataTypeName"].as_str().unwrap();
    assert_eq!((types(5), types(18), types(20)), ("VARCHAR", "NUMERIC", "BINARY"));
    // An empty text is not NULL, and a name may hold what looks like a parameter.
    for (value, expected) in [(json!(""), json!([["", "$1.00"]])), (json!(null), json!([[null, "$1.00"]]))] {
        let (status, document) = app.exec(json!({"procedure": "p$1", "parameters": {"a": value}})).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &expected), "{document}");
    }
}

#[actix_web::test]
async fn procedures_still_commit_and_fail_by_themselves() {
    let (app, admin) = on_postgres().await;
    let (status, document) = app.exec(json!({"procedure": "halves", "parameters": {"m": "9.00"}})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["$4.50"]])), "{document}");
    let kept: i64 = admin.query_one("SELECT count(*) FROM log WHERE word = '$9.00'", &[]).await.unwrap().get(0);
    assert_eq!(kept, 1);
    let (status, answer) = app.exec(json!({"procedure": "fails", "parameters": [1]})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("PX002")), "{answer}");
    let (status, answer) = app.exec(json!({"procedure": "halves", "parameters": ["a lot"]})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("parameter @1: "), "{answer}");
    // Nothing of a call is left in its session for the next one.
    let left = app.rows("SELECT nullif(current_setting('portico.value_1', true), '')").await;
    assert_eq!(left, json!([[null]]));
    let batch = json!({"query": "CALL halves(@m)", "parameters": [{"m": 4}, {"m": null}]});
    let (status, document) = read(app.post("/api/batch").json(&batch).send().await.unwrap()).await;
    assert_eq!((status, &document["error"]["sqlState"]), (400, &json!("2D000")), "{document}");
    let batch = json!({"query": "CALL \"p$1\"(@a, @m)", "parameters": [{"a": "x", "m": 4}, {"a": "y", "m": null}]});
    let (status, document) = read(app.post("/api/batch").json(&batch).send().await.unwrap()).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    let rows: Vec<&Value> = document["results"].as_array().unwrap().iter().map(|result| &result["rows"]).collect();
    assert_eq!(rows, [&json!([["x", "$4.00"]]), &json!([["y", null]])]);
}

#[actix_web::test]
async fn rows_of_cursors_are_what_a_select_shows() {
    let (app, admin) = on_postgres().await;
    let many = "SELECT i, i::money AS m, repeat('x', i % 7 * 1000) AS wide FROM generate_series(1, 1000) i ORDER BY i";
    let one = selected(str::to_owned);
    let routines = format!(
        "CREATE FUNCTION sets() RETURNS SETOF refcursor LANGUAGE plpgsql STABLE AS $body$ DECLARE
            a refcursor; b refcursor := 'odd \" name'; c refcursor; BEGIN
            OPEN a FOR {one}; RETURN NEXT a; OPEN b FOR {many}; RETURN NEXT b;
            OPEN c FOR SELECT 1::money AS nothing WHERE false; RETURN NEXT c; END $body$;"
    );
    admin.batch_execute(&routines).await.unwrap();
    let (status, document) = app.exec(json!({"procedure": "sets"})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0]["rows"], app.rows(&one).await);
    assert_eq!(results[1]["rows"], app.rows(many).await);
    assert_eq!(results[1]["rows"].as_array().unwrap().len(), 1000);
    assert_eq!((&results[2]["rows"], &results[2]["schema"][0]["columnLabel"]), (&json!([]), &json!("nothing")));
}

#[actix_web::test]
async fn lists_in_rows_of_cursors_are_what_a_select_shows() {
    let (app, admin) = on_postgres().await;
    let lists = "SELECT ARRAY[ROW(1, 'a b'), NULL] AS records,
        (SELECT most_common_vals FROM pg_stats WHERE tablename = 'counted' AND attname = 'word') AS words";
    let routines = format!(
        "CREATE TABLE counted AS SELECT 'a, b'::text AS word FROM generate_series(1, 20);
        ANALYZE counted;
        CREATE FUNCTION lists() RETURNS refcursor LANGUAGE plpgsql STABLE AS $body$ DECLARE a refcursor; BEGIN
            OPEN a FOR {lists}; RETURN a; END $body$;"
    );
    admin.batch_execute(&routines).await.unwrap();
    let expected = json!([[r#"["(1,\"a b\")",null]"#, r#"["a, b"]"#]]);
    assert_eq!(app.rows(lists).await, expected);
    let (status, document) = app.exec(json!({"procedure": "lists"})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &expected), "{document}");
}

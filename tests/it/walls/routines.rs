//! A routine is handed no name of what is hidden: an argument whose type names objects is refused where
//! something is, through every door, in the same words for what is there and for what is not.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};

const SETUP: &str = "
CREATE TABLE secret (id int PRIMARY KEY, v text); INSERT INTO secret VALUES (1, 'CANARY');
CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1);
CREATE DOMAIN relation AS regclass; CREATE DOMAIN relations AS relation[];
CREATE TYPE pair AS (word text, which regclass); CREATE TYPE deep AS (all_of pair[]);
CREATE TYPE span AS RANGE (SUBTYPE = oid);
CREATE FUNCTION sizes(VARIADIC t regclass[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(query_to_xml('SELECT * FROM ' || r, true, true, '')::text, '') FROM unnest(t) r $$;
CREATE FUNCTION size_of(t regclass) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_of_all(t regclass[]) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t[1]::text $$;
CREATE FUNCTION size_of_domain(t relation) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_of_domains(t relations) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_of_pair(t pair) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_of_deep(t deep) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_of_many(VARIADIC t regclass[]) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t[1]::text $$;
CREATE FUNCTION \"SizeOf\"(t regclass) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION \"size \"\"of\"(t regclass) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE TYPE \"A pair\" AS (which regclass);
CREATE FUNCTION of_role(t regrole) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION of_type(t regtype) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION of_routine(t regprocedure) RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY ' || t::text $$;
CREATE FUNCTION size_or_default(t regclass DEFAULT 'orders') RETURNS text LANGUAGE sql AS $$ SELECT t::text $$;
CREATE PROCEDURE touch(INOUT t regclass) LANGUAGE plpgsql AS $$ BEGIN t := t; END $$;
CREATE PROCEDURE touch_all(t regclass[]) LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'CANARY %', t; END $$;
CREATE PROCEDURE touch_domain(t relation) LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'CANARY %', t; END $$;
CREATE SCHEMA vault; CREATE TABLE vault.orders (id text); INSERT INTO vault.orders VALUES ('CANARY');
CREATE FUNCTION in_path() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT id::text FROM orders'; END $$;
CREATE FUNCTION plain(t text, n int DEFAULT 1) RETURNS text LANGUAGE sql AS $$ SELECT t || n $$;
";
const HIDDEN: &str = "access = \"read-write\"\n[connections.hidden]\nschemas = [\"vault\"]\ntables = [\"secret\"]\n";

/// Each routine with a value that names what is hidden.
fn handed(name: &str) -> [(&'static str, Value); 14] {
    [
        ("size_of", json!(name)),
        ("size_of_all", json!([name])),
        ("size_of_all", json!(format!("{{{name}}}"))),
        ("size_of_domain", json!(name)),
        ("size_of_domains", json!([name])),
        ("size_of_pair", json!(format!("(a,{name})"))),
        ("size_of_deep", json!(format!("(\"{{\"\"(a,{name})\"\"}}\")"))),
        ("size_of_many", json!([name])),
        ("of_role", json!("postgres")),
        ("of_type", json!(name)),
        ("of_routine", json!("touch(regclass)")),
        ("touch", json!(name)),
        ("touch_all", json!([name])),
        ("touch_domain", json!(name)),
    ]
}

async fn service(name: &str, more: &str) -> (TestApp, tokio_postgres::Client) {
    let url = TestPostgres::shared().database(name).await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    (Configuration::new().connection("shop", &url, more).start().await, admin)
}

/// Where something is hidden a name means what it means elsewhere: the first schema of the path that has it.
#[actix_web::test]
async fn a_routine_off_the_path_is_called_with_its_schema_alone() {
    const OPEN: &str = "access = \"read-write\"\n";
    const ELSEWHERE: &str = "CREATE SCHEMA afar; CREATE SCHEMA second;
        CREATE FUNCTION afar.only_there() RETURNS text LANGUAGE sql AS $$ SELECT 'afar' $$;
        CREATE FUNCTION afar.twice() RETURNS text LANGUAGE sql AS $$ SELECT 'afar' $$;
        CREATE FUNCTION second.twice() RETURNS text LANGUAGE sql AS $$ SELECT 'second' $$;
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, second', current_database()); END $$";
    let url = TestPostgres::shared().database("off_the_path").await;
    connect(&url).await.batch_execute(ELSEWHERE).await.unwrap();
    let app = Configuration::new().connection("hiding", &url, HIDDEN).connection("open", &url, OPEN).start().await;
    for connection in ["hiding", "open"] {
        let call =
            async |procedure: &str| app.exec(json!({"procedure": procedure, "defaultCatalog": connection})).await;
        let (status, told) = call("only_there").await;
        assert_eq!((status, &told["error"]["hint"]), (404, &json!("did you mean afar.only_there?")), "{told}");
        for (procedure, expected) in [("afar.only_there", "afar"), ("twice", "second")] {
            let (_, told) = call(procedure).await;
            assert_eq!(told["results"][0]["rows"], json!([[expected]]), "{connection}: {told}");
        }
    }
}

#[actix_web::test]
async fn a_routine_is_handed_no_name_of_what_is_hidden() {
    let (app, admin) = service("handed", HIDDEN).await;
    let number: u32 = admin.query_one("SELECT 'secret'::regclass::oid", &[]).await.unwrap().get(0);
    let mut words = Vec::new();
    for name in ["secret", "public.\"secret\"", &number.to_string(), "absent"] {
        let mut told = Vec::new();
        for (routine, value) in handed(name) {
            for parameters in [json!({"t": value}), json!({"@T": {"value": value}}), json!({"1": value})] {
                let (status, answer) = app.exec(json!({"procedure": routine, "parameters": parameters})).await;
                let error = &answer["error"];
                let seen = (status, &error["code"], &error["sqlState"]);
                assert_eq!(seen, (403, &json!(1200), &json!("42501")), "{routine} {parameters}: {answer}");
                assert!(!answer.to_string().contains("CANARY"), "{routine} {parameters}: {answer}");
                told.push(error["message"].clone());
            }
            let by_tool = json!({"procedure": routine, "parameters": {"t": value}});
            let words = app.tool_error("execute_procedure", by_tool).await;
            assert!(words.contains("is not available on this connection"), "{routine} {value}: {words}");
            // A tool of its own takes values of its schema alone.
            let own = app.tool_error(routine, json!({"t": value})).await;
            let is_refused = own.contains("is not available on this connection") || own.contains(": give ");
            assert!(is_refused && !own.contains("CANARY") && !words.contains("CANARY"), "{routine} {value}: {own}");
        }
        words.push(told);
    }
    // In the same words, whether it is there or not.
    assert!(words.iter().all(|told| *told == words[0]), "{words:?}");
    for (routine, parameters) in
        [("plain", json!({"t": "secret"})), ("size_or_default", json!({})), ("size_of", json!({"t": null}))]
    {
        let (status, answer) = app.exec(json!({"procedure": routine, "parameters": parameters})).await;
        assert_eq!((status, answer.get("error")), (200, None), "{routine}: {answer}");
    }
    // A literal is looked at.
    let (status, answer) = app.query(json!({"query": "SELECT size_of('orders')"})).await;
    assert_eq!((status, answer.get("error")), (200, None), "{answer}");
}

/// Whatever stands beside it, in each place of a list.
#[actix_web::test]
async fn a_list_hands_over_no_name_of_what_is_hidden() {
    let (app, _admin) = service("listed", HIDDEN).await;
    for nothing in [json!(null), json!({"value": null}), json!("orders")] {
        for (first, second) in [("1", "2"), ("2", "1"), ("@1", "@2"), ("t", "1"), ("1", "t")] {
            for name in ["secret", "absent"] {
                let parameters = json!({first: nothing, second: name});
                let (status, answer) = app.exec(json!({"procedure": "sizes", "parameters": parameters})).await;
                assert!([400, 403].contains(&status), "{parameters}: {answer}");
                assert!(
                    !answer.to_string().contains("CANARY") && answer["results"].is_null(),
                    "{parameters}: {answer}"
                );
                let told = answer.to_string();
                assert!(!told.contains("does not exist") && !told.contains("there is no"), "{parameters}: {told}");
            }
        }
    }
    let (status, answer) = app.exec(json!({"procedure": "sizes", "parameters": {"1": null, "2": null}})).await;
    assert_eq!((status, answer.get("error")), (200, None), "{answer}");
}

/// The same by a statement's own words, which are put together so that no name stands in them.
const PUT_TOGETHER: [&str; 15] = [
    "CALL touch('sec' || 'ret')",
    "CALL touch_all(ARRAY['sec' || 'ret'])",
    "CALL touch_all(('{sec' || 'ret}')::_text)",
    "CALL touch_domain('sec' || 'ret')",
    "SELECT size_of('sec' || 'ret')",
    "SELECT size_of_all(ARRAY['sec' || 'ret'])",
    "SELECT size_of_domain('sec' || 'ret')",
    "SELECT size_of_pair(ROW('a', 'sec' || 'ret'))",
    "SELECT \"SizeOf\"('sec' || 'ret')",
    "SELECT \"size \"\"of\"('sec' || 'ret')",
    "SELECT 'CANARY', ('sec' || 'ret')::relation::text",
    "SELECT 'CANARY', ('{sec' || 'ret}')::_relation::text",
    "SELECT 'CANARY', jsonb_populate_record(NULL::pair, jsonb_build_object('which', 'sec' || 'ret'))",
    "SELECT 'CANARY', jsonb_populate_record(NULL::\"A pair\", jsonb_build_object('which', 'sec' || 'ret'))",
    "SELECT 'CANARY', (jsonb_populate_record(NULL::deep, '{}')).all_of",
];

#[actix_web::test]
async fn a_name_that_is_put_together_is_none_that_is_handed_on() {
    let (app, admin) = service("put_together", HIDDEN).await;
    for query in PUT_TOGETHER {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert!(status >= 400 && !answer.to_string().contains("CANARY"), "{query}: {answer}");
    }
    // The same where names stand in.
    let database: String = admin.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let user = format!("plain_{database}");
    let rights = format!(
        "REVOKE TEMP ON DATABASE {database} FROM PUBLIC; CREATE ROLE {user} LOGIN;
        GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}"
    );
    admin.batch_execute(&rights).await.unwrap();
    let url = TestPostgres::shared().url_as(&user, &database);
    let app = Configuration::new().connection("shop", &url, HIDDEN).start().await;
    for query in PUT_TOGETHER {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert!(status >= 400 && !answer.to_string().contains("CANARY"), "{query}: {answer}");
    }
}

#[actix_web::test]
async fn a_routine_does_not_run_in_a_schema_that_is_hidden() {
    let (app, _admin) = service("in_path", HIDDEN).await;
    let mut told = Vec::new();
    for schema in ["vault", "absent", "pg_catalog", "information_schema"] {
        for procedure in ["in_path", "public.in_path"] {
            let (status, answer) = app.exec(json!({"procedure": procedure, "defaultSchema": schema})).await;
            let error = &answer["error"];
            assert_eq!((status, &error["code"]), (404, &json!(1300)), "{schema} {procedure}: {answer}");
            assert!(!answer.to_string().contains("CANARY"), "{schema} {procedure}: {answer}");
            told.push((procedure, error["message"].to_string().replace(schema, "it")));
        }
    }
    // As for a schema that is not there.
    assert!(told.iter().all(|words| told[2..4].contains(words)), "{told:?}");
    for body in [json!({"procedure": "in_path"}), json!({"procedure": "in_path", "defaultSchema": "public"})] {
        let (status, answer) = app.exec(body.clone()).await;
        assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([["1"]])), "{body}: {answer}");
    }
}

#[actix_web::test]
async fn where_nothing_is_hidden_every_argument_is_handed_on() {
    let (app, _admin) = service("handed_all", "access = \"read-write\"").await;
    for (routine, value) in
        [("size_of", json!("secret")), ("size_of_all", json!(["secret"])), ("touch", json!("orders"))]
    {
        let (status, answer) = app.exec(json!({"procedure": routine, "parameters": {"t": value}})).await;
        assert_eq!((status, answer.get("error")), (200, None), "{routine}: {answer}");
    }
}

/// Who decides whether a procedure is shown, and who calls it, read its name alike.
#[actix_web::test]
async fn a_name_in_other_letters_leads_to_no_hidden_routine() {
    const LETTERS: &str = "
        CREATE FUNCTION \"ÄB\"() RETURNS text LANGUAGE sql AS $$ SELECT 'shown' $$;
        CREATE FUNCTION \"äb\"() RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY' $$;
        CREATE FUNCTION \"Cd\"() RETURNS text LANGUAGE sql AS $$ SELECT 'shown' $$;
        CREATE FUNCTION cd() RETURNS text LANGUAGE sql AS $$ SELECT 'CANARY' $$;";
    let url = TestPostgres::shared().database("letters").await;
    connect(&url).await.batch_execute(LETTERS).await.unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\nprocedures = [\"äb\", \"cd\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    for name in ["ÄB", "Äb", "äB", "äb", "\"ÄB\"", "Cd", "CD", "cD", "cd", "public.cd", "public.CD", "\"cd\""] {
        let (status, told) = app.exec(json!({"procedure": name})).await;
        assert!(!told.to_string().contains("CANARY"), "{name}: {told}");
        let is_shown = told["results"][0]["rows"] == json!([["shown"]]);
        assert!(is_shown || status == 404, "{name}: {status} {told}");
    }
    let (_, told) = app.exec(json!({"procedure": "ÄB"})).await;
    assert_eq!(told["results"][0]["rows"], json!([["shown"]]), "{told}");
}

//! What who writes is told: defaults, rules, the fields of composite types, and what a procedure takes.

use serde_json::{Value, json};

use super::{tells, told};
use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};

const SCHEMA: &str = r#"
CREATE SCHEMA secret;
CREATE FUNCTION secret.fits(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 < 100';
CREATE FUNCTION secret.next_note() RETURNS text LANGUAGE sql AS $$SELECT 'n'$$;
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TYPE place AS (street text, "Zip" varchar(5), floor int);
CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE parcel (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    status text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'sent')),
    weight numeric NOT NULL CHECK (weight > 0),
    size int CONSTRAINT parcel_size CHECK (secret.fits(size)),
    made timestamptz NOT NULL DEFAULT now(),
    note text DEFAULT secret.next_note(),
    feeling mood DEFAULT 'glad',
    "to" place,
    stops place[],
    first date, last date, "Unit Price" int, "from" text,
    CONSTRAINT "In order" CHECK (first <= last)
);
CREATE UNIQUE INDEX ON parcel (status, lower(note)) WHERE weight > 5;
CREATE UNIQUE INDEX ON parcel (size) WHERE secret.fits(size);
CREATE TABLE secret.plans (a int);
CREATE TYPE secret.temper AS ENUM ('z');
CREATE SCHEMA crm;
CREATE TYPE crm.grade AS ENUM ('a', 'b');
CREATE TYPE pair AS (p secret.plans, q secret.temper, n int);
CREATE TABLE odd (id int PRIMARY KEY, name text CHECK (name::secret.temper IS NOT NULL), src regclass DEFAULT 'secret.plans',
    pair pair, grade crm.grade, CHECK (ROW(id)::secret.plans IS NOT NULL));
CREATE UNIQUE INDEX ON odd ((ROW(id)::secret.plans));
CREATE FUNCTION look(at regclass DEFAULT 'secret.plans', of pair DEFAULT NULL) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY, at date, twice int GENERATED ALWAYS AS (1) STORED, PRIMARY KEY (id, at));
CREATE FUNCTION route(VARIADIC stops int[]) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION send(what int, how mood, "where" place, times int DEFAULT 3, why text DEFAULT secret.next_note())
    RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
"#;

async fn app(keys: &str) -> TestApp {
    let url = TestPostgres::shared().database("writes").await;
    connect(&url).await.batch_execute(SCHEMA).await.unwrap();
    Configuration::new().connection("post", &url, keys).start().await
}

#[actix_web::test]
async fn defaults_rules_and_fields_are_told_to_who_writes() {
    let text = told(&app("access = \"read-write\"\n[connections.hidden]\nschemas = [\"secret\"]").await).await;
    tells(
        &text,
        &[
            "parcel(id int PK auto, status text IN ('new','sent') NOT NULL DEFAULT 'new', weight numeric NOT NULL, ",
            "made timestamptz NOT NULL DEFAULT now(), note text DEFAULT …, feeling mood('glad','sad') DEFAULT 'glad'",
            "\"to\" place(street text,\"Zip\" varchar(5),floor int), stops place[](street text,",
            "; UNIQUE (status, lower(note)) WHERE (weight > (5)::numeric); CHECK (first <= last); CHECK (weight > (0)::numeric))",
        ],
    );
    assert!(text.contains("log(id bigint auto, at date, twice int auto; PK(id,at))"), "{text}");
    assert!(!text.contains("fits") && !text.contains("next_note"), "they may be hidden: {text}");
    let text = told(&app("").await).await;
    assert!(!text.contains("DEFAULT") && !text.contains("CHECK"), "who only reads need not know it: {text}");
}

#[actix_web::test]
async fn no_rule_default_or_field_tells_what_is_hidden() {
    let app = app("access = \"read-write\"\n[connections.hidden]\nschemas = [\"secret\"]").await;
    let mut all = vec![told(&app).await];
    for (tool, arguments) in
        [("get_columns", json!({"tableName": "odd"})), ("get_procedure_parameters", json!({"procedureName": "look"}))]
    {
        all.push(app.tool(tool, arguments).await.to_string());
    }
    let upsert = "INSERT INTO odd (id) VALUES (1) ON CONFLICT (src) DO NOTHING";
    all.push(app.tool_error("execute_insert", json!({"query": upsert})).await);
    for text in all {
        assert!(!text.contains("secret") && !text.contains("temper") && !text.contains("plans"), "{text}");
    }
}

#[actix_web::test]
async fn a_violated_rule_is_told() {
    let app = app("access = \"read-write\"\n[connections.hidden]\nschemas = [\"secret\"]").await;
    for (values, hint) in [
        ("(weight) VALUES (0)", Some("the rule is (weight > (0)::numeric)")),
        ("(weight, first, last) VALUES (1, '2026-02-01', '2026-01-01')", Some("the rule is (first <= last)")),
        ("(weight, size) VALUES (1, 200)", None),
    ] {
        let query = format!("INSERT INTO parcel {values}");
        let text = app.tool_error("execute_insert", json!({"query": query})).await;
        assert!(text.contains("23514"), "{query}: {text}");
        match hint {
            Some(hint) => assert!(text.contains(hint), "{query}: {text}"),
            None => assert!(!text.contains("the rule is") && !text.contains("fits"), "{query}: {text}"),
        }
    }
    let query = "INSERT INTO parcel (weight, \"to\") VALUES (1, 'Main Street 1')";
    assert!(app.tool_error("execute_insert", json!({"query": query})).await.contains("ROW(a, b)"));
    let query = "INSERT INTO parcel (weight, \"to\") VALUES (1, ROW('Main Street 1', '12345', 2))";
    assert_eq!(app.tool("execute_insert", json!({"query": query})).await["isError"], false);
}

#[actix_web::test]
async fn what_a_statement_has_to_observe_is_told() {
    let app = app("access = \"read-write\"").await;
    for (query, hint) in [
        (
            "INSERT INTO parcel (weight) VALUES (1) ON CONFLICT (weight) DO NOTHING",
            "(status, lower(note)) WHERE (weight > (5)::numeric)",
        ),
        ("INSERT INTO parcel (id, weight) VALUES (7, 1)", "leave id out"),
        ("INSERT INTO log (at, twice) VALUES ('2026-01-01', 3)", "leave twice out"),
        ("SELECT to FROM parcel", "write \"to\""),
        ("SELECT zip, to, first FROM parcel", "write \"to\""),
        ("SELECT id FROM parcel WHERE Unit Price > 5", "write \"Unit Price\""),
        ("SELECT id FROM parcel MINUS SELECT 1", "write EXCEPT"),
        ("INSERT INTO parcel (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 2", "ON CONFLICT (key)"),
        ("SELECT 1 FROM dual", "leave FROM dual out"),
        ("SELECT sum(weight > 1) FROM parcel", "FILTER (WHERE value)"),
        ("SELECT 'x'::moods", "did you mean mood?"),
        ("SELECT 'a'::grade", "did you mean crm.grade?"),
        ("SELECT (\"to\").zip FROM parcel", "did you mean \"Zip\"?"),
        ("SELECT (\"to\").nothing FROM parcel", "The fields are street, \"Zip\", floor"),
        ("SELECT * FROM parcel WHERE id = $1", "parameters"),
        ("SELECT * FROM parcel WHERE id = ? AND weight > 1", "@name"),
        ("SELECT * FROM parcel WHERE id = :id", "@name"),
        ("SELECT * FROM parcel WHERE status = %s", "@name"),
        ("SELECT * FROM parcel WHERE id = {{id}}", "@name"),
        ("SELECT weight::string FROM parcel", "called text here"),
        ("SELECT * FROM parcel WHERE status > 5", "(a_text)::numeric"),
        ("SELECT avg(status) FROM parcel", "avg((value)::numeric)"),
        ("SELECT string_agg(id, ',') FROM parcel", "value::text"),
        ("SELECT made + 1 FROM parcel", "interval '1 day'"),
        ("TRUNCATE parcel", "all: true"),
    ] {
        let text = app.tool_error("execute_sql", json!({"query": query})).await;
        assert!(text.contains(hint), "{query}: {text}");
    }
    for (query, hint) in [
        ("SELECT id, weight, from parcel WHERE id = 1", "double quotes"),
        ("SELECT output, from runs", "RETURNING"),
        ("SELECT status * 2 FROM parcel", "single quotes"),
    ] {
        let text = app.tool_error("execute_sql", json!({"query": query})).await;
        assert!(!text.contains(hint), "{query}: {text}");
    }
    let told = app.tool("execute_sql", json!({"query": "TRUNCATE parcel", "all": true})).await;
    assert_eq!(told["isError"], false, "{told}");
    let told = app.tool("execute_select", json!({"query": "SELECT user, `id` FROM parcel"})).await;
    assert!(told["structuredContent"]["hint"].as_str().is_some_and(|hint| hint.contains("\"user\"")), "{told}");
}

#[actix_web::test]
async fn who_may_read_some_columns_is_told_which() {
    let url = TestPostgres::shared().database("columns").await;
    let made = "CREATE TABLE pay (id int, name text, wage int); REVOKE ALL ON pay FROM PUBLIC;
        GRANT SELECT (id, name) ON pay TO portico_columns";
    let admin = connect(&url).await;
    let _ = admin.batch_execute("CREATE ROLE portico_columns LOGIN").await;
    admin.batch_execute(made).await.unwrap();
    let url = url.replace("postgres@", "portico_columns@");
    let app = Configuration::new().connection("post", &url, "").start().await;
    let text = app.tool_error("execute_select", json!({"query": "SELECT * FROM pay"})).await;
    assert!(text.contains("you may use id, name: name these"), "{text}");
}

#[actix_web::test]
async fn placeholders_are_written_in_many_ways() {
    let app = app("").await;
    for (query, parameters, expected) in [
        ("SELECT $1::int + $2::int", json!([1, 2]), json!([[3]])),
        ("SELECT :a::int + :b::int", json!({"a": 1, "b": 2}), json!([[3]])),
        ("SELECT $a::int, (ARRAY[1,2,3])[1:2]", json!({"$a": 1}), json!([[1, [1, 2]]])),
        ("SELECT @a::text", json!("{\"a\": \"x\"}"), json!([["x"]])),
        ("SELECT @1::bytea = @2", json!(["\\x0aff", "Cv8="]), json!([[true]])),
    ] {
        let answer = app.tool("execute_select", json!({"query": query, "parameters": parameters})).await;
        assert_eq!(answer["structuredContent"]["rows"], expected, "{query}: {answer}");
    }
    for (query, parameters, hint) in [
        ("SELECT '@a'", json!({"a": 1}), "not within quotes"),
        ("SELECT @a::place", json!({"a": {"street": "x"}}), "jsonb_populate_record(NULL::public.place, @a::jsonb)"),
        ("SELECT @a::int4range", json!({"a": [1, 2]}), "a range is given as a text"),
        ("SELECT @a::point", json!({"a": [1, 2]}), "(1,2)"),
    ] {
        let text = app.tool_error("execute_select", json!({"query": query, "parameters": parameters})).await;
        assert!(text.contains(hint), "{query}: {text}");
    }
}

#[actix_web::test]
async fn what_a_procedure_takes_is_told() {
    let app = app("").await;
    let answer = app.tool("get_procedure_parameters", json!({"procedureName": "send"})).await;
    let rows = answer["structuredContent"]["rows"].as_array().unwrap();
    let remarks: Vec<&Value> = rows.iter().map(|row| &row[10]).collect();
    let place = r#"fields { "street" : "text", "Zip" : "character varying(5)", "floor" : "integer" }"#;
    assert_eq!(
        remarks,
        [
            &json!(null),
            &json!(null),
            &json!(r#"one of ["glad", "sad"]"#),
            &json!(place),
            &json!("default 3"),
            &json!("may be left out")
        ]
    );
    let (_, list) = app.mcp(&app.writer, "tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"].clone();
    let (send, route) = (tool("send"), tool("route"));
    assert_eq!(send["required"], json!(["what", "how", "where"]));
    assert_eq!(send["properties"]["how"]["enum"], json!(["glad", "sad"]));
    assert!(send["properties"]["times"]["description"].as_str().unwrap().starts_with("default 3 "), "{send}");
    assert!(send["properties"]["where"]["description"].as_str().unwrap().contains("\"Zip\""), "{send}");
    assert!(route["properties"]["stops"]["description"].as_str().unwrap().contains("any length"), "{route}");
}

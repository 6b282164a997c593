//! What a PostgreSQL connection offers over MCP: it follows the database, hides what it is told
//! to hide, and its instructions are true. What the SQLite tests show of the protocol is not
//! shown again.

use serde_json::{Value, json};

use crate::mcp::instructions::example;
use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::mcp::{Client, modern};
use crate::support::postgres::connect;
use crate::support::stream::Events;

const MORE: &str = r#"access = "read-write"
refresh_interval = 1
[connections.hidden]
tables = ["customers"]
procedures = ["secret%"]
[connections.disabled]
tools = ["execute_update"]
[[connections.tools]]
name = "customer_name"
description = "The name of a customer."
sql = "SELECT name FROM customers WHERE id = @id"
[[connections.tools.parameters]]
name = "id"
type = "integer"
"#;

/// A service before the database at `url`.
async fn service(url: &str) -> TestApp {
    fixture::with_postgres(url, &(MORE.to_owned() + &fixture::orders_above("public"))).await
}

async fn tools(app: &TestApp) -> Vec<String> {
    let (_, body) = app.mcp(&app.writer, "tools/list", json!({})).await;
    let tools = body["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn listen(app: &TestApp, notifications: &Value) -> Events {
    let params = json!({"notifications": notifications});
    let mut events =
        Events::new(modern(app, &app.writer, &json!(1), "subscriptions/listen", params).send().await.unwrap());
    assert_eq!(&events.message().await["params"]["notifications"], notifications);
    events
}

#[actix_web::test]
async fn a_function_that_another_client_makes_becomes_a_tool_and_is_told_of() {
    let url = fixture::postgres().await;
    let mut app = service(&url).await;
    let session = Client::begin(&app, &app.writer, "2025-06-18").await;
    let mut get = Events::new(session.get(None).await);
    let mut events = listen(&app, &json!({"toolsListChanged": true})).await;
    assert!(!tools(&app).await.contains(&"twice".to_owned()));
    let other = connect(&url).await;
    let twice = "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n'";
    let secret = "CREATE FUNCTION secret_sum() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'";
    other.batch_execute(&format!("BEGIN; {secret}; {twice}; COMMIT")).await.unwrap();
    for events in [&mut events, &mut get] {
        assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    }
    let listed = tools(&app).await;
    assert!(listed.contains(&"twice".to_owned()) && !listed.iter().any(|tool| tool.contains("secret")), "{listed:?}");
    let answer = app.tool("twice", json!({"n": 21})).await;
    assert!(answer["structuredContent"].to_string().contains("42"), "{answer}");
    other.batch_execute("DROP FUNCTION twice(int)").await.unwrap();
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    assert!(!tools(&app).await.contains(&"twice".to_owned()));
    app.stop();
}

#[actix_web::test]
async fn switches_hidden_names_and_own_tools_hold_on_postgres() {
    let app = service(&fixture::postgres().await).await;
    let listed = tools(&app).await;
    assert!(!listed.contains(&"execute_update".to_owned()) && listed.contains(&"orders_above".to_owned()));
    let tables = app.tool("get_tables", json!({})).await["structuredContent"]["rows"].to_string();
    assert!(tables.contains("orders") && !tables.contains("\"customers\""), "{tables}");
    for statement in [
        "SELECT * FROM customers",
        "SELECT * FROM CUSTOMERS",
        "SELECT * FROM public.customers",
        "SELECT * FROM shop.public.\"customers\" c",
        "SELECT id FROM orders WHERE customer_id IN (SELECT id FROM ONLY customers)",
        "WITH v AS (SELECT * FROM customers) SELECT * FROM v",
        "TABLE customers",
        "INSERT INTO customers VALUES (9, 'x', NULL)",
        "CREATE TABLE spare AS SELECT * FROM customers",
        "DROP TABLE customers",
    ] {
        let words = app.tool_error("execute_sql", json!({"query": statement})).await;
        assert!(words.contains("42P01") && !words.contains("did you mean customers"), "{statement}: {words}");
    }
    // A word is no name, and a view that is shown may read what is not.
    for statement in ["SELECT 'customers' FROM orders", "SELECT count(*) FROM cities"] {
        let answer = app.tool("execute_select", json!({"query": statement})).await;
        assert_eq!(answer["isError"], false, "{statement}: {answer}");
    }
    let rows = async |tool: &str, arguments: Value| {
        let answer = app.tool(tool, arguments).await;
        assert_eq!(answer["isError"], false, "{answer}");
        answer["structuredContent"]["rows"].clone()
    };
    assert_eq!(rows("orders_above", json!({})).await.as_array().unwrap().len(), 2);
    assert_eq!(rows("orders_above", json!({"placed": "2026-01-01"})).await[0][0], 1);
    assert_eq!(rows("customer_name", json!({"id": 2})).await, json!([["José"]]), "it is the administrator's");
}

#[actix_web::test]
async fn the_example_of_the_instructions_runs_on_postgres() {
    let app = fixture::on_postgres().await;
    let result = app.tool("get_instructions", json!({})).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("PostgreSQL") && text.contains("customer_id int NOT NULL → customers.id"), "{text}");
    let (query, parameters) = example(text);
    let found = app.tool("execute_select", json!({"query": query, "parameters": parameters})).await;
    assert_eq!((&found["isError"], &found["structuredContent"]["rowCount"]), (&json!(false), &json!(1)), "{found}");
}

#[actix_web::test]
async fn tables_that_another_client_makes_or_alters_are_told_of_unless_they_are_hidden() {
    let url = fixture::postgres().await;
    let mut app = service(&url).await;
    let both = json!({"toolsListChanged": true, "resourcesListChanged": true});
    let mut events = listen(&app, &both).await;
    let other = connect(&url).await;
    for statement in [
        "CREATE TABLE later (a int)",
        "ALTER TABLE later ADD COLUMN b text",
        "ALTER TABLE later ALTER COLUMN b SET NOT NULL",
        "COMMENT ON COLUMN later.b IS 'The second.'",
        "COMMENT ON TABLE later IS 'Came later.'",
        "ALTER TABLE later DROP COLUMN a",
        "DROP TABLE later",
    ] {
        other.batch_execute(statement).await.unwrap();
        assert_eq!(events.message().await["method"], "notifications/resources/list_changed", "{statement}");
    }
    // Who sees the function has seen the hidden table, and did not tell of it.
    let hidden = "ALTER TABLE customers ADD COLUMN more int; INSERT INTO orders VALUES (7, 1, 1, NULL)";
    let function = "CREATE FUNCTION shown() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'";
    other.batch_execute(&format!("BEGIN; {hidden}; {function}; COMMIT")).await.unwrap();
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    app.stop();
    assert_eq!(events.rest().await.len(), 1, "only the result");
}

#[actix_web::test]
async fn a_tool_calls_its_own_overload_whatever_the_others_take() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    let setup = "CREATE TABLE log (word text);
        CREATE FUNCTION add(a int, b int DEFAULT 2) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
        CREATE FUNCTION add(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT a || b';
        CREATE FUNCTION keep(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a';
        CREATE FUNCTION keep(a text) RETURNS text LANGUAGE sql AS 'INSERT INTO log VALUES (a) RETURNING word'";
    admin.batch_execute(setup).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    for (tool, arguments, rows) in [
        ("add", json!({"a": 1, "b": 5}), json!([[6]])),
        ("add", json!({"a": 1}), json!([[3]])),
        ("add_2", json!({"a": "x", "b": "y"}), json!([["xy"]])),
        ("keep", json!({"a": 7}), json!([[7]])),
        ("keep_2", json!({"a": "kept"}), json!([["kept"]])),
    ] {
        let answer = app.tool(tool, arguments).await;
        assert_eq!((&answer["isError"], &answer["structuredContent"]["rows"]), (&json!(false), &rows), "{answer}");
    }
    // The one that reads is a reader's, though it shares its name with one that writes.
    let (_, answer) = app.mcp(&app.reader, "tools/call", json!({"name": "keep", "arguments": {"a": 8}})).await;
    assert_eq!(answer["result"]["structuredContent"]["rows"], json!([[8]]), "{answer}");
    let answer = app.tool("execute_procedure", json!({"procedure": "keep", "parameters": {"a": 1}})).await;
    assert_eq!(answer["structuredContent"]["rows"], json!([[1]]), "by name alone the value tells which: {answer}");
}

#[actix_web::test]
async fn a_polymorphic_function_is_called_by_name_and_is_no_tool() {
    let url = fixture::postgres().await;
    let setup = "CREATE FUNCTION same(a anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT a';
        CREATE FUNCTION bare() RETURNS record LANGUAGE sql IMMUTABLE AS 'SELECT 1, 2';
        CREATE FUNCTION pair(OUT a int, OUT b int) RETURNS record LANGUAGE sql IMMUTABLE AS 'SELECT 1, 2'";
    connect(&url).await.batch_execute(setup).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let listed = tools(&app).await;
    assert!(listed.contains(&"pair".to_owned()), "{listed:?}");
    assert!(!listed.iter().any(|tool| tool == "same" || tool == "bare"), "no call could be made: {listed:?}");
    for (value, row) in [
        (json!({"dataType": 8, "value": 1}), json!(1)),
        (json!({"dataType": 15, "value": "2026-01-31"}), json!("2026-01-31")),
        (json!("x"), json!("x")),
        (json!(1.5), json!(1.5)),
    ] {
        let query = json!({"query": "SELECT same(@a)", "parameters": {"a": value}});
        let (status, answer) = app.query(query).await;
        assert_eq!((status, &answer["results"][0]["rows"][0][0]), (200, &row), "{answer}");
        let (status, answer) = app.exec(json!({"procedure": "same", "parameters": {"a": value}})).await;
        assert_eq!((status, &answer["results"][0]["rows"][0][0]), (200, &row), "{answer}");
    }
}

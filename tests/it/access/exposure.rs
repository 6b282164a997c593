//! What an administrator switches off or hides: it is in no listing, no hint and no catalogue, and
//! whoever names it is told that there is no such thing.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, ORDERS_OF};

const COUNT_CUSTOMERS: &str = r#"
[[connections.procedures]]
name = "count_customers"
description = "Counts customers."
read_only = true
sql = "SELECT count(*) FROM customers"
"#;

async fn listed(app: &TestApp) -> Vec<String> {
    let (_, body) = app.mcp(&app.writer, "tools/list", json!({})).await;
    let tools = body["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Code and message of the protocol's error.
async fn refused(app: &TestApp, tool: &str) -> (Value, String) {
    let call = json!({"name": tool, "arguments": {}});
    let (_, mut body) = app.mcp(&app.writer, "tools/call", call).await;
    let error = body["error"].take();
    (error["code"].clone(), error["message"].as_str().unwrap_or_default().to_owned())
}

#[actix_web::test]
async fn a_disabled_tool_is_like_one_that_never_was() {
    for (switch, gone) in [
        ("types = [\"source\"]", vec!["orders_of", "count_customers"]),
        ("operations = [\"execute_procedure\"]", vec!["execute_procedure", "orders_of", "count_customers"]),
        ("tools = [\"orders_of\", \"execute_sql\"]", vec!["orders_of", "execute_sql"]),
        ("types = [\"sql\"]", vec!["execute_select", "execute_sql", "execute_insert", "execute_update"]),
    ] {
        let more = format!("access = \"read-write\"\n{ORDERS_OF}{COUNT_CUSTOMERS}\n[connections.disabled]\n{switch}\n");
        let app = fixture::with_sqlite(&more).await;
        let listed = listed(&app).await;
        assert_eq!(listed.len() + gone.len(), 14, "{switch}: {listed:?}");
        let (code, unknown) = refused(&app, "no_such_tool_at_all").await;
        for tool in gone {
            assert!(!listed.contains(&tool.to_owned()), "{switch}: {tool}");
            let (refusal, words) = refused(&app, tool).await;
            let head = |words: &str| words.split(';').next().unwrap().to_owned();
            assert_eq!(
                (refusal, head(&words)),
                (code.clone(), head(&unknown).replace("no_such_tool_at_all", tool)),
                "{switch}"
            );
            assert!(!words.contains(&format!("did you mean {tool}")), "{words}");
        }
    }
}

const HIDING: &str = r#"access = "read-write"
[connections.exposed]
tables = ["orders", "cit%", "customers", "spare%"]
[connections.hidden]
tables = ["customers"]
procedures = ["count%"]
"#;

#[actix_web::test]
async fn what_is_not_exposed_is_in_no_listing_and_no_hint() {
    let app = fixture::with_sqlite(&format!("{HIDING}{ORDERS_OF}{COUNT_CUSTOMERS}")).await;
    let column = |result: &Value, at: usize| -> Vec<String> {
        let rows = result["structuredContent"]["rows"].as_array().unwrap().iter();
        rows.map(|row| row[at].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(column(&app.tool("get_tables", json!({})).await, 2), ["cities", "orders"]);
    assert!(!column(&app.tool("get_columns", json!({})).await, 2).contains(&"customers".to_owned()));
    assert_eq!(column(&app.tool("get_procedures", json!({})).await, 2), ["orders_of"]);
    assert_eq!(column(&app.tool("get_procedure_parameters", json!({})).await, 2), ["orders_of"; 2]);
    assert!(!listed(&app).await.contains(&"count_customers".to_owned()));
    let instructions = app.tool("get_instructions", json!({})).await.to_string();
    assert!(instructions.contains("orders") && !instructions.contains("count_customers"), "{instructions}");
    assert!(!instructions.contains("customers("), "{instructions}");
    for near in ["custmers", "customer"] {
        let words = app.tool_error("execute_select", json!({"query": format!("SELECT * FROM {near}")})).await;
        assert!(!words.contains("customers"), "{words}");
    }
    let words = app.tool_error("execute_select", json!({"query": "SELECT * FROM order"})).await;
    assert!(words.contains("SQLSTATE"), "{words}");
    let words = app.tool_error("execute_select", json!({"query": "SELECT * FROM ordrs"})).await;
    assert!(words.contains("did you mean orders"), "what is shown is still offered: {words}");
}

#[actix_web::test]
async fn naming_what_is_hidden_in_a_statement_finds_nothing() {
    let app = fixture::with_sqlite(&format!("{HIDING}{ORDERS_OF}{COUNT_CUSTOMERS}")).await;
    let nothing = app.tool_error("execute_sql", json!({"query": "SELECT * FROM nothing"})).await;
    let nothing = nothing.lines().next().unwrap().to_owned();
    for statement in [
        "SELECT * FROM customers",
        "SELECT * FROM CUSTOMERS",
        "SELECT * FROM main.customers",
        "SELECT * FROM shop.main.customers",
        "SELECT * FROM \"customers\" AS c",
        "SELECT * FROM [customers]",
        "SELECT * FROM `customers`",
        "SELECT * FROM 'customers'",
        "SELECT o.id FROM orders o, 'customers' c",
        "SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers)",
        "SELECT (SELECT name FROM customers LIMIT 1)",
        "SELECT id FROM orders UNION SELECT id FROM customers",
        "WITH v AS (SELECT * FROM customers) SELECT * FROM v",
        "EXPLAIN SELECT * FROM customers",
        "DELETE FROM customers",
        "UPDATE customers SET name = 'x'",
        "INSERT INTO customers VALUES (7, 'x', NULL)",
        "REPLACE INTO customers VALUES (1, 'x', NULL)",
        "INSERT INTO orders SELECT id, id, 1, NULL FROM customers",
        "CREATE TABLE spare AS SELECT * FROM customers",
        "CREATE VIEW spare_view AS SELECT * FROM customers",
        "ALTER TABLE customers RENAME TO spare",
        "DROP TABLE customers",
        "CREATE INDEX i ON customers (name)",
        "CREATE INDEX i ON 'customers' (name)",
        "SELECT 1 WHERE (1, 'Ada', NULL) IN 'customers'",
        "SELECT 1 WHERE ('table', 'x', 'x', 4, 'x') IN 'sqlite_master'",
        "ANALYZE 'customers'",
        "REINDEX 'customers'",
        "REPLACE INTO customers (id, name) VALUES (1, 'x')",
        "INSERT OR REPLACE INTO main.customers(id, name) VALUES (1, 'x')",
        "CREATE TABLE spare (id INTEGER REFERENCES customers (id)) STRICT",
        "SELECT sql FROM sqlite_schema",
        "SELECT sql FROM main.sqlite_master",
    ] {
        let words = app.tool_error("execute_sql", json!({"query": statement})).await;
        let named = words.contains("no such table") || words.contains("does not exist");
        assert!(named && !words.contains("did you mean customers"), "{statement}: {words} / {nothing}");
        assert!(words.contains("42P01"), "{statement}: {words}");
    }
    for statement in [
        "PRAGMA table_info('customers')",
        "PRAGMA table_list",
        "SELECT * FROM pragma_table_info('customers')",
        "EXPLAIN PRAGMA table_info(customers)",
    ] {
        let words = app.tool_error("execute_sql", json!({"query": statement})).await;
        assert!(words.contains("PRAGMA is not available") || words.contains("42P01"), "{statement}: {words}");
    }
    // What could do more than its names show is not run at all.
    for statement in [
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN INSERT INTO customers (id, name) VALUES (new.id, 'x'); END",
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM nothing; END",
        "CREATE VIRTUAL TABLE spare USING fts5(name, content='customers')",
        "SELECT name FROM dbstat",
    ] {
        let words = app.tool_error("execute_sql", json!({"query": statement})).await;
        assert!(words.contains("is not available on this connection"), "{statement}: {words}");
    }
    // The view reads it, and is shown; so does what the administrator declared.
    let cities = app.tool("execute_select", json!({"query": "SELECT count(*) FROM cities"})).await;
    assert_eq!(cities["structuredContent"]["rows"], json!([[3]]), "{cities}");
    // A word is no name.
    let word = "SELECT 'customers' AS customers FROM orders WHERE 'customers' = 'customers' LIMIT 1";
    assert_eq!(
        app.tool("execute_select", json!({"query": word})).await["structuredContent"]["rows"],
        json!([["customers"]])
    );
    let words = app.tool_error("execute_procedure", json!({"procedure": "count_customers"})).await;
    assert!(words.contains("there is no procedure") && words.contains("42883"), "{words}");
    let orders = app.tool("execute_procedure", json!({"procedure": "orders_of", "parameters": {"customer": 3}})).await;
    assert_eq!(orders["structuredContent"]["rowCount"], 1, "{orders}");
    // The other protocol has the same walls.
    for (path, body) in [
        ("/api/query", json!({"query": "SELECT * FROM shop.main.customers"})),
        ("/api/query", json!({"query": "SELECT 1; SELECT * FROM customers"})),
        ("/api/query", json!({"query": "SELECT * FROM customers", "schemaOnly": true})),
        ("/api/batch", json!({"query": "SELECT * FROM customers WHERE id = @id", "parameters": [{"id": 1}]})),
    ] {
        let (status, answer) = read(app.post(path).json(&body).send().await.unwrap()).await;
        // Of a script the results before it are out already, as they are before a table that is not there.
        let expected = if body["query"].as_str().unwrap().starts_with("SELECT 1;") { 200 } else { 404 };
        assert_eq!((status, &answer["error"]["code"]), (expected, &json!(1300)), "{path} {body}: {answer}");
    }
    // A foreign key would tell of the hidden table that it refers to.
    for listing in ["tables", "columns", "primaryKeys", "importedKeys", "exportedKeys", "indexes"] {
        let (status, document) = read(app.get(&format!("/api/{listing}")).send().await.unwrap()).await;
        assert_eq!(status, 200, "{listing}: {document}");
        assert!(!document["results"][0]["rows"].to_string().contains(r#""main","customers""#), "{listing}: {document}");
    }
}

#[actix_web::test]
async fn a_hidden_schema_holds_nothing() {
    let app = fixture::with_sqlite("[connections.exposed]\nschemas = []\n").await;
    for tool in ["get_schemas", "get_tables", "get_columns"] {
        assert_eq!(app.tool(tool, json!({})).await["structuredContent"]["rows"], json!([]), "{tool}");
    }
    let words = app.tool_error("execute_select", json!({"query": "SELECT * FROM orders"})).await;
    assert!(words.contains("no such table"), "{words}");
    let words = app.tool_error("execute_select", json!({"query": "SELECT 1", "defaultSchema": "main"})).await;
    assert!(words.contains("there is no schema main"), "{words}");
}

#[actix_web::test]
async fn what_does_more_than_its_names_show_reads_nothing_hidden() {
    let more = "access = \"read-write\"\n[connections.hidden]\ntables = [\"orders\"]\n";
    let app = fixture::with_postgres(&fixture::postgres().await, more).await;
    for statement in [
        "SELECT table_to_xml('orders'::text::regclass, true, true, '')",
        "SELECT pg_catalog.query_to_xml('SELECT * FROM orders', true, true, '')",
        "SELECT schema_to_xml('public', true, true, '')",
        "SELECT database_to_xml(true, true, '')",
        "SELECT * FROM ts_stat('SELECT to_tsvector(total::text) FROM orders')",
        "SELECT set_config('search_path', 'pg_catalog', true)",
        "DO $$ BEGIN INSERT INTO orders VALUES (9, 1, 1); END $$",
        "CREATE FUNCTION peek() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM orders); END'",
        "CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders'",
        "CREATE RULE r AS ON INSERT TO customers DO ALSO SELECT 1",
    ] {
        let (status, answer) = app.query(json!({"query": statement})).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{statement}: {answer}");
        let words = answer["error"]["message"].as_str().unwrap();
        assert!(words.contains("is not available on this connection"), "{statement}: {words}");
        let sets = json!({"query": format!("SELECT 1; {statement}")});
        assert_eq!(app.query(sets).await.0, 403, "{statement} as one of several");
    }
    let one = "SELECT count(*), upper('x') FROM customers";
    assert_eq!(app.rows(one).await, json!([[3, "X"]]), "what shows its names runs");
    for statement in ["CREATE TABLE spare (a int)", "CREATE VIEW spare_view AS SELECT id FROM customers"] {
        let (status, answer) = app.query(json!({"query": statement})).await;
        assert_eq!(status, 200, "{statement}: {answer}");
    }
}

#[actix_web::test]
async fn what_is_hidden_and_what_is_not_there_are_told_alike() {
    let more = "access = \"read-write\"\n[connections.hidden]\ntables = [\"orders\"]\n";
    let app = fixture::with_postgres(&fixture::postgres().await, more).await;
    // Of the same length, so that places are the same.
    for statement in [
        "SELECT * FROM orders",
        "SELECT  c.id FROM customers c JOIN public.orders o ON o.id = c.id",
        "SELECT '美咲', (SELECT max(id) FROM shop.public.orders)",
        "INSERT INTO orders (id) VALUES (1)",
        "UPDATE orders SET id = 1",
        "DELETE FROM orders",
    ] {
        let hidden = app.tool_error("execute_sql", json!({"query": statement})).await;
        let nothing = statement.replace("orders", "wxyzzz");
        let missing = app.tool_error("execute_sql", json!({"query": nothing})).await;
        assert!(hidden.contains("Position: ") && hidden.contains("42P01"), "{statement}: {hidden}");
        assert_eq!(hidden.replace("orders", "wxyzzz"), missing, "{statement}");
    }
}

//! Statements over names of a workspace that one connection runs: of a workspace over one, and what writes.

use serde_json::{Value, json};

use super::workspaces::exchanged;
use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;

/// One workspace over the connection `shop`, whose schema is this one.
fn own(schema: &str) -> String {
    format!(
        r#"
[[workspaces]]
name = "own"
assets = [
    {{ table = "shop.{schema}.orders" }},
    {{ table = "shop.{schema}.customers", alias = "people", folder = "crm" }},
    {{ table = "shop.{schema}.p%", folder = "more" }},
]
views = [
    {{ name = "spent", folder = "reports", query = "SELECT p.id, p.name, sum(o.total) AS spent FROM orders o JOIN crm.people p ON p.id = o.customer_id GROUP BY p.id, p.name -- by person" }},
    {{ name = "rich", query = "WITH spent AS (SELECT * FROM reports.spent) SELECT name FROM spent WHERE spent > 100" }},
]
[audit]
file = "audit.jsonl"
"#
    )
}

const SECRET: &str = "CREATE TABLE secret (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO secret VALUES (1, 'CANARY');
    CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT UNIQUE); INSERT INTO places VALUES (1, 'Kraków');";

async fn on_sqlite() -> TestApp {
    let configuration = Configuration::new().sqlite("shop", "access = \"read-write\"").with(&own("main"));
    let file = rusqlite::Connection::open(configuration.path().join("shop.db")).unwrap();
    file.execute_batch(SECRET).unwrap();
    configuration.start().await
}

async fn on_postgres() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(SECRET).await.unwrap();
    let configuration = Configuration::new().connection("shop", &url, "access = \"read-write\"");
    configuration.with(&own("public")).start().await
}

async fn ask(app: &TestApp, workspace: &str, body: Value) -> (u16, Value) {
    read(app.post(&format!("/api/query?workspace={workspace}")).json(&body).send().await.unwrap()).await
}

async fn rows(app: &TestApp, text: &str) -> Value {
    let (status, document) = ask(app, "own", json!({"query": text})).await;
    assert_eq!(status, 200, "{text}: {document}");
    document["results"][0]["rows"].clone()
}

/// The last call's record in the audit trail.
fn recorded(app: &TestApp) -> Value {
    let trail = std::fs::read_to_string(app.config.with_file_name("audit.jsonl")).unwrap();
    serde_json::from_str(trail.lines().last().unwrap()).unwrap()
}

async fn reads_and_writes(app: &TestApp, schema: &str) {
    for name in ["orders", "main.orders", "own.main.orders", "[orders]", "ORDERS"] {
        assert_eq!(rows(app, &format!("SELECT count(*) FROM {name}")).await, json!([[3]]), "{name}");
    }
    assert_eq!(
        rows(app, "SELECT crm.people.name FROM crm.people WHERE own.crm.people.id = 3").await,
        json!([["美咲"]])
    );
    assert_eq!(rows(app, "SELECT name FROM more.places").await, json!([["Kraków"]]), "by a pattern");
    assert_eq!(rows(app, "SELECT r.name FROM rich AS r, orders WHERE orders.id = 1").await, json!([["美咲"]]));
    assert_eq!(rows(app, "SELECT name FROM reports.spent ORDER BY spent LIMIT 1").await, json!([["Łukasz"]]));
    let shadowed = "WITH orders AS (SELECT 7 AS id) SELECT id FROM orders";
    assert_eq!(rows(app, shadowed).await, json!([[7]]));
    let body = json!({"query": "SELECT count(*) FROM people, orders", "defaultSchema": "crm"});
    assert_eq!(ask(app, "own", body).await.1["results"][0]["rows"], json!([[9]]), "the folder, and the main one");
    let (_, document) =
        ask(app, "own", json!({"query": "SELECT p.name, r.spent FROM crm.people p, reports.spent r"})).await;
    let of = |at: usize, name: &str| document["results"][0]["schema"][at][name].clone();
    assert_eq!(
        (of(0, "catalogName"), of(0, "schemaName"), of(0, "tableName")),
        (json!("own"), json!("crm"), json!("people"))
    );
    assert_eq!((of(1, "catalogName"), of(1, "columnLabel")), (Value::Null, json!("spent")));
    let columns = read(app.get("/api/columns?workspace=own&tableName=spent").send().await.unwrap()).await.1;
    let names: Vec<_> = columns["results"][0]["rows"].as_array().unwrap().iter().map(|row| row[3].clone()).collect();
    assert_eq!(names, ["id", "name", "spent"]);
    let explained = rows(app, "EXPLAIN SELECT * FROM crm.people").await;
    assert!(!explained.as_array().unwrap().is_empty());

    let insert = json!({
        "query": "INSERT INTO crm.people (id, name) VALUES (@id, @name) RETURNING crm.people.id",
        "parameters": {"id": 9, "name": "Zoë"},
    });
    let (status, document) = ask(app, "own", insert.clone()).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[9]])), "{document}");
    let record = recorded(app);
    let sent = record["sent"][0]["statement"].as_str().unwrap();
    assert!(record["workspace"] == "own" && record["connection"] == "shop", "{record}");
    assert!(sent.contains(&format!("\"{schema}\".\"customers\" AS \"people\"")), "{record}");
    let (status, document) = ask(app, "own", insert).await;
    let error = &document["error"];
    assert_eq!((status, &error["code"]), (409, &json!(1401)), "{document}");
    assert!(!error["message"].as_str().unwrap().contains("customers."), "{document}");
    assert_eq!(
        ask(app, "own", json!({"query": "UPDATE crm.people SET city = 'x' WHERE id = 9"})).await.1["results"][0]["affectedRows"],
        1
    );
    let batch = json!({"query": "DELETE FROM crm.people WHERE id = @id", "parameters": [{"id": 9}, {"id": 99}]});
    let (status, document) = read(app.post("/api/batch?workspace=own").json(&batch).send().await.unwrap()).await;
    let affected: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|it| it["affectedRows"].clone()).collect();
    assert_eq!((status, affected), (200, vec![json!(1), json!(0)]), "{document}");
    let script = "INSERT INTO more.places (id, name) VALUES (5, 'a'); SELECT count(*) FROM more.places";
    let (_, document) = ask(app, "own", json!({"query": script, "dryRun": true})).await;
    assert_eq!(document["results"][1]["rows"], json!([[2]]), "{document}");
    assert_eq!(rows(app, "SELECT count(*) FROM more.places").await, json!([[1]]));
}

async fn refuses_what_is_not_there(app: &TestApp, of_dialect: &[&str]) {
    let cases = [
        ("SELECT * FROM secret", 404, "there is no table secret in the workspace own"),
        ("SELECT * FROM customers", 404, "there is no table customers"),
        ("SELECT 1 FROM orders WHERE EXISTS (SELECT 1 FROM secret)", 404, "there is no table secret"),
        ("SELECT * FROM information_schema.tables", 404, "there is no table information_schema.tables"),
        ("SELECT * FROM shop.main.secret", 400, "shop is a connection"),
        ("SELECT * FROM other.main.secret", 404, "other is not part of the workspace own"),
        ("WITH secret AS (SELECT 1) DELETE FROM secret", 404, "there is no table secret"),
        ("DELETE FROM reports.spent", 400, "views only read"),
        ("CREATE TABLE x (id int)", 400, "CREATE is not supported in a workspace"),
        ("DROP TABLE orders", 400, "DROP is not supported in a workspace"),
        ("SELECT nothing FROM crm.people", 400, "nothing"),
    ];
    for (text, status, words) in cases {
        let (answered, document) = ask(app, "own", json!({"query": text})).await;
        let message = document["error"]["message"].as_str().unwrap_or_default();
        assert!(answered == status && message.contains(words), "{text}: {answered} {document}");
        assert!(!document.to_string().contains("customers") || text.contains("customers"), "{text}: {document}");
    }
    for text in of_dialect {
        let (answered, document) = ask(app, "own", json!({"query": text})).await;
        assert!(!document.to_string().contains("CANARY") && answered >= 400, "{text}: {document}");
    }
    for (body, status, field) in [
        (json!({"query": "SELECT 1 FROM orders", "defaultCatalog": "shop"}), 400, "defaultCatalog"),
        (json!({"query": "SELECT 1 FROM orders", "defaultSchema": "nothing"}), 404, "defaultSchema"),
    ] {
        let (answered, document) = ask(app, "own", body).await;
        assert!(answered == status && document["error"]["message"].as_str().unwrap().starts_with(field), "{document}");
    }
}

/// What somebody may do who was given the workspace and reaches no connection.
async fn is_a_wall(app: &TestApp, of_dialect: &[&str]) {
    let made = app.run(&["service-account", "create", "narrow", "--workspace", "own:read"]).await;
    let (token, _) = exchanged(app, &made).await;
    let ask = async |text: &str| {
        let url = format!("{}/api/query?workspace=own", app.url);
        read(app.http.post(url).bearer_auth(&token).json(&json!({"query": text})).send().await.unwrap()).await
    };
    let (status, document) = ask("SELECT name FROM rich").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["美咲"]])), "{document}");
    let (status, document) = ask("EXPLAIN SELECT * FROM orders").await;
    assert_eq!((status, &document["error"]["code"]), (403, &json!(1200)), "{document}");
    let (status, document) = ask("UPDATE orders SET total = 0 WHERE id = 1").await;
    assert_eq!((status, &document["error"]["code"]), (403, &json!(1200)), "{document}");
    for text in of_dialect {
        let (answered, document) = ask(text).await;
        assert!(!document.to_string().contains("CANARY") && answered >= 400, "{text}: {document}");
    }
}

const OF_SQLITE: [&str; 6] = [
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM pragma_table_info('secret'), orders",
    "PRAGMA table_info(secret)",
    "SELECT * FROM main.secret",
    "WITH main AS (SELECT 1) SELECT * FROM \"secret\"",
    "SELECT (SELECT word FROM [secret]) FROM orders",
];

const OF_POSTGRES: [&str; 9] = [
    "SELECT query_to_xml('SELECT * FROM secret', true, true, '')",
    "SELECT table_to_xml('secret', true, true, '')",
    "SELECT * FROM public.secret",
    "SELECT relname FROM pg_catalog.pg_class",
    "SELECT (NULL::secret).* FROM orders",
    "SELECT 'secret'::regclass FROM orders",
    "SELECT pg_get_viewdef('cities'::regclass) FROM orders",
    "SHOW data_directory",
    "SELECT * FROM U&\"s\\0065cret\"",
];

#[actix_web::test]
async fn a_workspace_over_one_connection_speaks_its_dialect_on_sqlite() {
    let app = on_sqlite().await;
    assert_eq!(
        rows(&app, "SELECT typeof(total), ifnull(placed, 'x') FROM orders WHERE id = 2").await,
        json!([["real", "x"]])
    );
    assert_eq!(rows(&app, "SELECT `people`.id FROM crm.`people` WHERE name GLOB 'J*'").await, json!([[2]]));
    reads_and_writes(&app, "main").await;
    refuses_what_is_not_there(&app, &OF_SQLITE).await;
    is_a_wall(&app, &OF_SQLITE).await;
}

#[actix_web::test]
async fn a_workspace_over_one_connection_speaks_its_dialect_on_postgres() {
    let app = on_postgres().await;
    assert_eq!(
        rows(&app, "SELECT id::text, total ~~ '1%' FROM (SELECT id, total::text FROM orders) o WHERE id = 1").await,
        json!([["1", true]])
    );
    assert_eq!(
        rows(&app, "SELECT DISTINCT ON (customer_id) id FROM orders ORDER BY customer_id, id").await,
        json!([[1], [3]])
    );
    reads_and_writes(&app, "public").await;
    refuses_what_is_not_there(&app, &OF_POSTGRES).await;
    is_a_wall(&app, &OF_POSTGRES).await;
}

const BOTH: &str = r#"
[[workspaces]]
name = "pair"
assets = [
    { table = "shop.public.orders" },
    { table = "crm.main.customers", alias = "people", folder = "crm" },
    { table = "frozen.main.customers", folder = "frozen" },
    { table = "shop.pub%.customers", folder = "by_pattern" },
]
views = [{ name = "rich", query = "SELECT p.name FROM orders o JOIN crm.people p ON p.id = o.customer_id WHERE o.total > 100" }]
[audit]
file = "audit.jsonl"
"#;

#[actix_web::test]
async fn what_writes_in_a_workspace_addresses_one_connection() {
    let url = fixture::postgres().await;
    let configuration = Configuration::new().connection("shop", &url, "access = \"read-write\"");
    let configuration = configuration.sqlite("crm", "access = \"read-write\"").sqlite("frozen", "").with(BOTH);
    let app = configuration.start().await;
    let affected = async |text: &str| {
        let (status, document) = ask(&app, "pair", json!({"query": text})).await;
        assert_eq!(status, 200, "{text}: {document}");
        document["results"][0]["affectedRows"].clone()
    };
    // Each in the dialect of its own source.
    assert_eq!(affected("INSERT INTO orders VALUES (7, 1, 5::numeric, now()::date)").await, 1);
    assert_eq!(affected("INSERT OR REPLACE INTO crm.people VALUES (3, 'Misaki', ifnull(NULL, 'x'))").await, 1);
    assert_eq!(affected("UPDATE pair.main.orders SET total = 1 WHERE id IN (SELECT max(id) FROM orders)").await, 1);
    let record = recorded(&app);
    assert_eq!(
        (record["sent"].as_array().map(Vec::len), &record["sent"][0]["connection"]),
        (Some(1), &json!("shop")),
        "{record}"
    );
    let (_, document) = ask(&app, "pair", json!({"query": "SELECT * FROM rich"})).await;
    assert_eq!(document["results"][0]["rows"], json!([["Misaki"]]), "{document}");
    let of_some_schema = json!({"query": "SELECT count(*) FROM by_pattern.customers, frozen.customers"});
    let (_, document) = ask(&app, "pair", of_some_schema).await;
    assert_eq!(document["results"][0]["rows"], json!([[9]]), "by a pattern of schemas: {document}");
    assert_eq!(affected("UPDATE by_pattern.customers SET city = NULL WHERE id = 2").await, 1);
    let batch = json!({"query": "DELETE FROM orders WHERE id = @id", "parameters": [{"id": 7}, {"id": 8}]});
    let (status, document) = read(app.post("/api/batch?workspace=pair").json(&batch).send().await.unwrap()).await;
    assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(1)), "{document}");
    for (text, status, words) in [
        (
            "INSERT INTO orders SELECT id, id, 1, NULL FROM crm.people",
            400,
            "a statement that writes addresses one connection",
        ),
        ("DELETE FROM crm.people WHERE id IN (SELECT customer_id FROM orders)", 400, "orders is a table of shop"),
        (
            "INSERT INTO orders VALUES (8, 1, 1); INSERT INTO crm.people VALUES (8, 'x', 'y')",
            400,
            "this one writes to shop and crm",
        ),
        ("UPDATE rich SET name = 'x'", 400, "views only read"),
        ("INSERT INTO orders SELECT 8, 1, 1 FROM rich", 400, "view rich"),
        ("DELETE FROM frozen.customers", 403, "read-only"),
        ("DELETE FROM nothing", 404, "there is no table nothing"),
        ("TRUNCATE orders", 400, "TRUNCATE"),
    ] {
        let (answered, document) = ask(&app, "pair", json!({"query": text})).await;
        let message = document["error"]["message"].as_str().unwrap_or_default();
        assert!(answered == status && message.contains(words), "{text}: {answered} {document}");
    }
    let (_, document) = ask(&app, "pair", json!({"query": "SELECT count(*) FROM orders"})).await;
    assert_eq!(document["results"][0]["rows"], json!([[3]]), "nothing of these was kept");
}

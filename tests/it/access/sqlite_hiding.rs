//! Spellings of a reference to what SQLite hides, through every door: neither the value behind it nor
//! its name is in any octet of an answer. The driver's own tests generate many more.

use serde_json::json;

use crate::support::app::read;
use crate::support::fixture;

const HIDING: &str = "access = \"read-write\"\n[connections.hidden]\ntables = [\"customers\"]\n";

/// `{T}` is the table.
const FORMS: &[&str] = &[
    "SELECT * FROM {T}",
    "SELECT count(*) FROM {T}",
    "SELECT max(name) FROM {T} AS orders",
    "WITH cities AS (SELECT name FROM {T}) SELECT * FROM cities",
    "SELECT (SELECT group_concat(name) FROM {T}), (SELECT count(*) FROM cities)",
    "SELECT id FROM orders WHERE id IN (SELECT id FROM {T})",
    "EXPLAIN QUERY PLAN SELECT * FROM {T}",
    "INSERT INTO orders (id, customer_id, total) SELECT 90 + id, id, 1 FROM {T} RETURNING id",
    "UPDATE orders SET total = (SELECT count(*) FROM {T})",
    "DELETE FROM orders WHERE EXISTS (SELECT 1 FROM {T})",
    "CREATE VIEW peek AS SELECT * FROM {T}",
    "CREATE TABLE peek AS SELECT * FROM {T}",
    "DROP TABLE {T}",
    "DELETE FROM {T}",
    "SELECT name FROM sqlite_schema",
    "SELECT * FROM pragma_table_list",
    "SELECT name FROM dbstat",
];

const SPELLINGS: &[&str] = &[
    "customers",
    "CUSTOMERS",
    "\"Customers\"",
    "[customers]",
    "`customers`",
    "'customers'",
    "main.customers",
    "\"MAIN\"/**/. customers",
];

#[actix_web::test]
async fn no_door_leads_to_what_is_hidden() {
    let app = fixture::with_sqlite(HIDING).await;
    for form in FORMS {
        for spelling in SPELLINGS {
            let query = form.replace("{T}", spelling);
            let one = json!({"query": query});
            let batch = json!({"query": format!("{query} -- @id"), "parameters": [{}]});
            let tool = json!({"name": "execute_sql", "arguments": {"query": query}});
            let (status, direct) = read(app.post("/api/query").json(&one).send().await.unwrap()).await;
            assert!(matches!(status, 403 | 404), "{query}: {status} {direct}");
            let (status, batched) = read(app.post("/api/batch").json(&batch).send().await.unwrap()).await;
            assert_ne!(status, 200, "{query}: {batched}");
            let (_, called) = app.mcp(&app.writer, "tools/call", tool).await;
            assert_eq!(called["result"]["isError"], true, "{query}: {called}");
            for answer in [direct, batched, called] {
                let answer = answer.to_string();
                for canary in ["Łukasz", "José", "美咲"] {
                    assert!(!answer.contains(canary), "{query}: {answer}");
                }
                let named = query.to_lowercase().contains("customers");
                assert!(named || !answer.contains("customers"), "{query}: {answer}");
            }
            if !form.contains("{T}") {
                break;
            }
        }
    }
    assert_eq!(app.rows("SELECT count(*), sum(customers) FROM cities").await, json!([[3, 3]]));
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

//! Workspaces as ways around what a connection hides: by patterns, by names that are known, by way of another connection,
//! by views over what their reader may not see, and by the words of errors.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;

const HIDES: &str = "access = \"read-write\"\n[connections.hidden]\ntables = [\"canary%\"]\n";

const WORKSPACES: &str = r#"
[[workspaces]]
name = "wide"
assets = [
    { table = "shop.public.%" },
    { table = "shop.public.canary_ledger", alias = "ledger", folder = "named" },
    { table = "beside.main.%", folder = "beside" },
    { table = "beside.main.canary_ledger", alias = "other", folder = "named" },
]
views = [
    { name = "above", folder = "named", query = "SELECT word FROM named.ledger" },
    { name = "across", folder = "named", query = "SELECT o.word FROM named.other o JOIN orders ON orders.id = o.id" },
]
[[workspaces]]
name = "narrow"
assets = [
    { table = "shop.public.orders" },
    { table = "shop.public.canary_ledger", alias = "ledger" },
]
views = [{ name = "above", query = "SELECT word FROM ledger" }]
[[workspaces]]
name = "canary_workspace"
assets = [{ table = "beside.main.orders" }]
"#;

const CANARY: &str = "CREATE TABLE canary_ledger (id INTEGER PRIMARY KEY, word TEXT);
    INSERT INTO canary_ledger VALUES (1, 'CANARY-WORD'), (2, 'CANARY-WORD');";

async fn start() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(CANARY).await.unwrap();
    let configuration = Configuration::new().connection("shop", &url, HIDES).sqlite("beside", HIDES).with(WORKSPACES);
    let file = rusqlite::Connection::open(configuration.path().join("beside.db")).unwrap();
    file.execute_batch(CANARY).unwrap();
    configuration.start().await
}

async fn ask(app: &TestApp, workspace: &str, text: &str) -> (u16, Value) {
    let request = app.post(&format!("/api/query?workspace={workspace}")).json(&json!({"query": text}));
    read(request.send().await.unwrap()).await
}

#[actix_web::test]
async fn what_a_connection_hides_is_in_no_workspace() {
    let app = start().await;
    for (workspace, text) in [
        ("wide", "SELECT * FROM canary_ledger"),
        ("wide", "SELECT word FROM named.ledger"),
        ("wide", "SELECT word FROM beside.canary_ledger"),
        ("wide", "SELECT word FROM named.other"),
        ("wide", "SELECT * FROM named.above"),
        ("wide", "SELECT * FROM named.across"),
        ("wide", "SELECT o.id FROM orders o JOIN named.other n ON n.id = o.id AND n.word LIKE 'CANARY%'"),
        ("wide", "EXPLAIN SELECT word FROM named.ledger"),
        ("wide", "INSERT INTO canary_ledger VALUES (7, 'x')"),
        ("wide", "INSERT INTO orders SELECT id, 1, 1, NULL FROM named.ledger"),
        ("wide", "DELETE FROM named.other WHERE word LIKE 'CANARY%'"),
        ("narrow", "SELECT * FROM ledger"),
        ("narrow", "SELECT * FROM above"),
        ("narrow", "TABLE ledger"),
        ("narrow", "EXPLAIN SELECT * FROM above"),
        ("narrow", "INSERT INTO orders SELECT id, 1, 1, NULL FROM ledger"),
        ("narrow", "UPDATE orders SET total = 0 WHERE id IN (SELECT id FROM above)"),
        ("narrow", "UPDATE ledger SET word = 'x'"),
        ("narrow", "WITH l AS (SELECT * FROM ledger) SELECT * FROM l, orders"),
        ("narrow", "SELECT query_to_xml('TABLE canary_ledger', true, true, '') FROM orders"),
    ] {
        let (status, document) = ask(&app, workspace, text).await;
        assert!(status >= 400, "{workspace}: {text}: {document}");
        assert!(!document.to_string().contains("CANARY"), "{workspace}: {text}: {document}");
        let said = document["error"].to_string();
        assert!(!said.contains("canary_ledger") || text.contains("canary_ledger"), "{workspace}: {text}: {document}");
    }
    let (status, document) =
        ask(&app, "wide", "SELECT count(*) FROM orders o JOIN beside.orders b ON b.id = o.id").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "what is shown is: {document}");
    for workspace in ["wide", "narrow"] {
        for facet in ["tables", "columns", "primaryKeys", "indexes"] {
            let path = format!("/api/{facet}?workspace={workspace}&schemaName=named");
            let (_, document) = read(app.get(&path).send().await.unwrap()).await;
            let text = document["results"][0]["rows"].to_string();
            assert!(!text.contains("ledger") && !text.contains("\"other\""), "{path}: {document}");
        }
    }
}

#[actix_web::test]
async fn errors_tell_of_no_workspace_that_is_not_within_reach() {
    let app = start().await;
    let token = app.token().await;
    for path in ["/api/query?workspace=canary_workspac", "/api/query?workspace=nothing", "/api/tables?workspace=wid"] {
        let url = format!("{}{path}", app.url);
        let request = if path.starts_with("/api/query") { app.http.post(url) } else { app.http.get(url) };
        let request = request.bearer_auth(&token).json(&json!({"query": "SELECT 1 FROM canary_workspace.main.orders"}));
        let (status, document) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 404, "{document}");
        let hint = document["error"]["hint"].to_string();
        assert!(!hint.contains("canary_workspace") && !hint.contains("wide"), "{path}: {document}");
    }
    // In a workspace the names of another one are nothing.
    let (status, document) = ask(&app, "narrow", "SELECT * FROM canary_workspace.main.orders").await;
    assert_eq!((status, &document["error"]["code"]), (404, &json!(1300)), "{document}");
}

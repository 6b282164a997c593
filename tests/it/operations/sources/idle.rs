//! Connections that start with their first use, and let go of everything when nobody uses them.

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::support::app::{CONNECTION, OTHER, TestApp, awaited, eventually, read};
use crate::support::configuration::{Configuration, connection, shop};
use crate::support::fixture;
use crate::support::mcp::modern;
use crate::support::postgres::connect;
use crate::support::stream::Events;

const LAZY: &str = "access = \"read-write\"\nstart = \"lazy\"\nidle_timeout = 1";

async fn start(connections: &str) -> TestApp {
    Configuration::new().server("metrics = \"open\"").with(connections).start().await
}

/// How the first connection stands, in the words of each place that tells it.
async fn status(app: &TestApp) -> Vec<Value> {
    let (_, ready) = read(app.http.get(format!("{}/readyz", app.url)).send().await.unwrap()).await;
    let (_, listed) = read(app.get("/api/connections").send().await.unwrap()).await;
    [&ready, &listed].map(|body| body["connections"][0]["status"].clone()).into()
}

/// Sessions of ours at the database that `observer` is connected to.
async fn sessions(observer: &Client) -> i64 {
    let ours =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico'";
    observer.query_one(ours, &[]).await.unwrap().get(0)
}

/// Who waits for a lock in this database.
const WAITING: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Waits until no session of ours is left.
async fn gone(observer: &Client) {
    eventually("the end of the sessions", async || sessions(observer).await == 0).await;
}

#[actix_web::test]
async fn sessions_come_with_the_first_call_and_go_after_the_last() {
    let url = fixture::postgres().await;
    let observer = connect(&url).await;
    let app = start(&connection(CONNECTION, "shop", &url, LAZY)).await;
    assert_eq!((status(&app).await, sessions(&observer).await), (vec![json!("idle"); 2], 0));
    for _ in 0..2 {
        // Those who come first together are all answered.
        let calls = (0..8).map(|_| app.query(json!({"query": "SELECT count(*) FROM orders"})));
        for (status, document) in futures_util::future::join_all(calls).await {
            assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{document}");
        }
        // While a call runs nothing lets go, however long it takes.
        observer.batch_execute("SELECT pg_advisory_lock(9)").await.unwrap();
        let waiting = app.post("/api/query").json(&json!({"query": "SELECT pg_advisory_xact_lock_shared(9)"}));
        let waiting = tokio::spawn(waiting.send());
        eventually("a statement that waits", async || {
            observer.query_one(WAITING, &[]).await.unwrap().get::<_, i64>(0) != 0
        })
        .await;
        assert!(sessions(&observer).await > 0 && status(&app).await == vec![json!("up"); 2]);
        observer.batch_execute("SELECT pg_advisory_unlock(9)").await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().status(), 200);
        gone(&observer).await;
        eventually("idle connections", async || status(&app).await == vec![json!("idle"); 2]).await;
    }
}

#[actix_web::test]
async fn the_first_list_of_tools_has_those_of_the_source() {
    let url = fixture::postgres().await;
    let observer = connect(&url).await;
    observer.batch_execute("CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42'").await.unwrap();
    let app = start(&connection(CONNECTION, "shop", &url, "start = \"lazy\"\naccess = \"read-write\"")).await;
    let (_, listed) = app.mcp(&app.writer, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "answer"), "{tools:?}");
}

#[actix_web::test]
async fn the_first_call_may_be_of_a_tool_that_is_made_of_the_source() {
    let url = fixture::postgres().await;
    let observer = connect(&url).await;
    observer.batch_execute("CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42'").await.unwrap();
    let app = start(&connection(CONNECTION, "shop", &url, "start = \"lazy\"\naccess = \"read-write\"")).await;
    let result = app.tool("answer", json!({})).await;
    assert_eq!(result["structuredContent"]["rows"], json!([[42]]), "{result}");
}

#[actix_web::test]
async fn a_listener_is_a_use() {
    let (url, other) = (fixture::postgres().await, fixture::postgres().await);
    let (observer, clock) = (connect(&url).await, connect(&other).await);
    let more = format!("{LAZY}\nrefresh_interval = 1");
    let app = start(&(connection(CONNECTION, "shop", &url, &more) + &connection(OTHER, "other", &other, LAZY))).await;
    let wanted = json!({"notifications": {"resourcesListChanged": true}});
    let asked = modern(&app, &app.writer, &json!(1), "subscriptions/listen", wanted);
    let mut listening = Events::new(asked.send().await.unwrap());
    assert_eq!(listening.message().await["method"], "notifications/subscriptions/acknowledged");
    assert!(sessions(&observer).await > 0, "who listens has the source looked at");
    // The other connection, which is used later, tells how time goes by.
    let document = app.query(json!({"query": "SELECT count(*) FROM other.public.orders"})).await;
    assert_eq!(document.0, 200, "{}", document.1);
    gone(&clock).await;
    assert!(sessions(&observer).await > 0);
    observer.batch_execute("CREATE TABLE fresh (id int)").await.unwrap();
    assert_eq!(listening.message().await["method"], "notifications/resources/list_changed");
}

#[actix_web::test]
async fn a_first_call_to_a_database_that_is_away_says_when_to_come_back() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let app = start(&connection(CONNECTION, "shop", &format!("postgres://u@127.0.0.1:{nobody}/d"), LAZY)).await;
    assert_eq!(status(&app).await, vec![json!("idle"); 2]);
    let response = app.post("/api/query").json(&json!({"query": "SELECT 1"})).send().await.unwrap();
    assert!(response.headers().contains_key("retry-after"));
    let (code, body) = read(response).await;
    assert_eq!((code, &body["error"]["code"]), (503, &json!(1700)), "{body}");
}

#[actix_web::test]
async fn what_is_idle_has_one_series() {
    let folder = TempDir::new().unwrap();
    let url = fixture::sqlite(&folder, "shop.db");
    let tables = connection(CONNECTION, "shop", &url, "start = \"lazy\"") + &connection(OTHER, "brief", &url, LAZY);
    let app = start(&tables).await;
    let series = async |name: &str| -> Vec<String> {
        let text = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
        let ours = text.lines().filter(|line| line.contains(&format!("connection=\"{name}\"")));
        ours.filter(|line| !line.contains("operation=")).map(str::to_owned).collect()
    };
    let idle = |name: &str| format!("portico_connection_state{{connection=\"{name}\",state=\"idle\"}} 1");
    assert_eq!((series("shop").await, series("brief").await), (vec![idle("shop")], vec![idle("brief")]));
    app.rows("SELECT id FROM shop.main.orders").await;
    let used = series("shop").await;
    for line in [
        "portico_connection_state{connection=\"shop\",state=\"up\"} 1",
        "portico_connection_state{connection=\"shop\",state=\"idle\"} 0",
        "portico_calls_running_limit{connection=\"shop\"} 10",
    ] {
        assert!(used.iter().any(|told| told == line), "{line}: {used:#?}");
    }
    app.rows("SELECT id FROM brief.main.orders").await;
    let after = awaited("an idle connection", async || {
        Some(series("brief").await).filter(|told| told.contains(&idle("brief")))
    })
    .await;
    assert!(!after.iter().any(|told| told.starts_with("portico_calls_running")), "nothing runs there: {after:#?}");
    assert!(after.iter().any(|told| told.starts_with("portico_rows_total")), "what was counted stays: {after:#?}");
}

#[actix_web::test]
async fn hundreds_that_wait_hold_nothing_and_a_reload_tells_them_apart() {
    /// No file is there: nobody looks.
    fn table(number: u128) -> String {
        connection(Uuid::from_u128(number), &format!("c{number}"), &format!("sqlite:c{number}.db"), "")
    }
    let tables = |numbers: std::ops::Range<u128>| numbers.map(table).collect::<String>();
    let configured = |connections: &str| format!("{connections}[defaults]\nstart = \"lazy\"\n");
    let service = Configuration::new().server("metrics = \"open\"").sqlite("shop", "");
    let service = service.with(&configured(&tables(1..500))).serve().await;
    let metrics = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    let open = metrics.lines().find_map(|line| line.strip_prefix("process_open_fds ")).unwrap();
    assert!(open.parse::<f64>().unwrap() < 200.0, "{open} descriptors");
    assert_eq!(service.query("SELECT count(*) FROM shop.main.orders").await.0, 200);
    let (_, ready) = read(service.get("/readyz").send().await.unwrap()).await;
    let states = ready["connections"].as_array().unwrap();
    let idle = states.iter().filter(|state| state["status"] == "idle").count();
    assert_eq!((ready["status"].as_str(), states.len(), idle), (Some("ready"), 500, 499));
    // One is removed, one is changed, one is new; nobody is woken by it.
    let changed = connection(Uuid::from_u128(2), "c2", "sqlite:c2.db", "pool = 3");
    service.configure("metrics = \"open\"", &configured(&(shop("") + &changed + &tables(3..501))));
    let (done, said) = service.reload().await;
    let report = &said["report"];
    assert!(done, "{said}");
    assert_eq!(
        (&report["added"], &report["changed"], &report["removed"], &report["down"]),
        (&json!(["c500"]), &json!(["c2"]), &json!(["c1"]), &json!([]))
    );
    let (_, ready) = read(service.get("/readyz").send().await.unwrap()).await;
    let up: Vec<_> = ready["connections"].as_array().unwrap().iter().filter(|it| it["status"] != "idle").collect();
    assert_eq!(up, [&json!({"name": "shop", "status": "up"})]);
}

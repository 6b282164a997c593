//! `portico stdio --url`: no server and no configuration.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::eventually;
use crate::support::fixture;
use crate::support::launched::{Launched, alone};
use crate::support::mcp::ENDLESS;
use crate::support::postgres::connect;
use crate::support::process::program;

fn at(folder: &Path, url: &str, arguments: &[&str]) -> Launched {
    let mut command = program();
    // It reads none of these.
    std::fs::write(folder.join("config.toml"), "[server]\nlisten = 5\n").unwrap();
    std::fs::create_dir_all(folder.join("tmp")).unwrap();
    command.args(["stdio", "--url", url]).args(arguments).current_dir(folder);
    Launched::begin(command.env("TMPDIR", folder.join("tmp")).env_remove("PORTICO_TOKEN"))
}

fn call(tool: &str, query: &str) -> Value {
    json!({"name": tool, "arguments": {"query": query}})
}

const INSERT: &str = "INSERT INTO customers VALUES (9, 'Ada', NULL)";

#[actix_web::test]
async fn a_file_is_served_to_clients_of_both_eras() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let mut client = at(folder.path(), "sqlite:shop.db", &[]);
    let hello = client.shake_hands("2025-11-25", json!({})).await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "portico");
    let answer = client.ask(json!(1), "tools/call", call("execute_select", "SELECT id FROM shop.main.customers")).await;
    assert_eq!(answer["result"]["structuredContent"]["rows"], json!([[1], [2], [3]]), "{answer}");
    let refused = client.ask(json!(2), "tools/call", call("execute_insert", INSERT)).await;
    assert!(refused["error"].is_object(), "it only reads unless it is told otherwise: {refused}");
    client.close().await;
    let mut client = at(folder.path(), "sqlite:shop.db", &["--name", "till", "--read-write"]);
    let written = client.ask_alone(json!(1), "tools/call", call("execute_insert", INSERT)).await;
    assert_eq!(written["result"]["structuredContent"]["affectedRows"], 1, "{written}");
    let read =
        client.ask_alone(json!(2), "tools/call", call("execute_select", "SELECT count(*) FROM till.main.customers"));
    assert_eq!(read.await["result"]["structuredContent"]["rows"], json!([[4]]));
    client.request(json!(3), "tools/call", alone(call("execute_select", ENDLESS)));
    client.ask_alone(json!(4), "tools/list", json!({})).await;
    let (lasted, rest) = client.close().await;
    assert!(lasted.as_secs() < 5 && rest.is_empty(), "{lasted:?} {rest:?}");
    assert_eq!(std::fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0, "it leaves nothing behind");
}

#[actix_web::test]
async fn a_statement_on_postgresql_ends_with_its_client() {
    let url = fixture::postgres().await;
    let database = connect(&url).await;
    let runs = async || {
        let asked = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
                     AND pid <> pg_backend_pid() AND query LIKE '%pg_sleep(601)%'";
        !database.query(asked, &[]).await.unwrap().is_empty()
    };
    for is_session in [true, false] {
        let folder = TempDir::new().unwrap();
        let mut client = at(folder.path(), &url, &["--name", "shop"]);
        let mut asked = call("execute_select", "SELECT pg_sleep(601)");
        if is_session {
            client.shake_hands("2025-06-18", json!({})).await;
        } else {
            asked = alone(asked);
        }
        client.request(json!(1), "tools/call", asked);
        eventually("the statement to run", &runs).await;
        let (lasted, rest) = client.close().await;
        assert!(lasted.as_secs() < 5 && rest.is_empty(), "{lasted:?} {rest:?}");
        eventually("the statement to end", async || !runs().await).await;
    }
}

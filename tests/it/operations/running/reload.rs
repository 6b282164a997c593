//! A configuration that is read again while the service runs.

use std::io::Read;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::support::app::{CONNECTION, DEADLINE, OTHER, eventually, read};
use crate::support::configuration::{Configuration, configure, connection, shop};
use crate::support::fixture;
use crate::support::postgres::connect;

const TOOL: &str = r#"[[connections.tools]]
name = "one"
description = "The number one."
sql = "SELECT 1 AS n"
[[connections.prompts]]
name = "greet"
description = "Says hello."
text = "Say hello."
"#;

#[actix_web::test]
async fn connections_are_added_changed_and_removed_and_listeners_are_told() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    let archive = fixture::sqlite(&service.folder, "archive.db");
    let (done, said) = service.reload().await;
    assert!(done && said["message"] == "nothing has changed", "{said}");
    let mut events = service.listen().await;
    // What is only offered concerns no source.
    let offered = shop(TOOL);
    let beside = connection(OTHER, "archive", &archive, "");
    service.configure("", &(offered + &beside));
    let (done, said) = service.reload().await;
    assert!(done, "{said}");
    let report = &said["report"];
    assert_eq!((&report["offered"], &report["changed"]), (&json!(["shop"]), &json!([])));
    assert_eq!(report["added"], json!(["archive"]));
    let mut told = vec![events.message().await["method"].clone(), events.message().await["method"].clone()];
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, ["notifications/prompts/list_changed", "notifications/tools/list_changed"]);
    // What hides a table is the source's matter.
    let hidden = shop(&format!("{TOOL}[connections.hidden]\ntables = [\"orders\"]"));
    // The actor that was not restarted knows the new name.
    let arguments = json!({"query": "SELECT * FROM archive.main.orders"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_select", "arguments": arguments}});
    let answer = service.post(&format!("/mcp/connections/{CONNECTION}")).json(&call).send().await.unwrap();
    let words = read(answer).await.1["result"]["content"][0]["text"].to_string();
    assert!(words.contains("archive is another connection"), "{words}");
    service.configure("", &(hidden + &beside));
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["changed"] == json!(["shop"]), "{said}");
    assert_eq!(events.message().await["method"], "notifications/resources/list_changed");
    assert_eq!(service.query("SELECT count(*) FROM shop.main.orders").await.0, 404);
    assert_eq!(service.query("SELECT count(*) FROM archive.main.orders").await.0, 200);
    // The stream of a connection that is gone ends well.
    service.configure("", &beside);
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["removed"] == json!(["shop"]), "{said}");
    let rest = events.rest().await;
    assert_eq!((rest.len(), &rest[0]["result"]["resultType"]), (1, &json!("complete")), "{rest:?}");
    let gone = service.post(&format!("/mcp/connections/{CONNECTION}")).json(&json!({})).send().await.unwrap();
    assert_eq!(gone.status(), 404);
}

#[actix_web::test]
async fn a_bad_file_changes_nothing_and_says_why() {
    let service = Configuration::new().server("max_body = 2048").sqlite("shop", "").serve().await;
    let write = |server: &str, tables: &str| configure(service.folder.path(), None, server, tables);
    let unchanged = shop("");
    let long = json!({"query": format!("SELECT 1 -- {}", "x".repeat(3000))});
    for (server, more, key, line) in [
        ("max_body = 4096", "acess = 1", "connections[0].acess", 12),
        ("max_body = 4096\nlisten = \"127.0.0.1:1\"", "", "server.listen", 4),
        ("max_body = 4096\npublic_url2 = 1", "", "server.public_url2", 5),
    ] {
        write(server, &format!("{unchanged}{more}"));
        let (done, said) = service.reload().await;
        let problem = &said["problems"][0];
        assert!(!done && problem["key"] == key && problem["line"] == line, "{said}");
        let response = service.post("/api/query").json(&long).send().await.unwrap();
        assert_eq!(response.status(), 413, "a part of a refused file is in force");
    }
    write("max_body = 4096", &unchanged);
    assert!(service.reload().await.0);
    let response = service.post("/api/query").json(&long).send().await.unwrap();
    assert_eq!(response.status(), 200);
    // For people: the place first, then what to do.
    write("max_body = 5", &unchanged);
    let output = service.run(&["reload"]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && words.contains("config.toml:4:12: server.max_body: "), "{words}");
    std::fs::write(service.folder.path().join("config.toml"), "[[").unwrap();
    let output = service.run(&["reload"]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && words.contains("config.toml:1:"), "{words}");
    assert!(words.contains("the service goes on as it was"), "{words}");
    let (done, said) = service.reload().await;
    assert!(!done && said["ok"] == false && said["problems"][0]["line"] == 1, "{said}");
    let response = service.post("/api/query").json(&long).send().await.unwrap();
    assert_eq!(response.status(), 200, "what was in force still is");
}

#[actix_web::test]
async fn what_was_taken_over_is_told_by_the_names_of_settings() {
    let mut service = Configuration::new().with("[audit]\nfile = \"audit.jsonl\"").sqlite("shop", "").serve().await;
    let audited = format!("[audit]\nfile = \"audit.jsonl\"\n{}", shop("access = \"read-write\"\nmax_rows = 7"));
    service.configure("metrics = \"open\"\nshutdown_timeout = 7", &audited);
    let (done, said) = service.reload().await;
    let settings =
        json!(["server.metrics", "server.shutdown_timeout", "connections.shop.access", "connections.shop.max_rows"]);
    assert!(done && said["report"]["settings"] == settings, "{said}");
    service.line("settings: server.metrics, server.shutdown_timeout, connections.shop.access").await;
    let found = service.run(&["audit", "search", "--action", "reload", "--json"]);
    let record: Value = serde_json::from_slice(found.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(record["object"]["settings"], settings, "{record}");
}

#[actix_web::test]
async fn a_reload_that_takes_a_connection_down_fails() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    service.configure("", &connection(CONNECTION, "shop", "sqlite:nowhere.db", ""));
    let (done, said) = service.reload().await;
    assert!(!done && said["ok"] == true && said["report"]["down"] == json!(["shop"]), "{said}");
}

#[actix_web::test]
async fn a_command_for_another_configuration_is_refused() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    let folder = service.folder.path();
    std::fs::copy(folder.join("config.toml"), folder.join("other.toml")).unwrap();
    for command in ["reload", "health"] {
        let refused = service.run(&[command, "--config", "other.toml"]);
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && words.contains("runs with"), "{command}: {words}");
    }
    // The same file by another way.
    std::os::unix::fs::symlink("config.toml", folder.join("link.toml")).unwrap();
    assert!(service.run(&["reload", "--config", "link.toml"]).status.success());
}

/// What waits for its turn when the settings change has not begun: it was made for the old ones, and is refused.
#[actix_web::test]
async fn what_waits_during_a_reload_is_not_done_by_either_settings() {
    const OPEN: &str = "metrics = \"open\"";
    let url = fixture::postgres().await;
    let keys = |access: &str| format!("access = \"{access}\"\npool = 1\n");
    let service = Configuration::new().server(OPEN).connection("shop", &url, &keys("read-write")).serve().await;
    let holder = connect(&url).await;
    holder.batch_execute("BEGIN; LOCK TABLE customers IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let ask = |query: &str| tokio::spawn(service.post("/api/query").json(&json!({"query": query})).send());
    let metrics = async |line: &str| {
        let metrics = service.http.get(format!("{}/metrics", service.url)).send().await.unwrap().text().await.unwrap();
        metrics.lines().any(|each| each == line)
    };
    let runs = ask("SELECT count(*) FROM customers");
    let line = "portico_calls_running{connection=\"shop\"} 1";
    eventually("the call that runs", async || metrics(line).await).await;
    let waiting = [ask("UPDATE orders SET total = 0"), ask("SELECT count(*) FROM orders")];
    let line = "portico_calls_waiting{connection=\"shop\"} 2";
    eventually("the calls that wait", async || metrics(line).await).await;
    service.configure(OPEN, &connection(CONNECTION, "shop", &url, &keys("read-only")));
    let (done, said) = service.reload().await;
    assert!(done, "{said}");
    for call in waiting {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(answer.headers()["retry-after"], "1");
        let (status, document) = read(answer).await;
        assert_eq!((status, &document["error"]["code"]), (503, &json!(1700)), "{document}");
    }
    assert_eq!(service.query("UPDATE orders SET total = 0").await.0, 403);
    let (status, document) = service.query("SELECT count(*) FROM orders WHERE total > 0").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{document}");
    assert!(!runs.is_finished(), "what runs ends where it began");
    drop(holder);
    assert_eq!(read(runs.await.unwrap().unwrap()).await.0, 200);
}

#[actix_web::test]
async fn a_hangup_reloads_and_nobody_to_ask_is_said() {
    let mut service = Configuration::new().sqlite("shop", "").serve().await;
    service.configure("", &connection(CONNECTION, "store", &fixture::sqlite(&service.folder, "s2.db"), ""));
    service.signal("HUP");
    service.line("reloaded; restarted: store").await;
    let (status, listed) = read(service.get("/api/connections").send().await.unwrap()).await;
    assert_eq!((status, &listed["connections"][0]["name"]), (200, &json!("store")));
    service.signal("TERM");
    assert!(service.ended().await.success());
    assert!(!service.folder.path().join("portico.control").exists(), "the control socket was left behind");
    let (done, said) = service.reload().await;
    assert!(!done && said["message"].as_str().unwrap().contains("no running service"), "{said}");
}

#[actix_web::test]
async fn a_reload_says_how_many_grants_it_shuts_out() {
    let mut service = Configuration::new().sqlite("shop", "").serve().await;
    let raw = rusqlite::Connection::open(service.folder.path().join("portico.db")).unwrap();
    raw.execute_batch(
        "INSERT INTO grants (id, user_id, client_id, client_name, scope, connections, created_at, expires_at, used_at)
         SELECT '00000000-0000-0000-0000-000000000001', id, 'https://client.example/id', 'client', 'read', '[]',
                unixepoch(), unixepoch() + 1000, unixepoch() FROM users LIMIT 1",
    )
    .unwrap();
    assert_eq!(service.reload().await.1["report"]["shutOut"], 0);
    service.configure("", &format!("{}\n[oauth]\nclient_documents = false\n", shop("")));
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["shutOut"] == 1, "{said}");
    assert!(said["message"].as_str().unwrap().contains("1 grants are of clients"), "{said}");
    service.line("1 grants are of clients that [oauth] does not admit").await;
}

#[actix_web::test]
async fn calls_that_run_end_on_the_old_settings() {
    let url = fixture::postgres().await;
    let lock = connect(&url).await;
    lock.batch_execute("SELECT pg_advisory_lock(77)").await.unwrap();
    let table = |more: &str| connection(CONNECTION, "shop", &url, more);
    let service = Configuration::new().connection("shop", &url, "access = \"read-write\"").serve().await;
    let waiting = "SELECT pg_advisory_xact_lock(77), 'reload_marker'";
    let call = tokio::spawn(service.post("/api/query").json(&json!({"query": waiting})).send());
    let running = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    eventually("the statement to wait for the lock", async || {
        lock.query_one(running, &[]).await.unwrap().get::<_, i64>(0) != 0
    })
    .await;
    service.configure("", &table("access = \"read-only\""));
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["changed"] == json!(["shop"]), "{said}");
    assert_eq!(service.query("DELETE FROM orders").await.0, 403, "the new settings are in force");
    assert!(!call.is_finished());
    lock.batch_execute("SELECT pg_advisory_unlock(77)").await.unwrap();
    let (status, document) = read(call.await.unwrap().unwrap()).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
}

#[actix_web::test]
async fn whoever_asks_nothing_at_the_control_socket_holds_up_nobody() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    let control = service.folder.path().join("portico.control");
    let mut silent: Vec<_> = (0..40).map(|_| UnixStream::connect(&control).unwrap()).collect();
    // It waits no longer than two seconds.
    let output = service.run(&["health"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (done, said) = service.reload().await;
    assert!(done, "{said}");
    // The first ones had to go for the others, and those leave when their time is over.
    for silent in &mut silent {
        silent.set_read_timeout(Some(DEADLINE)).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "it is still listened to");
    }
}

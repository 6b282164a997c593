//! What is recorded, kept, searched and told of a disk that is full.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use futures_util::FutureExt;
use portico::audit::{Audit, AuditEvent, Record};
use portico::config::AuditSettings;
use portico_actors::event::Event;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{CONNECTION, TestApp, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::mcp::{ENDLESS, modern, select};
use crate::support::process::portico;
use crate::support::stream::Events;

/// A service with one SQLite connection and the trail that `audit` configures.
pub(super) async fn service(folder: TempDir, audit: &str) -> TestApp {
    let service = Configuration::in_folder(folder).sqlite("shop", "access = \"read-write\"");
    service.with(&format!("[audit]\n{audit}")).start().await
}

pub(super) fn trail(app: &TestApp) -> PathBuf {
    app.config.with_file_name("audit.jsonl")
}

pub(super) fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no record: {line}"))).collect()
}

/// The records, once there are `count` of them; those of the service's own beginning are left out.
async fn calls(app: &TestApp, count: usize) -> Vec<Value> {
    let path = trail(app);
    let calls = || records(&path).into_iter().filter(|record| record["event"] != "start").collect::<Vec<_>>();
    eventually("the records of the calls", async || calls().len() >= count).await;
    let calls = calls();
    assert_eq!(calls.len(), count, "{calls:#?}");
    calls
}

/// What the command printed, a JSON value a line.
fn lines_of(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[actix_web::test]
async fn a_call_leaves_one_record_whatever_the_way() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let id = "0192f0c1-2345-7abc-8def-0123456789ab";
    let query = json!({"query": "SELECT name FROM customers WHERE name <> @name", "parameters": {"@name": {"value": "quagga"}}});
    let answer = app.post("/api/query").header("x-request-id", id).header("user-agent", "t/1").json(&query);
    let answer = answer.send().await.unwrap().text().await.unwrap();
    app.query(json!({"query": "SELECT nothing FROM customers"})).await;
    app.tool("execute_select", json!({"query": "SELECT 'x' AS a"})).await;
    app.mcp(&app.reader, "tools/call", json!({"name": "execute_sql", "arguments": {"query": "DELETE FROM orders"}}))
        .await;
    // A record is written when its answer has ended.
    for path in ["/api/tables", "/api/connections"] {
        assert_eq!(read(app.get(path).send().await.unwrap()).await.0, 200);
    }
    let stranger = app.http.post(format!("{}/api/query", app.url)).basic_auth("eve", Some("ptc_pat_wrong"));
    assert_eq!(stranger.json(&query).send().await.unwrap().status(), 401);
    let foreign = app.get("/api/tables").header("origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    app.token().await;
    let form = [("grant_type", "client_credentials"), ("client_id", &app.agent.name), ("client_secret", "wrong")];
    app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap();
    assert_eq!(app.http.get(format!("{}/healthz", app.url)).send().await.unwrap().status(), 200, "not recorded");

    let found = calls(&app, 10).await;
    let said: Vec<Value> = found
        .iter()
        .map(|record| {
            let what = if record["tool"].is_null() { &record["path"] } else { &record["tool"] };
            json!([record["event"], record["outcome"], record["principal"], what, record["class"], record["rows"]])
        })
        .collect();
    let (writer, reader, agent) = (&app.writer.name, &app.reader.name, &app.agent.name);
    assert_eq!(
        said,
        [
            json!(["call", "ok", writer, "/api/query", "select", 3]),
            json!(["call", "rejected", writer, "/api/query", null, 0]),
            json!(["call", "ok", writer, "execute_select", "select", 1]),
            json!(["call", "forbidden", reader, "execute_sql", null, 0]),
            json!(["call", "ok", writer, "/api/tables", null, 3]),
            json!(["call", "ok", writer, "/api/connections", null, 1]),
            json!(["call", "unauthenticated", null, "/api/query", null, 0]),
            json!(["call", "refused", null, "/api/tables", null, null]),
            json!(["token", "ok", agent, "/oauth/token", null, 0]),
            json!(["token", "unauthenticated", null, "/oauth/token", null, 0]),
        ]
    );
    // Who was not authenticated is no principal.
    assert_eq!((&found[6]["claimed"], &found[9]["claimed"]), (&json!("eve"), &json!(agent)));
    assert_eq!(found[6]["reason"], "the personal access token is unknown");
    assert!(found[9]["reason"].as_str().unwrap().contains("not valid"), "{}", found[9]);
    let credential = app.store().pats(Some(reader)).unwrap()[0].id;
    assert_eq!(found[3]["credential"], json!(credential), "a refusal has its credential");
    assert!(found[3]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{}", found[3]);
    assert!(found[..6].iter().all(|record| record.get("claimed").is_none()));
    let first = &found[0];
    assert_eq!(
        [&first["requestId"], &first["address"], &first["agent"], &first["connection"], &first["statement"]],
        [id, "127.0.0.1", "t/1", "shop", "SELECT name FROM customers WHERE name <> @name"]
    );
    assert_eq!(first["bytes"], answer.len());
    assert_eq!(first["digest"].as_str().unwrap().len(), 64);
    assert!(first["time"].as_str().unwrap().ends_with('Z') && first["ms"].is_u64(), "{first}");
    assert_eq!(
        (&found[2]["path"], &found[9]["code"]),
        (&json!(format!("/mcp/connections/{CONNECTION}")), &json!("invalid_client"))
    );
    assert_eq!(found[7]["code"], "403");
    assert_eq!(found[7]["reason"], "the Origin header names a page that may not call this service");

    let text = std::fs::read_to_string(trail(&app)).unwrap();
    for secret in [&app.writer.secret, &app.agent.secret, "ptc_pat_wrong", "quagga"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_eq!(std::fs::metadata(trail(&app)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[actix_web::test]
async fn statements_and_values_are_kept_as_configured() {
    let audit = "file = \"audit.jsonl\"\nstatement = \"shape\"\nparameters = true";
    let app = service(TempDir::new().unwrap(), audit).await;
    let batch = json!({"query": "SELECT @a, 'secret'", "parameters": [{"@a": {"value": 1}}, {"@a": {"value": "two"}}]});
    // To its last byte: who leaves before has abandoned the call.
    assert_eq!(read(app.post("/api/batch").json(&batch).send().await.unwrap()).await.0, 200);
    let call = |id: u32, query: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "execute_select", "arguments": {"query": query}}})
    };
    let several = json!([call(1, "SELECT 1"), call(2, "SELECT nothing")]).to_string();
    let request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
    let answered = request.header("mcp-protocol-version", "2025-03-26").body(several).send().await.unwrap();
    assert_eq!(answered.status(), 200);
    let found = calls(&app, 2).await;
    assert_eq!((&found[0]["statement"], &found[0]["rows"]), (&json!("SELECT @a, ***"), &json!(2)));
    assert_eq!(found[0]["parameters"], json!([{"a": 1}, {"a": "two"}]));
    let calls = found[1]["calls"].as_array().unwrap();
    assert_eq!((found[1]["tool"].as_str(), calls.len()), (Some("batch"), 2));
    assert_eq!((&calls[0]["outcome"], &calls[0]["statement"]), (&json!("ok"), &json!("SELECT ***")));
    assert_eq!((&calls[1]["outcome"], &calls[1]["tool"]), (&json!("rejected"), &json!("execute_select")));
}

#[actix_web::test]
async fn a_caller_who_leaves_is_recorded_too() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let asked = modern(&app, &app.writer, &json!(1), "tools/call", select(ENDLESS, &json!("t"))).send().await.unwrap();
    // The stream opens while the statement runs, and its client leaves.
    drop(Events::new(asked));
    let found = calls(&app, 1).await;
    assert_eq!((&found[0]["outcome"], &found[0]["principal"]), (&json!("abandoned"), &json!(app.writer.name)));
    assert_eq!(found[0]["statement"], ENDLESS);
}

#[actix_web::test]
async fn a_full_queue_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("audit.jsonl");
    let settings = AuditSettings { file: Some(path.clone()), queue: 1, ..AuditSettings::default() };
    let audit =
        Audit::start(&settings, &Path::new("unused").into(), std::sync::Arc::new(|_: &Event| {})).unwrap().unwrap();
    let held = audit.reserve().await.unwrap().unwrap();
    let mut next = Box::pin(audit.reserve());
    assert!((&mut next).now_or_never().is_none(), "the queue has room for one");
    held.keep(Record::new(AuditEvent::Call, "ok"));
    let next = next.await.unwrap().unwrap();
    drop(next);
    // A place that was given back is there for another.
    audit.reserve().await.unwrap().unwrap().keep(Record::new(AuditEvent::Call, "ok"));
    audit.close().await;
    let events: Vec<Value> = records(&path).iter().map(|record| record["event"].clone()).collect();
    assert_eq!(events, ["start", "call", "call", "stop"], "everything is there at the end");
}

#[actix_web::test]
async fn what_strangers_do_is_counted_when_it_is_too_much() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("audit.jsonl");
    let settings = AuditSettings { file: Some(path.clone()), ..AuditSettings::default() };
    let audit =
        Audit::start(&settings, &Path::new("unused").into(), std::sync::Arc::new(|_: &Event| {})).unwrap().unwrap();
    for _ in 0..2_000 {
        audit.reserve().await.unwrap().unwrap().keep(Record::new(AuditEvent::Call, "unauthenticated"));
    }
    let known = Record { principal: "ann".to_owned(), ..Record::new(AuditEvent::Call, "forbidden") };
    audit.reserve().await.unwrap().unwrap().keep(known);
    audit.close().await;
    let records = records(&path);
    let each = records.iter().filter(|record| record["outcome"] == "unauthenticated").count();
    let counted: u64 = records.iter().filter_map(|record| record["count"].as_u64()).sum();
    assert_eq!(each as u64 + counted, 2_000);
    assert!(each >= 100 && counted > 0, "{each} one by one");
    assert_eq!(records.iter().filter(|record| record["principal"] == "ann").count(), 1);
}

#[actix_web::test]
async fn a_repeated_request_is_recorded_each_time() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let body = json!({"query": "INSERT INTO customers VALUES (9, 'x', NULL)"});
    for _ in 0..2 {
        let request = app.post("/api/query").header("idempotency-key", "k").json(&body);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    let found = calls(&app, 2).await;
    let said = |record: &Value| (record["outcome"].clone(), record["principal"].clone(), record["class"].clone());
    assert_eq!(said(&found[0]), (json!("ok"), json!(app.writer.name), json!("insert")));
    assert_eq!(said(&found[1]), (json!("ok"), json!(app.writer.name), Value::Null), "it was not run again");
    assert_eq!([&found[0]["replayed"], &found[1]["replayed"]], [&Value::Null, &json!(true)]);
    for member in ["statement", "digest", "rows", "bytes"] {
        assert_eq!(found[0][member], found[1][member], "{member}: what was read is told");
        assert_ne!(found[1][member], Value::Null, "{member}");
    }
}

#[actix_web::test]
async fn a_dry_run_is_told_from_a_change() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let query = "INSERT INTO customers VALUES (9, 'x', NULL)";
    for dry in [true, false] {
        assert_eq!(app.query(json!({"query": query, "dryRun": dry})).await.0, 200);
        app.tool("execute_insert", json!({"query": query.replace('9', "8"), "dryRun": dry})).await;
    }
    let told = calls(&app, 4).await.iter().map(|record| record["dryRun"].clone()).collect::<Vec<_>>();
    assert_eq!(told, [json!(true), json!(true), Value::Null, Value::Null]);
}

/// A trail whose disk is full, and the remedy.
pub(super) fn full_disk() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("audit.jsonl");
    symlink("/dev/full", &path).unwrap();
    (folder, path)
}

#[actix_web::test]
async fn a_full_disk_refuses_calls_until_it_has_room_and_nothing_is_lost() {
    let (folder, path) = full_disk();
    let app = service(folder, "file = \"audit.jsonl\"\non_failure = \"refuse\"").await;
    eventually("the trail's failure", async || {
        app.told(|event| matches!(event, Event::AuditFailed { refuses: true, .. }))
    })
    .await;
    let (status, refused) = app.query(json!({"query": "SELECT 1"})).await;
    assert_eq!((status, &refused["error"]["code"]), (503, &json!(1700)), "{refused}");
    let (status, refused) = app.mcp(&app.writer, "tools/list", json!({})).await;
    assert_eq!((status, &refused["error"]["code"]), (503, &json!(1700)), "{refused}");
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", app.agent.name.as_str()),
        ("client_secret", app.agent.secret.as_str()),
    ];
    let (status, refused) =
        read(app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap()).await;
    assert!(status == 503 && refused.get("access_token").is_none(), "a token that is not recorded is not given");
    assert_eq!(app.http.get(format!("{}/healthz", app.url)).send().await.unwrap().status(), 200);
    let ready = async || read(app.http.get(format!("{}/readyz", app.url)).send().await.unwrap()).await;
    let (status, answer) = ready().await;
    assert_eq!((status, &answer["status"]), (503, &json!("unavailable")), "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("audit trail"), "{answer}");
    std::fs::remove_file(&path).unwrap();
    eventually("the trail to go on", async || app.told(|event| matches!(event, Event::AuditResumed { lost: 0 }))).await;
    let (status, answer) = ready().await;
    assert_eq!((status, answer.get("reason")), (200, None), "{answer}");
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]));
    calls(&app, 1).await;
    assert_eq!(records(&path)[0]["event"], "start");
}

#[actix_web::test]
async fn a_full_disk_lets_calls_go_on_where_that_is_configured_and_counts_what_is_lost() {
    let (folder, path) = full_disk();
    let app = service(folder, "file = \"audit.jsonl\"\non_failure = \"continue\"").await;
    eventually("the trail's failure", async || {
        app.told(|event| matches!(event, Event::AuditFailed { refuses: false, .. }))
    })
    .await;
    assert_eq!(app.http.get(format!("{}/readyz", app.url)).send().await.unwrap().status(), 200, "calls go on");
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]));
    std::fs::remove_file(&path).unwrap();
    let resumed = || app.told(|event| matches!(event, Event::AuditResumed { .. }));
    eventually("the trail to go on", async || {
        assert_eq!(app.rows("SELECT 2").await, json!([[2]]));
        resumed()
    })
    .await;
    let has = |event: &str| records(&path).iter().any(|record| record["event"] == event);
    eventually("the records of what was lost and of the call", async || has("lost") && has("call")).await;
    let records = records(&path);
    let lost = records.iter().find(|record| record["event"] == "lost").unwrap();
    assert!(lost["count"].as_u64().unwrap() >= 1, "{lost}");
}

#[actix_web::test]
async fn the_store_keeps_the_newest_records_and_callers_stay_known() {
    let app = service(TempDir::new().unwrap(), "store = true\nstore_records = 3").await;
    for number in 1..=5 {
        app.rows(&format!("SELECT {number}")).await;
    }
    let kept = || {
        let statements = app.store().audit_after(0, 100).unwrap().into_iter();
        let statement = |(_, text): (i64, String)| serde_json::from_str::<Value>(&text).unwrap()["statement"].clone();
        statements.map(statement).collect::<Vec<_>>()
    };
    eventually("the newest records", async || kept() == ["SELECT 3", "SELECT 4", "SELECT 5"]).await;
    let folder = app.config.parent().unwrap();
    let found = lines_of(&portico(folder, &["audit", "search", "--json", "--limit", "2"]));
    assert_eq!(found.iter().map(|record| &record["statement"]).collect::<Vec<_>>(), ["SELECT 3", "SELECT 4"]);
    let newest = lines_of(&portico(folder, &["audit", "tail", "-n", "1", "--json"]));
    assert_eq!(newest[0]["statement"], "SELECT 5");
}

#[actix_web::test]
async fn changes_on_the_command_line_are_recorded_and_found() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let folder = app.config.parent().unwrap();
    let run = |arguments: &[&str]| {
        let output = portico(folder, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run(&["user", "add", "ann@example.org"]);
    let pat = run(&["pat", "create", "ann@example.org", "--name", "laptop"]);
    let account: Value =
        serde_json::from_str(&run(&["service-account", "create", "nightly", "--connection", "shop", "--json"]))
            .unwrap();
    run(&["service-account", "rotate", "nightly"]);
    run(&["pat", "revoke", "laptop"]);
    run(&["key", "rotate"]);
    run(&["service-account", "remove", "nightly"]);
    run(&["user", "remove", "ann@example.org"]);
    app.rows("SELECT 1").await;
    let found = lines_of(&portico(folder, &["audit", "search", "--event", "change", "--json"]));
    let actions: Vec<&str> = found.iter().map(|record| record["action"].as_str().unwrap()).collect();
    assert_eq!(
        actions,
        [
            "user add",
            "pat create",
            "service-account create",
            "service-account rotate",
            "pat revoke",
            "key rotate",
            "service-account remove",
            "user remove"
        ]
    );
    assert!(found.iter().all(|record| record["principal"].as_str().unwrap().starts_with("uid:")));
    assert!(found.iter().all(|record| record["host"].is_string()), "{found:#?}");
    let rotated = &found[3];
    assert!(rotated["before"]["rotatedAt"].is_null() && rotated["after"]["rotatedAt"].is_string(), "{rotated}");
    assert_eq!(
        (&found[0]["object"]["email"], &found[1]["object"]["name"]),
        (&json!("ann@example.org"), &json!("laptop"))
    );
    let text = std::fs::read_to_string(trail(&app)).unwrap();
    assert!(!text.contains(&pat) && !text.contains(account["clientSecret"].as_str().unwrap()));

    calls(&app, 9).await;
    let of_writer = ["audit", "search", "--principal", &app.writer.name, "--connection", "SHOP", "--outcome", "ok"];
    let shown = run(&of_writer);
    assert!(shown.lines().count() == 1 && shown.contains("/api/query") && shown.contains("SELECT 1"), "{shown}");
    assert_eq!(run(&["audit", "search", "--outcome", "failed"]), "");
    assert_eq!(run(&["audit", "search", "--since", "1h", "--json"]).lines().count(), 10);
    assert_eq!(run(&["audit", "search", "--until", "2020-01-01"]), "");
    let wrong = portico(folder, &["audit", "search", "--since", "yesterday"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("12h"));
    // A word that no record can have finds nothing, and would be taken for an answer.
    for (filter, word, offered) in [
        ("--event", "changes", "change"),
        ("--outcome", "denied", "forbidden"),
        ("--outcome", "", "failed"),
        ("--who", "ann", "--"),
        ("--action", "pat creat", "pat create"),
        ("--action", "nothing", "grants apply"),
    ] {
        let wrong = portico(folder, &["audit", "search", filter, word]);
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(!wrong.status.success() && said.contains(offered), "{filter} {word}: {said}");
    }
    let turned = portico(folder, &["audit", "search", "--since", "1h", "--until", "2h"]);
    assert!(!turned.status.success() && String::from_utf8_lossy(&turned.stderr).contains("--since: "), "{turned:?}");
    let none = portico(folder, &["audit", "search", "--connection", "nowhere"]);
    assert!(none.status.success() && String::from_utf8_lossy(&none.stderr).contains("no record matches"), "{none:?}");
    for outcome in ["ok", "failed", "refused", "not-found", "timed-out"] {
        assert!(portico(folder, &["audit", "search", "--outcome", outcome]).status.success(), "{outcome}");
    }
    let one = run(&["audit", "search", "--action", "user add", "--json"]);
    assert_eq!(one.lines().count(), 1);
}

#[actix_web::test]
async fn a_trail_that_cannot_be_opened_stops_the_start_and_the_change() {
    let folder = Configuration::new().sqlite("shop", "").with("[audit]\nfile = \"missing/audit.jsonl\"").write();
    for arguments in [&["serve"][..], &["user", "add", "ann@example.org"]] {
        let output = portico(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("missing/audit.jsonl"), "{arguments:?}: {said}");
    }
    assert!(!folder.path().join("portico.db").exists(), "nothing was made");
}

#[actix_web::test]
async fn a_signal_has_the_file_opened_anew_and_the_end_leaves_nothing_unwritten() {
    let service = Configuration::new().sqlite("shop", "").with("[audit]\nfile = \"audit.jsonl\"");
    let mut service = service.serve().await;
    let (url, http) = (format!("{}/api/tables", service.url), service.http.clone());
    let call = async || assert_eq!(read(http.get(&url).send().await.unwrap()).await.0, 401);
    let (path, moved) = (service.folder.path().join("audit.jsonl"), service.folder.path().join("moved"));
    call().await;
    eventually("the records of both calls", async || records(&path).len() == 2).await;
    std::fs::rename(&path, &moved).unwrap();
    service.signal("USR1");
    let descriptors = format!("/proc/{}/fd", service.id().as_raw_nonzero());
    let is_held = || {
        let mut held = std::fs::read_dir(&descriptors).unwrap().flatten();
        held.any(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|file| file == moved))
    };
    eventually("the moved file to be let go of", async || !is_held()).await;
    call().await;
    service.signal("TERM");
    assert!(service.ended().await.success());
    let events = |path: &Path| records(path).iter().map(|record| record["event"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (events(&moved), events(&path)),
        (vec![json!("start"), json!("call")], vec![json!("call"), json!("stop")])
    );
}

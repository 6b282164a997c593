//! What is answered when something is wrong: with a message, with the token, or with the service.

use std::io::Write;
use std::process::Stdio;

use portico_actors::error::Kind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::support::app::{Caller, eventually};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::launched::{Launched, alone, command};
use crate::support::mcp::ENDLESS;
use crate::support::process::{Running, finished, output, program};

fn query(query: &str) -> Value {
    json!({"name": "execute_select", "arguments": {"query": query}})
}

#[actix_web::test]
async fn a_message_that_is_none_gets_the_protocol_s_error() {
    let app = Configuration::new().server("max_body = 4096").sqlite("shop", "").start().await;
    let mut client = Launched::at(&app, &app.writer);
    let code = async |client: &mut Launched, line: &str, id: Value| {
        client.write(line);
        let answer = client.answer(&id).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{line}: {answer}"))
    };
    for (line, id, expected) in [
        ("{", json!(null), -32700),
        ("no JSON at all", json!(null), -32700),
        ("7", json!(null), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}"#, json!(2), -32600),
        // No batch before a handshake says that there are any.
        ("[]", json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":3,"method":"server/discover"}"#, json!(3), -32601),
        (r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#, json!(4), -32601),
    ] {
        assert_eq!(code(&mut client, line, id).await, expected, "{line}");
    }
    let answer = client.ask_alone(json!(5), "initialize", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let mut other = alone(json!({}));
    other["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let answer = client.ask(json!(6), "tools/list", other).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
    // What is too long for the service, and what is too long for anybody.
    let text = "x".repeat(100_000);
    let answer = client.ask(json!("long"), "tools/call", query(&text)).await;
    assert_eq!(answer["error"]["code"], 1800, "{answer}");
    let longest = format!(r#"{{"method":"ping","params":{{"t":"{}"}},"id":"longest"}}"#, "x".repeat(64 << 20));
    assert_eq!(code(&mut client, &longest, json!("longest")).await, -32600);
    client.write("");
    client.shake_hands("2025-03-26", json!({})).await;
    client.write(r#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]"#);
    let batch = client.message(Value::is_array).await;
    assert_eq!(batch.as_array().unwrap().len(), 2, "{batch}");
    client.close().await;
}

#[test]
fn a_token_that_is_none_is_told_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("token"), "two words\n").unwrap();
    for (variable, arguments) in
        [("b\u{1}", &["stdio"][..]), ("two words", &["stdio"]), ("", &["stdio", "--token-file", "token"])]
    {
        let mut command = program();
        let ended = command.args(arguments).env("PORTICO_TOKEN", variable).current_dir(&folder).output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && told.contains("holds no token"), "{variable:?}: {told}");
    }
}

#[actix_web::test]
async fn a_client_that_reads_nothing_is_left() {
    let app = fixture::on_sqlite().await;
    let mut command = command(&app.url, &app.writer, &["--connection", "shop"]);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // More answers than a pipe and what waits behind it hold.
    let (mut input, lines) = (program.stdin.take().unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1}\n".repeat(20_000));
    let input = spawn_blocking(move || input.write_all(lines.as_bytes()).map(|()| input)).await.unwrap().unwrap();
    kill_process(Pid::from_child(&program), Signal::TERM).unwrap();
    eventually("the end of the program", async || program.try_wait().unwrap().is_some()).await;
    assert!(program.wait().unwrap().success());
    drop(input);
}

#[actix_web::test]
async fn a_large_answer_is_one_line() {
    let app = Configuration::new().sqlite("shop", "max_rows = 200000\nmax_bytes = 20000000").start().await;
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                SELECT i, 'line ' || char(10) || ' and ' || char(13) || i AS t FROM n";
    let mut asked = query(many);
    asked["arguments"]["maxRows"] = json!(100_000);
    for is_session in [true, false] {
        let mut client = Launched::at(&app, &app.writer);
        if is_session {
            client.shake_hands("2025-11-25", json!({})).await;
        }
        let params = if is_session { asked.clone() } else { alone(asked.clone()) };
        let answer = client.ask(json!(1), "tools/call", params).await;
        let rows = answer["result"]["structuredContent"]["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[49_999]), (50_000, &json!([50_000, "line \n and \r50000"])));
        client.close().await;
    }
}

#[actix_web::test]
async fn the_end_of_the_input_cancels_what_runs() {
    let app = fixture::on_sqlite().await;
    for version in [Some("2025-11-25"), None] {
        let mut client = Launched::at(&app, &app.writer);
        let mut asked = query(ENDLESS);
        asked["_meta"]["progressToken"] = json!(1);
        if let Some(version) = version {
            client.shake_hands(version, json!({})).await;
        } else {
            asked = alone(asked);
        }
        client.request(json!(1), "tools/call", asked);
        // Its stream is open, which a client may lose without losing the call.
        client.told("notifications/progress").await;
        let (lasted, rest) = client.close().await;
        assert!(lasted.as_secs() < 5, "{lasted:?}");
        assert!(rest.iter().all(|message| message["method"] == "notifications/progress"), "{rest:?}");
        eventually("the statement to be cancelled", async || {
            app.endings("execute_select").contains(&Some(Kind::Abandoned))
        })
        .await;
        app.events.lock().unwrap().clear();
    }
    // A signal to stop is the same end.
    let mut client = Launched::in_session(&app, &app.writer, "2025-06-18").await;
    client.running().signal("TERM");
    assert_eq!(client.running().ended().await.code(), Some(0));
    eventually("the end of the session", async || !app.endings("end of session").is_empty()).await;
}

#[actix_web::test]
async fn a_refused_token_is_told_to_whoever_asks() {
    let app = fixture::on_sqlite().await;
    let wrong = Caller { name: String::new(), secret: "ptc_pat_wrong".to_owned() };
    let mut client = Launched::at(&app, &wrong);
    for id in [json!(1), json!("two")] {
        let answer = client.ask(id, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}})).await;
        assert_eq!(answer["error"]["code"], 1100, "{answer}");
    }
    let answer = client.ask_alone(json!(3), "tools/list", json!({})).await;
    assert_eq!(answer["error"]["code"], 1100, "{answer}");
    client.close().await;
    // The rights are those of the token.
    let mut client = Launched::in_session(&app, &app.reader, "2025-06-18").await;
    let insert =
        json!({"name": "execute_insert", "arguments": {"query": "INSERT INTO customers VALUES (9, 'x', NULL)"}});
    let answer = client.ask(json!(1), "tools/call", insert).await;
    assert_eq!(answer["error"]["code"], 1200, "{answer}");
    client.close().await;
    let mut client = Launched::begin(&mut command(&app.url, &app.writer, &["--connection", "no-such"]));
    let answer = client.ask_alone(json!(1), "tools/list", json!({})).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(1000)), "{answer}");
    client.close().await;
}

#[actix_web::test]
async fn a_service_that_is_not_there_is_told_and_so_is_a_wrong_command_line() {
    let nobody = Caller { name: String::new(), secret: "t".to_owned() };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = Launched::begin(&mut command(&format!("http://{free}"), &nobody, &[]));
    let answer = client.ask_alone(json!(1), "tools/list", json!({})).await;
    assert_eq!(answer["error"]["code"], 1700, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached") && message.contains("--server"), "{message}");
    client.close().await;
    let folder = tempfile::TempDir::new().unwrap();
    for (arguments, status, part) in [
        (&["stdio", "--server", "localhost"][..], 1, "--server: \"localhost\" is not the address"),
        (&["stdio", "--token-file", "none"], 1, "none cannot be read"),
        (&["stdio", "--url", "mysql:x"], 1, "--url: this is not the address of a source"),
        (&["stdio", "--url", "sqlite:x", "--connection", "y"], 2, "cannot be used with"),
        (&["stdio", "--read-write"], 2, "--url"),
    ] {
        let output = finished(program().args(arguments).env_remove("PORTICO_TOKEN").current_dir(&folder));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && told.contains(part), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "standard output is the protocol's alone");
    }
}

#[test]
fn messages_may_come_from_a_file_and_reasons_go_to_standard_error() {
    use std::io::Write as _;
    let folder = tempfile::TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let mut command = program();
    command.args(["stdio", "--url", "sqlite:shop.db"]).current_dir(&folder).env("RUST_LOG", "info");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    ];
    child.stdin.take().unwrap().write_all(input.join("\n").as_bytes()).unwrap();
    let output = output(child);
    let lines = String::from_utf8(output.stdout).unwrap();
    let ids: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!((output.status.code(), ids), (Some(0), vec![json!(0), json!(1)]), "{lines}");
    assert!(!output.stderr.is_empty(), "the log is on standard error");
}

/// A service of the program's on a port that it has again when it is started again.
async fn serve(folder: &std::path::Path) -> Running {
    let mut command = program();
    let mut running =
        Running::begin(command.arg("serve").current_dir(folder).env("RUST_LOG", "info").stderr(Stdio::piped()));
    running.line("ready: ").await;
    running
}

#[actix_web::test]
async fn a_service_that_is_started_again_is_found_again() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = format!("listen = \"{free}\"\nshutdown_timeout = 1");
    let folder = Configuration::new().server(&server).sqlite("shop", "access = \"read-write\"").write();
    let (writer, ..) = crate::support::app::callers(folder.path().join("portico.db"));
    let mut service = serve(folder.path()).await;
    let url = format!("http://{free}");
    let mut session = Launched::begin(&mut command(&url, &writer, &["--connection", "shop"]));
    session.shake_hands("2025-11-25", json!({})).await;
    let mut listening = Launched::begin(&mut command(&url, &writer, &["--connection", "shop"]));
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    listening.request(json!("l"), "subscriptions/listen", alone(wanted));
    listening.told("notifications/subscriptions/acknowledged").await;
    service.signal("TERM");
    assert!(service.ended().await.success());
    // What is asked while nobody is there waits.
    session.request(json!(1), "tools/call", query("SELECT 1 AS n"));
    let again = serve(folder.path()).await;
    let answer = session.answer(&json!(1)).await;
    assert_eq!(answer["result"]["structuredContent"]["rows"], json!([[1]]), "{answer}");
    session.told("notifications/tools/list_changed").await;
    let told = listening.told("notifications/tools/list_changed").await;
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l", "{told}");
    // A call that was under way when the service died is not made twice behind the client's back.
    session.request(json!(2), "tools/call", query(ENDLESS));
    session.ask(json!(3), "ping", json!({})).await;
    again.signal("KILL");
    let lost = session.answer(&json!(2)).await;
    assert_eq!(lost["error"]["code"], 1700, "{lost}");
    assert!(lost["error"]["message"].as_str().unwrap().contains("may have been carried out"), "{lost}");
    let _third = serve(folder.path()).await;
    let answer = session.ask(json!(4), "tools/call", query("SELECT 4 AS n")).await;
    assert_eq!(answer["result"]["structuredContent"]["rows"], json!([[4]]), "{answer}");
    let (_, rest) = listening.close().await;
    assert!(rest.iter().all(|message| message["id"] != "l"), "the stream goes on: {rest:?}");
    session.close().await;
}

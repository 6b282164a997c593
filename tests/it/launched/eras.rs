//! What clients of both eras are answered, told and asked over pipes.

use portico_actors::error::Kind;
use serde_json::{Value, json};

use crate::conformance_fixture::Fixture;
use crate::support::app::{TestApp, eventually};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::launched::{Launched, alone, command};
use crate::support::mcp::{ENDLESS, select};

fn tool(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn query(query: &str) -> Value {
    tool("execute_select", json!({"query": query}))
}

fn rows(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["rows"]
}

#[actix_web::test]
async fn a_client_of_either_era_is_served() {
    let app = fixture::on_sqlite().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Launched::in_session(&app, &app.writer, version).await;
        assert_eq!(client.ask(json!(1), "ping", json!({})).await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        let tools = client.ask(json!("two"), "tools/list", json!({})).await;
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 12, "{tools}");
        let answer = client.ask(json!(3), "tools/call", query("SELECT name FROM customers ORDER BY id LIMIT 1")).await;
        assert_eq!(rows(&answer), &json!([["Łukasz"]]), "{answer}");
        let (lasted, rest) = client.close().await;
        assert!(lasted.as_secs() < 5 && rest.is_empty(), "{lasted:?} {rest:?}");
        eventually("the end of the session", async || app.endings("end of session").pop().is_some()).await;
        app.events.lock().unwrap().clear();
    }
    let mut client = Launched::at(&app, &app.writer);
    let found = client.ask_alone(json!(1), "server/discover", json!({})).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    let answer = client.ask_alone(json!(2), "tools/call", query("SELECT 1 AS n")).await;
    assert_eq!((rows(&answer), &answer["result"]["resultType"]), (&json!([[1]]), &json!("complete")), "{answer}");
    // The name stands in a header, which takes no such letters as they are.
    let unknown = client.ask_alone(json!(3), "tools/call", tool("größe", json!({}))).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let (lasted, rest) = client.close().await;
    assert!(lasted.as_secs() < 5 && rest.is_empty(), "{lasted:?} {rest:?}");
}

#[actix_web::test]
async fn all_that_a_token_opens_is_served_where_nothing_is_named() {
    let app = fixture::two_connections().await;
    let mut client = Launched::begin(&mut command(&app.url, &app.writer, &[]));
    let found = client.ask_alone(json!(1), "tools/call", tool("get_catalogs", json!({}))).await;
    assert_eq!(rows(&found), &json!([["archive"], ["shop"]]), "{found}");
    client.close().await;
    let file = app.config.with_file_name("token");
    std::fs::write(&file, format!("{}\n", app.reader.secret)).unwrap();
    let arguments = ["--connection", "archive", "--lean", "--token-file", file.to_str().unwrap()];
    let mut client = Launched::begin(command(&app.url, &app.writer, &arguments).env_remove("PORTICO_TOKEN"));
    let tools = client.ask_alone(json!(1), "tools/list", json!({})).await;
    let names: Vec<&Value> = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["get_instructions", "get_columns", "execute_select"], "{tools}");
    client.close().await;
}

#[actix_web::test]
async fn several_calls_run_at_once_and_each_can_be_called_off() {
    let app = fixture::on_sqlite().await;
    for is_session in [true, false] {
        let mut client = Launched::at(&app, &app.writer);
        if is_session {
            client.shake_hands("2025-06-18", json!({})).await;
        }
        let params = |params| if is_session { params } else { alone(params) };
        client.request(json!("slow"), "tools/call", params(query(ENDLESS)));
        let quick = client.ask(json!(2), "tools/call", params(query("SELECT 2 AS n"))).await;
        assert_eq!(rows(&quick), &json!([[2]]), "{quick}");
        client.notify("notifications/cancelled", json!({"requestId": "slow", "reason": "enough"}));
        eventually("the statement to be cancelled", async || {
            app.endings("execute_select").contains(&Some(Kind::Abandoned))
        })
        .await;
        let after = client.ask(json!(3), "tools/call", params(query("SELECT 3 AS n"))).await;
        assert_eq!(rows(&after), &json!([[3]]), "{after}");
        let (_, rest) = client.close().await;
        assert!(rest.is_empty(), "what was called off is not answered: {rest:?}");
        app.events.lock().unwrap().clear();
    }
}

#[actix_web::test]
async fn a_call_of_a_batch_can_be_called_off() {
    let app = fixture::on_sqlite().await;
    let mut client = Launched::in_session(&app, &app.writer, "2025-03-26").await;
    let call = |id: Value, query_text| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": query(query_text)});
    client.send(&json!([call(json!("slow"), ENDLESS), call(json!(2), "SELECT 2 AS n")]));
    // It may come before what it calls off.
    eventually("the statement to be cancelled", async || {
        client.notify("notifications/cancelled", json!({"requestId": "slow"}));
        app.endings("batch").contains(&Some(Kind::Abandoned))
    })
    .await;
    let answers = client.message(Value::is_array).await;
    assert_eq!(answers.as_array().map(Vec::len), Some(1), "{answers}");
    client.close().await;
}

#[actix_web::test]
async fn progress_comes_before_the_answer() {
    let app = fixture::on_sqlite().await;
    for version in [Some("2025-06-18"), Some("2025-11-25"), None] {
        let mut client = Launched::at(&app, &app.writer);
        if let Some(version) = version {
            client.shake_hands(version, json!({})).await;
        }
        let asked = select("SELECT id FROM customers ORDER BY id", &json!("p"));
        let asked = if version.is_some() { asked } else { alone(asked) };
        let answer = client.ask(json!(1), "tools/call", asked).await;
        assert_eq!(rows(&answer), &json!([[1], [2], [3]]), "{answer}");
        let progress = client.told("notifications/progress").await;
        assert_eq!(progress["params"]["progressToken"], "p");
        client.close().await;
    }
}

async fn fixture_app() -> TestApp {
    Configuration::new().sqlite("shop", "").offering(Fixture::default()).start().await
}

#[actix_web::test]
async fn what_the_server_asks_is_answered_over_the_pipes() {
    let app = fixture_app().await;
    let mut client = Launched::at(&app, &app.writer);
    client.shake_hands("2025-11-25", json!({"elicitation": {}})).await;
    client.request(json!(1), "tools/call", tool("test_elicitation", json!({"message": "Who?"})));
    let question = client.told("elicitation/create").await;
    assert_eq!(question["params"]["message"], "Who?");
    let result = json!({"action": "accept", "content": {"username": "ann"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    let answer = client.answer(&json!(1)).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("accept") && text.contains("ann"), "{text}");
    // A stream that the service closes before its answer, to be taken up again.
    let resumed = client.ask(json!(2), "tools/call", tool("test_reconnection", json!({}))).await;
    assert!(resumed["result"].is_object(), "{resumed}");
    client.close().await;
}

#[actix_web::test]
async fn changes_are_told_in_both_eras() {
    const WATCHED: &str = "test://watched-resource";
    let app = fixture_app().await;
    let mut session = Launched::in_session(&app, &app.writer, "2025-06-18").await;
    session.ask(json!(1), "resources/subscribe", json!({"uri": WATCHED})).await;
    let mut listening = Launched::at(&app, &app.writer);
    let wanted = json!({"notifications": {"resourceSubscriptions": [WATCHED], "toolsListChanged": true}});
    listening.request(json!("l"), "subscriptions/listen", alone(wanted));
    let honoured = listening.told("notifications/subscriptions/acknowledged").await;
    assert_eq!(honoured["params"]["notifications"]["resourceSubscriptions"], json!([WATCHED]), "{honoured}");
    // The stream of a session is opened beside its requests.
    eventually("the session to listen", async || !app.endings("listen").is_empty()).await;
    for (trigger, method) in [
        ("test_trigger_resource_change", "notifications/resources/updated"),
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
    ] {
        let answer = session.ask(json!(trigger), "tools/call", tool(trigger, json!({}))).await;
        assert!(answer["result"].is_object(), "{answer}");
        session.told(method).await;
        let told = listening.told(method).await;
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l", "{told}");
    }
    // A stream that is called off is told nothing more, and holds up no end.
    listening.notify("notifications/cancelled", json!({"requestId": "l"}));
    let pong = listening.ask_alone(json!(2), "tools/list", json!({})).await;
    assert!(pong["result"].is_object(), "{pong}");
    listening.close().await;
    session.close().await;
}

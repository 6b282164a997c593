//! What the transport does for things that a configured connection does not offer: questions to the
//! client, several rounds, watched resources. The conformance suite looks at their form.

use serde_json::{Value, json};

use crate::conformance_fixture::Fixture;
use crate::support::app::{Caller, TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::mcp::{Client, modern, request};
use crate::support::stream::Events;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const WATCHED: &str = "test://watched-resource";

async fn app() -> TestApp {
    Configuration::new().sqlite("shop", "").offering(Fixture::default()).start().await
}

pub(crate) async fn call(app: &TestApp, by: &Caller, params: Value) -> (u16, Value) {
    // What the helper declares is nothing; the body is written anew with everything.
    let mut body = params.clone();
    body["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    body["_meta"][CAPABILITIES] = json!({"elicitation": {}});
    let asked = modern(app, by, &json!(1), "tools/call", params).body(request(&json!(1), "tools/call", &body));
    read(asked.send().await.unwrap()).await
}

#[actix_web::test]
async fn a_state_is_good_for_its_principal_and_its_request_alone() {
    let app = app().await;
    let tool = |name: &str| json!({"name": name, "arguments": {}});
    let name = "test_input_required_result_request_state";
    let (_, first) = call(&app, &app.writer, tool(name)).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let answered = |name: &str| {
        let mut params = tool(name);
        params["requestState"] = first["result"]["requestState"].clone();
        params["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
        params
    };
    let (_, second) = call(&app, &app.writer, answered(name)).await;
    assert_eq!(second["result"]["content"][0]["text"], "state-ok", "{second}");
    for (by, name) in [(&app.reader, name), (&app.writer, "test_input_required_result_tampered_state")] {
        let (status, refused) = call(&app, by, answered(name)).await;
        assert_eq!((status, &refused["error"]["code"]), (200, &json!(-32602)), "{refused}");
    }
    let mut other = answered(name);
    other["arguments"] = json!({"more": 1});
    assert_eq!(call(&app, &app.writer, other).await.1["error"]["code"], -32602);
    let (status, refused) = call(&app, &app.writer, tool("test_missing_capability")).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32021)));
    assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
}

#[actix_web::test]
async fn a_question_is_answered_in_its_own_session_alone() {
    let app = app().await;
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}
    });
    let begun = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
    let begun = begun.body(request(&json!(0), "initialize", &params)).send().await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let client = Client { app: &app, by: &app.writer, session };
    let other = Client::begin(&app, &app.writer, "2025-06-18").await;
    let asked = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
    let mut events = Events::new(client.ask(json!(1), "tools/call", asked.clone()).await);
    let question = events.message().await;
    assert_eq!((&question["method"], &question["params"]["message"]), (&json!("elicitation/create"), &json!("Who?")));
    let answer = |name: &str| {
        let result = json!({"action": "accept", "content": {"username": name}});
        json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
    };
    assert_eq!(other.post(answer("nobody")).await.status(), 202);
    assert_eq!(client.post(answer("ann")).await.status(), 202);
    let result = events.message().await;
    assert_eq!(result["id"], 1);
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("accept") && text.contains("ann"), "{text}");
    let (_, refused) = read(other.ask(json!(2), "tools/call", asked).await).await;
    assert_eq!(refused["result"]["isError"], true, "a client that did not declare it is not asked: {refused}");
}

#[actix_web::test]
async fn who_watches_a_resource_is_told_when_it_changes_and_nobody_else() {
    let app = app().await;
    let watching = Client::begin(&app, &app.writer, "2025-06-18").await;
    let other = Client::begin(&app, &app.writer, "2025-06-18").await;
    let subscribed = read(watching.ask(json!(1), "resources/subscribe", json!({"uri": WATCHED})).await).await;
    assert_eq!(subscribed.1["result"], json!({}));
    let unknown = read(watching.ask(json!(2), "resources/subscribe", json!({"uri": "test://none"})).await).await;
    assert_eq!(unknown.1["error"]["code"], -32002);
    let (mut told, mut untold) = (Events::new(watching.get(None).await), Events::new(other.get(None).await));
    let wanted = json!({"notifications": {"resourceSubscriptions": [WATCHED, "test://none"]}});
    let listen = modern(&app, &app.writer, &json!("s"), "subscriptions/listen", wanted).send().await.unwrap();
    let mut listening = Events::new(listen);
    let acknowledged = listening.message().await;
    assert_eq!(acknowledged["params"]["notifications"], json!({"resourceSubscriptions": [WATCHED]}));
    let trigger = |tool: &str| call(&app, &app.writer, json!({"name": tool, "arguments": {}}));
    assert_eq!(trigger("test_trigger_resource_change").await.0, 200);
    for events in [&mut told, &mut listening] {
        let updated = events.message().await;
        assert_eq!(updated["method"], "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], WATCHED);
    }
    // Only now: of two changes at once the list is told first.
    assert_eq!(trigger("test_trigger_tool_change").await.0, 200);
    assert_eq!(untold.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(told.message().await["method"], "notifications/tools/list_changed");
    // It comes with the next change, and not again for the old one.
    watching.ask(json!(3), "resources/unsubscribe", json!({"uri": WATCHED})).await;
    for tool in ["test_trigger_resource_change", "test_trigger_tool_change"] {
        trigger(tool).await;
    }
    assert_eq!(told.message().await["method"], "notifications/tools/list_changed");
}

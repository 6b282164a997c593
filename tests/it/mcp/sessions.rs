//! Sessions of the 2025 revisions: whose they are, how they end, what is cancelled in them, and
//! batches, which one of the revisions has.

use portico_actors::error::Kind;
use portico_actors::event::Event;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::app::{OTHER, eventually, read};
use crate::support::fixture;
use crate::support::mcp::{BOTH, Client, ENDLESS, at_the_address_of_all, request, select};
use crate::support::stream::Events;

async fn text(response: Response) -> (u16, String) {
    (response.status().as_u16(), response.text().await.unwrap())
}

#[actix_web::test]
async fn a_session_serves_its_holder_until_it_is_ended() {
    let app = fixture::two_connections().await;
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    assert!(client.session.len() >= 32 && client.session.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(
        read(client.ask(json!(1), "ping", json!({})).await).await,
        (200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
    );
    // Another principal, and the same one at another connection: the id alone opens nothing.
    let stranger = Client { app: &app, by: &app.reader, session: client.session.clone() };
    for method in ["ping", "tools/list"] {
        let (status, body) = read(stranger.ask(json!(1), method, json!({})).await).await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (404, &json!(1300), &Value::Null));
    }
    assert_eq!((stranger.get(None).await.status().as_u16(), stranger.delete().await), (404, 404));
    let elsewhere =
        app.http.post(format!("{}/mcp/connections/{OTHER}", app.url)).header("content-type", "application/json");
    let elsewhere =
        elsewhere.basic_auth(&app.writer.name, Some(&app.writer.secret)).header("mcp-session-id", &client.session);
    assert_eq!(elsewhere.body(request(&json!(1), "ping", &json!({}))).send().await.unwrap().status(), 404);
    // None of that has hurt it.
    assert_eq!(client.ask(json!(2), "tools/list", json!({})).await.status(), 200);
    assert_eq!(client.delete().await, 204);
    assert_eq!(client.delete().await, 404);
    assert_eq!(client.ask(json!(3), "ping", json!({})).await.status(), 404);
    let late = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(client.post(late).await.status(), 404);
    // A new handshake is answered whatever stands in the header.
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let again = client.ask(json!(4), "initialize", params).await;
    assert_ne!(again.headers()["mcp-session-id"].to_str().unwrap(), client.session);
}

#[actix_web::test]
async fn a_principal_has_a_bounded_number_of_sessions() {
    let app = fixture::on_sqlite().await;
    let first = Client::begin(&app, &app.writer, "2025-06-18").await;
    let stream = Events::new(first.get(None).await);
    let second = Client::begin(&app, &app.writer, "2025-06-18").await;
    let other = Client::begin(&app, &app.reader, "2025-06-18").await;
    for _ in 0..63 {
        Client::begin(&app, &app.writer, "2025-06-18").await;
    }
    assert_eq!(second.ask(json!(1), "ping", json!({})).await.status(), 404, "the oldest that is idle goes");
    assert_eq!(first.ask(json!(1), "ping", json!({})).await.status(), 200, "a session with an open stream is in use");
    assert_eq!(other.ask(json!(1), "ping", json!({})).await.status(), 200, "another's sessions do not count");
    drop(stream);
}

#[actix_web::test]
async fn a_stream_of_a_cancelled_call_ends_without_a_response() {
    let app = fixture::with_sqlite("pool = 1").await;
    let client = Client::begin(&app, &app.writer, "2025-06-18").await;
    let bystander = Client::begin(&app, &app.writer, "2025-06-18").await;
    let mut events = Events::new(client.ask(json!("long"), "tools/call", select(ENDLESS, &json!(1))).await);
    events.message().await;
    client.notify("notifications/cancelled", json!({"requestId": "unknown"})).await;
    client.notify("notifications/cancelled", json!({})).await;
    bystander.notify("notifications/cancelled", json!({"requestId": "long"})).await;
    events.message().await;
    client.notify("notifications/cancelled", json!({"requestId": "long", "reason": "enough"})).await;
    for message in events.rest().await {
        assert_eq!(message["method"], "notifications/progress", "a cancelled request was answered");
    }
    assert_eq!(
        app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"],
        false,
        "the session is free"
    );
}

#[actix_web::test]
async fn a_cancelled_call_without_a_stream_is_202_without_a_body() {
    let app = fixture::with_sqlite("pool = 1").await;
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    let params = json!({"name": "execute_select", "arguments": {"query": ENDLESS}});
    let built = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
    let built = built.header("mcp-session-id", &client.session).header("accept", BOTH);
    let running = tokio::spawn(built.body(request(&json!(1), "tools/call", &params)).send());
    eventually("the end of the call", async || {
        client.notify("notifications/cancelled", json!({"requestId": 1})).await;
        running.is_finished()
    })
    .await;
    assert_eq!(text(running.await.unwrap().unwrap()).await, (202, String::new()));
    assert_eq!(app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"], false);
    let abandoned = |event: &Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::Abandoned));
    eventually("the abandoned call", async || app.told(abandoned)).await;
}

#[actix_web::test]
async fn the_end_of_a_session_cancels_what_runs_in_it() {
    let app = fixture::with_sqlite("pool = 1").await;
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    let mut events = Events::new(client.ask(json!(1), "tools/call", select(ENDLESS, &json!(1))).await);
    events.next().await.unwrap();
    assert_eq!(client.delete().await, 204);
    for message in events.rest().await {
        assert_eq!(message["method"], "notifications/progress");
    }
    assert_eq!(app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"], false);
}

fn element(id: i32, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

#[actix_web::test]
async fn batches_belong_to_one_revision() {
    let app = fixture::on_sqlite().await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let client = Client::begin(&app, &app.writer, "2025-03-26").await;
    let mixed = json!([element(1, "ping"), initialized, 7, element(2, "no/such"), element(3, "initialize"),
        {"jsonrpc": "2.0", "id": 9, "result": {}}, element(4, "tools/list")]);
    let (status, body) = read(client.post(mixed.to_string()).await).await;
    assert_eq!(status, 200);
    let seen: Vec<_> =
        body.as_array().unwrap().iter().map(|it| (it["id"].clone(), it["error"]["code"].clone())).collect();
    assert_eq!(
        seen,
        [
            (json!(1), Value::Null),
            (Value::Null, json!(-32600)),
            (json!(2), json!(-32601)),
            (json!(3), json!(-32600)),
            (json!(4), Value::Null),
        ]
    );
    assert_eq!(text(client.post(json!([initialized, initialized]).to_string()).await).await, (202, String::new()));
    let many: Vec<Value> = (0..101).map(|id| element(id, "ping")).collect();
    for wrong in ["[]".to_owned(), json!(many).to_string()] {
        let (status, body) = read(client.post(wrong).await).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)));
    }
    assert_eq!(read(client.post("[{]".to_owned()).await).await.1["error"]["code"], -32700);
    // Refused for want of scope: with the others' answers on their way there is no status for it.
    let reader = Client::begin(&app, &app.reader, "2025-03-26").await;
    let insert =
        json!({"name": "execute_insert", "arguments": {"query": "INSERT INTO customers VALUES (9, 'x', NULL)"}});
    let mut call = element(1, "tools/call");
    call["params"] = insert;
    let (status, body) = read(reader.post(json!([call]).to_string()).await).await;
    assert_eq!((status, &body[0]["result"]["isError"]), (200, &json!(true)), "{body}");
    for version in ["2025-06-18", "2025-11-25"] {
        let newer = Client::begin(&app, &app.writer, version).await;
        let (status, body) = read(newer.post(json!([element(1, "ping")]).to_string()).await).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)), "{version}");
    }
    let gone = Client { app: &app, by: &app.writer, session: "gone".to_owned() };
    assert_eq!(gone.post(json!([element(1, "ping")]).to_string()).await.status(), 404);
    for (version, status) in [("2025-03-26", 200), ("2025-06-18", 400), ("2026-07-28", 400)] {
        let built = app.http.post(app.mcp_url()).header("content-type", "application/json");
        let built =
            built.basic_auth(&app.writer.name, Some(&app.writer.secret)).header("mcp-protocol-version", version);
        let response = built.body(json!([element(1, "ping")]).to_string()).send().await.unwrap();
        assert_eq!(response.status(), status, "{version}, without a session");
    }
}

at_the_address_of_all! {
    a_principal_has_a_bounded_number_of_sessions
    a_stream_of_a_cancelled_call_ends_without_a_response
    a_cancelled_call_without_a_stream_is_202_without_a_body
    the_end_of_a_session_cancels_what_runs_in_it
    batches_belong_to_one_revision
}

//! Answers of 2025-11-25 whose stream broke off, and clients that take them up again.

use portico_actors::auth::records::NewPat;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, Caller, TestApp, read, within};
use crate::support::configuration::{Configuration, connection};
use crate::support::fixture;
use crate::support::mcp::{BOTH, Client, ENDLESS, at_the_address_of_all, request, select};
use crate::support::stream::Events;

/// A query with one row, which takes some time.
const LONG: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000) SELECT count(*) FROM n";

async fn begin(app: &TestApp) -> Client<'_> {
    Client::begin(app, &app.writer, "2025-11-25").await
}

#[actix_web::test]
async fn an_answer_begins_with_an_id_and_every_event_has_its_own() {
    let app = fixture::on_sqlite().await;
    let client = begin(&app).await;
    let mut seen = Vec::new();
    for id in 1..3 {
        let response = client.ask(json!(id), "tools/call", select("SELECT 1 AS n", &json!(id))).await;
        let mut events = Events::new(response);
        assert_eq!(
            events.next().await.map(|event| (event.data, event.id.map(|id| seen.push(id)))),
            Some((String::new(), Some(())))
        );
        let mut last = Value::Null;
        while let Some(event) = events.next().await {
            seen.push(event.id.unwrap());
            last = serde_json::from_str(&event.data).unwrap();
        }
        assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(id), &json!(false)));
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all, "an id was given twice");
    // Older revisions, and the same one without a session, have no ids.
    let older = Client::begin(&app, &app.writer, "2025-06-18").await;
    let mut events = Events::new(older.ask(json!(1), "tools/call", select("SELECT 1", &json!(1))).await);
    assert_eq!(events.next().await.unwrap().id, None);
}

#[actix_web::test]
async fn a_call_goes_on_without_its_stream_and_its_answer_is_repeated() {
    let app = fixture::with_sqlite("pool = 3").await;
    let client = begin(&app).await;
    let mut events = Events::new(client.ask(json!("long"), "tools/call", select(LONG, &json!(1))).await);
    let first = events.next().await.unwrap();
    drop(events);
    // A second call on the same session has a stream of its own, which is not repeated.
    let mut other = Events::new(client.ask(json!("other"), "tools/call", select("SELECT 2", &json!(2))).await);
    other.next().await.unwrap();
    let mut whole = Vec::new();
    let mut again = Events::new(client.get(first.id.as_deref()).await);
    while let Some(event) = again.next().await {
        whole.push(event);
    }
    let response: Value = serde_json::from_str(&whole.last().unwrap().data).unwrap();
    assert_eq!(
        (&response["id"], &response["result"]["structuredContent"]["rows"]),
        (&json!("long"), &json!([[4_000_000]]))
    );
    for event in &whole[..whole.len() - 1] {
        let message: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(message["params"]["progressToken"], 1, "another stream's message was repeated");
    }
    // It is kept for a while: only what comes behind the event named is repeated.
    let before = &whole[whole.len() - 2];
    let mut last = Events::new(client.get(before.id.as_deref()).await);
    assert_eq!(last.next().await.as_ref(), whole.last());
    assert_eq!(last.next().await, None);
}

#[actix_web::test]
async fn what_cannot_be_taken_up_again_is_refused_without_ending_the_session() {
    let app = fixture::on_sqlite().await;
    let (client, other) = (begin(&app).await, begin(&app).await);
    let mut events = Events::new(client.ask(json!(1), "tools/call", select("SELECT 1", &json!(1))).await);
    let id = events.next().await.unwrap().id.unwrap();
    for (client, last) in [(&client, "nonsense"), (&client, "999-1"), (&other, id.as_str())] {
        let (status, body) = read(client.get(Some(last)).await).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(1000)), "{last}");
        assert!(body["error"]["message"].as_str().unwrap().contains("Last-Event-ID"), "{body}");
    }
    assert_eq!(client.ask(json!(2), "ping", json!({})).await.status(), 200);
}

/// What it did is done: whoever is told to call again does it twice.
#[actix_web::test]
async fn an_answer_made_under_other_settings_is_not_repeated_and_nobody_is_told_to_call_again() {
    let url = fixture::postgres().await;
    let service = Configuration::new().connection("shop", &url, "").serve().await;
    let path = format!("/mcp/connections/{CONNECTION}");
    let post = |body: String| service.post(&path).header("content-type", "application/json").body(body);
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begun = post(request(&json!(0), "initialize", &hello)).header("accept", BOTH).send().await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let call = request(&json!(1), "tools/call", &select("SELECT name FROM customers", &json!(1)));
    let call = post(call).header("accept", BOTH).header("mcp-session-id", &session).send().await.unwrap();
    let first = Events::new(call).next().await.unwrap().id.unwrap();
    let resume = async || {
        let get = service.get(&path).header("accept", "text/event-stream").header("mcp-session-id", &session);
        get.header("last-event-id", &first).send().await.unwrap()
    };
    let mut again = Events::new(resume().await);
    while again.next().await.is_some() {}
    service.configure("", &connection(CONNECTION, "shop", &url, "[connections.hidden]\ntables = [\"customers\"]\n"));
    let (done, said) = service.reload().await;
    assert!(done, "{said}");
    let (status, body) = read(resume().await).await;
    let message = body["error"]["message"].as_str().unwrap();
    assert!(status == 400 && message.contains("look at what it did"), "{status} {body}");
}

#[actix_web::test]
async fn a_call_without_a_stream_can_still_be_cancelled() {
    let app = fixture::with_sqlite("pool = 1").await;
    let client = begin(&app).await;
    let mut events = Events::new(client.ask(json!(1), "tools/call", select(ENDLESS, &json!(1))).await);
    let first = events.next().await.unwrap();
    drop(events);
    client.notify("notifications/cancelled", json!({"requestId": 1})).await;
    assert_eq!(app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"], false);
    // Its stream holds no response: it was cancelled. A client that looks for it is told so: an empty stream would have
    // it come again and again.
    let mut last = first.id;
    loop {
        let again = client.get(last.as_deref()).await;
        if again.status() == 400 {
            break;
        }
        let mut events = Events::new(again);
        while let Some(event) = events.next().await {
            let message: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(message["method"], "notifications/progress");
            last = event.id;
        }
    }
}

#[actix_web::test]
async fn an_answer_is_only_read_on_as_long_as_its_reader_is_let_in() {
    let app = fixture::with_server("max_streams = 1", "pool = 2").await;
    let client = begin(&app).await;
    let mut events = Events::new(client.ask(json!("long"), "tools/call", select(ENDLESS, &json!(1))).await);
    let first = events.next().await.unwrap();
    drop(events);
    let (pat, secret) = app.store().create_pat(&app.writer.name, NewPat::default()).unwrap();
    let by = Caller { name: app.writer.name.clone(), secret: secret.expose_secret().to_owned() };
    let other = Client { app: &app, by: &by, session: client.session.clone() };
    let reading = Events::new(other.get(first.id.as_deref()).await);
    let (status, body) = read(other.get(first.id.as_deref()).await).await;
    assert_eq!((status, &body["error"]["code"]), (429, &json!(1600)), "it is one of the principal's streams: {body}");
    app.store().revoke_pat(&pat.id.to_string()).unwrap();
    // It would have no end: whoever began the answer is let in still.
    for message in within("the end of the stream", reading.rest()).await {
        assert_eq!(message["method"], "notifications/progress");
    }
    client.notify("notifications/cancelled", json!({"requestId": "long"})).await;
}

at_the_address_of_all! {
    an_answer_is_only_read_on_as_long_as_its_reader_is_let_in
    an_answer_begins_with_an_id_and_every_event_has_its_own
    a_call_goes_on_without_its_stream_and_its_answer_is_repeated
    what_cannot_be_taken_up_again_is_refused_without_ending_the_session
    a_call_without_a_stream_can_still_be_cancelled
}

//! Calls that tell of their progress, and clients that leave while a call runs.

use portico_actors::error::Kind;
use serde_json::{Value, json};

use crate::support::app::{Caller, TestApp, eventually, read};
use crate::support::fixture;
use crate::support::mcp::{BOTH, ENDLESS, at_the_address_of_all, modern, request, select};
use crate::support::stream::Events;

fn call(app: &TestApp, by: &Caller, accept: &str, params: &Value) -> reqwest::RequestBuilder {
    let built = app.mcp_request().basic_auth(&by.name, Some(&by.secret)).header("accept", accept);
    built.body(request(&json!("c"), "tools/call", params))
}

/// Asserts that `messages` are progress under `token` and then one response; gives the response.
fn told(mut messages: Vec<Value>, token: &Value) -> Value {
    let response = messages.pop().unwrap();
    assert!(!messages.is_empty(), "no progress was told");
    let mut last = 0.0;
    for message in &messages {
        assert_eq!((&message["jsonrpc"], &message["method"]), (&json!("2.0"), &json!("notifications/progress")));
        assert!(message.get("id").is_none());
        assert_eq!(&message["params"]["progressToken"], token);
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{messages:?}");
        last = progress;
    }
    response
}

#[actix_web::test]
async fn a_call_with_a_token_tells_of_its_progress_and_then_answers() {
    let app = fixture::on_sqlite().await;
    let query = "SELECT id FROM customers ORDER BY id";
    for token in [json!("t"), json!(7)] {
        let sessions = call(&app, &app.writer, BOTH, &select(query, &token)).send().await.unwrap();
        let stateless =
            modern(&app, &app.writer, &json!("c"), "tools/call", select(query, &token)).send().await.unwrap();
        for response in [sessions, stateless] {
            let messages = Events::new(response).rest().await;
            let last = messages[messages.len() - 2]["params"]["message"].as_str().unwrap().to_owned();
            assert!(last.starts_with("3 rows read, "), "{last}");
            let response = told(messages, &token);
            assert_eq!(response["id"], "c");
            assert_eq!(response["result"]["structuredContent"]["rows"], json!([[1], [2], [3]]));
        }
    }
}

#[actix_web::test]
async fn without_a_token_or_a_client_that_takes_streams_there_is_one_answer() {
    let app = fixture::on_sqlite().await;
    let asked = select("SELECT 1 AS n", &json!(1));
    let mut silent = asked.clone();
    silent.as_object_mut().unwrap().remove("_meta");
    let odd = select("SELECT 1 AS n", &json!(1.5));
    for (accept, params) in [("application/json", &asked), (BOTH, &silent), (BOTH, &odd)] {
        let (status, body) = read(call(&app, &app.writer, accept, params).send().await.unwrap()).await;
        assert_eq!((status, &body["result"]["structuredContent"]["rows"]), (200, &json!([[1]])), "{accept} {params}");
    }
    // Taking anything is taking a stream, when one is due.
    let any = call(&app, &app.writer, "*/*", &asked).send().await.unwrap();
    told(Events::new(any).rest().await, &json!(1));
}

#[actix_web::test]
async fn a_failure_with_a_status_of_its_own_is_no_stream() {
    let app = fixture::on_sqlite().await;
    let mut insert = select("INSERT INTO customers VALUES (9, 'x', NULL)", &json!(1));
    insert["name"] = json!("execute_insert");
    let refused = call(&app, &app.reader, BOTH, &insert).send().await.unwrap();
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().contains("insufficient_scope"));
    assert_eq!(read(refused).await.0, 403);
    let mismatch = modern(&app, &app.writer, &json!(1), "tools/call", select("SELECT 1", &json!(1)));
    let (status, body) = read(mismatch.header("mcp-name", "twice").send().await.unwrap()).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32020)));
    // What the agent can mend comes as the call's result, and so on the stream.
    let wrong = call(&app, &app.writer, BOTH, &select("SELEC 1", &json!(1))).send().await.unwrap();
    assert_eq!(told(Events::new(wrong).rest().await, &json!(1))["result"]["isError"], true);
}

#[actix_web::test]
async fn a_silent_call_tells_that_it_is_alive_and_ends_when_its_client_leaves() {
    let app = fixture::with_sqlite("pool = 1").await;
    for stateless in [true, false] {
        let asked = select(ENDLESS, &json!("t"));
        let built = if stateless {
            modern(&app, &app.writer, &json!(1), "tools/call", asked)
        } else {
            call(&app, &app.writer, BOTH, &asked)
        };
        let mut events = Events::new(built.send().await.unwrap());
        let (first, second) = (events.message().await, events.message().await);
        assert!(first["params"]["progress"].as_f64().unwrap() < second["params"]["progress"].as_f64().unwrap());
        assert!(first["params"]["message"].as_str().unwrap().starts_with("no rows yet, "), "{first}");
        drop(events);
        // The only session of the source is free again: the statement was stopped there.
        assert_eq!(app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"], false);
    }
    // A call that was left is told of when it has been cleared away, which may be after the next one's answer.
    let expected = [None, None, Some(Kind::Abandoned), Some(Kind::Abandoned)];
    eventually("the ends of all calls", async || {
        let mut ended = app.endings("execute_select");
        ended.sort_by_key(Option::is_some);
        ended == expected
    })
    .await;
}

#[actix_web::test]
async fn a_call_that_is_answered_at_once_ends_too_when_its_client_leaves() {
    let app = fixture::with_sqlite("pool = 1\nqueue = 0").await;
    let silent = json!({"name": "execute_select", "arguments": {"query": ENDLESS}});
    let running = call(&app, &app.writer, BOTH, &silent);
    let running = tokio::spawn(async move {
        // The one place may be taken by who looks whether it is.
        while read(running.try_clone().unwrap().send().await.unwrap()).await.1["result"]["isError"] == true {}
    });
    let busy = async || app.tool("execute_select", json!({"query": "SELECT 1 AS n"})).await["isError"] == true;
    // There is one place, and it is taken while the statement runs.
    eventually("a busy connection", async || busy().await).await;
    running.abort();
    eventually("a free connection", async || !busy().await).await;
    eventually("the abandoned call", async || app.endings("execute_select").contains(&Some(Kind::Abandoned))).await;
}

at_the_address_of_all! {
    a_call_with_a_token_tells_of_its_progress_and_then_answers
    without_a_token_or_a_client_that_takes_streams_there_is_one_answer
    a_failure_with_a_status_of_its_own_is_no_stream
    a_silent_call_tells_that_it_is_alive_and_ends_when_its_client_leaves
    a_call_that_is_answered_at_once_ends_too_when_its_client_leaves
}

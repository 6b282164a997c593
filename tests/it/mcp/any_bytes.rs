//! Whatever a client posts, it gets a well-formed answer, or 202 and nothing.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::mcp::{BOTH, Client};

/// Bytes, and things that come nearer and nearer to a message.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let id = "1|-7|null|2\\.5|\"a\"|\\{\\}|99999999999999999999999";
    let method = "\"(ping|tools/list|tools/call|initialize|subscriptions/listen|notifications/cancelled|x)\"|7";
    let params = "\\{\\}|\\[\\]|null|\\{\"name\":\"get_catalogs\"\\}|\\{\"_meta\":\\{\"progressToken\":1\\}\\}|\\{\"_meta\":5\\}";
    let object = (id, method, params).prop_map(|(id, method, params)| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
    });
    let object = object.boxed();
    let several = proptest::collection::vec(object.clone(), 0..4).prop_map(|all| format!("[{}]", all.join(",")));
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        "[\\[\\]{}\",:0-9a-z ]{0,40}".prop_map(String::into_bytes),
        (object.clone(), 0..40_usize).prop_map(|(text, end)| text.into_bytes()[..end].to_vec()),
        object.prop_map(String::into_bytes),
        several.prop_map(String::into_bytes),
    ]
}

fn well_formed(body: &Value) -> bool {
    let one = |body: &Value| {
        body["jsonrpc"] == "2.0"
            && body.as_object().is_some_and(|body| body.contains_key("id"))
            && (body["error"]["code"].is_i64() && body["error"]["message"].is_string()) != body["result"].is_object()
    };
    body.as_array().map_or_else(|| one(body), |all| !all.is_empty() && all.iter().all(one))
}

async fn check(app: &TestApp, sessions: &[Client<'_>; 2], body: Vec<u8>) {
    let shown = String::from_utf8_lossy(&body).into_owned();
    for session in std::iter::once(None).chain(sessions.iter().map(Some)) {
        let built = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
        let built = match session {
            Some(session) => built.header("mcp-session-id", &session.session).header("accept", BOTH),
            None => built.header("accept", "application/json"),
        };
        let response = built.body(body.clone()).send().await.unwrap();
        let (status, kind) = (response.status().as_u16(), response.headers().get("content-type").cloned());
        let text = response.text().await.unwrap();
        if status == 202 {
            assert_eq!(text, "", "{shown}");
            continue;
        }
        assert!(status == 200 || status == 400, "{status}: {shown}");
        let stream = kind.is_some_and(|kind| kind == "text/event-stream");
        let last = if stream { text.trim_end().rsplit("data: ").next().unwrap_or_default() } else { text.as_str() };
        let answer: Value = serde_json::from_str(last).unwrap_or_default();
        assert!(well_formed(&answer), "{shown:?} was answered {status} {text:?}");
    }
}

#[actix_web::test]
async fn any_bytes_are_answered_in_form_or_taken_without_an_answer() {
    let app = fixture::on_sqlite().await;
    let sessions =
        [Client::begin(&app, &app.writer, "2025-03-26").await, Client::begin(&app, &app.writer, "2025-11-25").await];
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    for _ in 0..256 {
        let body = bodies().new_tree(&mut runner).unwrap().current();
        check(&app, &sessions, body).await;
    }
    // The service is as it was.
    let (status, body) = app.mcp(&app.writer, "ping", json!({})).await;
    assert_eq!((status, &body["result"]), (200, &json!({})));
    assert_eq!(app.http.get(format!("{}/healthz", app.url)).send().await.unwrap().status(), 200);
}

//! Log messages to clients: for a session (`logging/setLevel`), and for one request of 2026-07-28.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::mcp::{Client, at_the_address_of_all, modern, request};
use crate::support::postgres::connect;
use crate::support::stream::Events;

const LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn select(query: &str) -> Value {
    json!({"name": "execute_select", "arguments": {"query": query, "parameters": {"@secret": "s3cr3t"}}})
}

/// Levels and texts of the messages before a response, which is the last.
fn told(messages: &[Value]) -> Vec<(String, String)> {
    let (response, before) = messages.split_last().unwrap();
    assert!(response.get("result").is_some(), "{response}");
    before
        .iter()
        .map(|message| {
            assert_eq!((&message["method"], message.get("id")), (&json!("notifications/message"), None));
            assert_eq!(message["params"]["logger"], "portico.shop");
            assert!(!message.to_string().contains("s3cr3t"), "{message}");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&message["params"]["level"]), text(&message["params"]["data"]["message"]))
        })
        .collect()
}

async fn asked(app: &TestApp, level: &str, params: Value) -> reqwest::Response {
    let mut params = params;
    params["_meta"] = json!({LEVEL: level});
    modern(app, &app.writer, &json!(1), "tools/call", params).send().await.unwrap()
}

#[actix_web::test]
async fn a_session_hears_from_the_level_that_it_sets_and_no_other_does() {
    let app = fixture::on_sqlite().await;
    let (client, other) =
        (Client::begin(&app, &app.writer, "2025-06-18").await, Client::begin(&app, &app.writer, "2025-06-18").await);
    let call = select("SELECT 1 WHERE @secret <> ''");
    assert_eq!(read(client.ask(json!(1), "tools/call", call.clone()).await).await.0, 200, "nobody asked for messages");
    for wrong in [json!({"level": "loud"}), json!({"level": 3}), json!({})] {
        let (status, body) = read(client.ask(json!(2), "logging/setLevel", wrong).await).await;
        assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)), "{body}");
    }
    for (level, heard) in [("error", false), ("debug", true), ("warning", false), ("info", true)] {
        let (_, body) = read(client.ask(json!(3), "logging/setLevel", json!({"level": level})).await).await;
        assert_eq!(body["result"], json!({}));
        let response = client.ask(json!(4), "tools/call", call.clone()).await;
        if heard {
            let messages = told(&Events::new(response).rest().await);
            assert_eq!(messages.len(), 1, "{messages:?}");
            assert_eq!(messages[0].0, "info");
            assert!(messages[0].1.starts_with("execute_select ended: 1 rows in "), "{messages:?}");
        } else {
            assert_eq!(read(response).await.1["id"], 4, "{level}");
        }
    }
    assert_eq!(read(other.ask(json!(1), "tools/call", call).await).await.0, 200, "the level is another session's");
    let (status, body) = app.mcp(&app.writer, "logging/setLevel", json!({"level": "info"})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)), "without a session nothing keeps it");
}

#[actix_web::test]
async fn a_session_whose_call_does_not_stream_hears_on_its_listening_stream() {
    let app = fixture::on_sqlite().await;
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    client.ask(json!(1), "logging/setLevel", json!({"level": "info"})).await;
    let mut get = Events::new(client.get(None).await);
    assert_eq!(get.next().await.unwrap().data, "", "the first event only gives an id");
    let body = request(&json!(2), "tools/call", &select("SELECT 1 WHERE @secret <> ''"));
    let built = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
    let built = built.header("mcp-session-id", &client.session).header("accept", "application/json");
    assert_eq!(read(built.body(body).send().await.unwrap()).await.1["id"], 2);
    let message = get.message().await;
    assert_eq!((&message["method"], &message["params"]["level"]), (&json!("notifications/message"), &json!("info")));
}

#[actix_web::test]
async fn one_request_hears_on_its_own_stream_from_the_level_that_it_names() {
    let app = fixture::on_sqlite().await;
    let call = || select("SELECT 1 WHERE @secret <> ''");
    assert_eq!(told(&Events::new(asked(&app, "info", call()).await).rest().await).len(), 1);
    let (status, body) = read(asked(&app, "warning", call()).await).await;
    assert_eq!((status, &body["id"]), (200, &json!(1)), "nothing is to be told, so it is one answer");
    let (status, body) = read(asked(&app, "loud", call()).await).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    let silent = modern(&app, &app.writer, &json!(1), "tools/call", call()).send().await.unwrap();
    assert_eq!(read(silent).await.1["id"], 1, "nothing is told to a request that does not ask");
    let failing = told(&Events::new(asked(&app, "error", select("SELECT @secret FROM nowhere")).await).rest().await);
    assert_eq!(failing[0].0, "error");
    assert!(failing[0].1.starts_with("execute_select failed after "), "{failing:?}");
    let mut many = select("SELECT 1 WHERE @secret <> '' UNION ALL SELECT 2 UNION ALL SELECT 3");
    many["arguments"]["maxRows"] = json!(2);
    let cut = told(&Events::new(asked(&app, "warning", many).await).rest().await);
    assert_eq!(cut, [("warning".to_owned(), "the result was cut at 2 rows, the cap of this call".to_owned())]);
}

#[actix_web::test]
async fn what_the_source_says_is_told_while_it_says_it() {
    let url = fixture::postgres().await;
    let work = "CREATE FUNCTION work(word text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN \
                RAISE DEBUG 'looked'; RAISE NOTICE 'half way'; RAISE WARNING 'nearly' USING HINT = 'wait'; RETURN 7; END $$";
    connect(&url).await.batch_execute(work).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let call = || json!({"name": "execute_sql", "arguments": {"query": "SELECT work('x')"}});
    let levels = |messages: Vec<Value>| told(&messages).into_iter().map(|(level, _)| level).collect::<Vec<_>>();
    let messages = Events::new(asked(&app, "notice", call()).await).rest().await;
    assert_eq!(messages[0]["params"]["data"], json!({"message": "half way", "sqlState": "00000"}));
    assert_eq!(messages[1]["params"]["data"]["hint"], "wait");
    assert_eq!(levels(messages), ["notice", "warning"]);
    assert_eq!(levels(Events::new(asked(&app, "warning", call()).await).rest().await), ["warning"]);
    // The next caller of the same session at the source hears nothing of it.
    let silent = modern(&app, &app.writer, &json!(1), "tools/call", call()).send().await.unwrap();
    assert_eq!(read(silent).await.1["result"]["structuredContent"]["rows"], json!([[7]]));
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"customers\"]";
    let app = fixture::with_postgres(&url, hidden).await;
    assert_eq!(read(asked(&app, "warning", call()).await).await.1["id"], 1, "it might name what is hidden");
}

at_the_address_of_all! {
    a_session_hears_from_the_level_that_it_sets_and_no_other_does
    a_session_whose_call_does_not_stream_hears_on_its_listening_stream
    one_request_hears_on_its_own_stream_from_the_level_that_it_names
    what_the_source_says_is_told_while_it_says_it
}

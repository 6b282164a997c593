//! Streams that stay open: subscriptions of 2026-07-28, and GET streams of the 2025 revisions.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::app::{TestApp, eventually, read, within};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::{Client, at_the_address_of_all, modern};
use crate::support::stream::Events;

const PROCEDURE: &str = r#"[[connections.procedures]]
name = "one"
description = "The number one."
read_only = true
sql = "SELECT 1 AS n"
"#;

/// A service whose database is not there yet, and the file that it waits for: with it, the tool
/// `one` appears.
async fn waiting() -> (TestApp, PathBuf) {
    let app = Configuration::new().connection("shop", "sqlite:shop.db", PROCEDURE).start().await;
    let file = app.config.with_file_name("shop.db");
    (app, file)
}

fn create(file: &PathBuf) {
    rusqlite::Connection::open(file).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
}

async fn has_one(app: &TestApp) -> bool {
    let (_, body) = app.mcp(&app.writer, "tools/list", json!({})).await;
    body["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "one")
}

pub(crate) async fn listen(app: &TestApp, id: &Value, notifications: Value) -> Events {
    let asked = modern(app, &app.writer, id, "subscriptions/listen", json!({"notifications": notifications}));
    Events::new(asked.send().await.unwrap())
}

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[actix_web::test]
async fn a_subscription_is_acknowledged_told_of_changes_and_ended_with_its_result() {
    let (mut app, file) = waiting().await;
    let mut streams = Vec::new();
    for id in [json!("s"), json!(5)] {
        let asked = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"], "unknown": 1});
        let mut events = listen(&app, &id, asked).await;
        let first = events.message().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["_meta"][SUBSCRIPTION], id);
        assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}), "only what is served");
        streams.push((id, events));
    }
    assert!(!has_one(&app).await);
    create(&file);
    for (id, events) in &mut streams {
        let told = events.message().await;
        assert_eq!((&told["method"], told.get("id")), (&json!("notifications/tools/list_changed"), None));
        assert_eq!(&told["params"]["_meta"][SUBSCRIPTION], id);
    }
    assert!(has_one(&app).await, "it was told before it was so");
    app.stop();
    for (id, events) in streams {
        let rest = events.rest().await;
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_eq!((&rest[0]["id"], &rest[0]["result"]["resultType"]), (&id, &json!("complete")));
        assert_eq!(rest[0]["result"]["_meta"][SUBSCRIPTION], id);
        assert_eq!(rest[0]["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "portico");
    }
}

#[actix_web::test]
async fn who_listens_for_nothing_that_is_served_hears_nothing() {
    let (mut app, file) = waiting().await;
    let mut events = listen(&app, &json!(1), json!({"tasksListChanged": true})).await;
    assert_eq!(events.message().await["params"]["notifications"].get("toolsListChanged"), None);
    let mut others = listen(&app, &json!(2), json!({"toolsListChanged": true})).await;
    others.message().await;
    create(&file);
    others.message().await;
    app.stop();
    assert_eq!(events.rest().await.len(), 1, "only the result");
}

#[actix_web::test]
async fn a_subscription_needs_to_say_what_it_is_for_and_a_client_that_takes_streams() {
    let app = fixture::on_sqlite().await;
    let built = modern(&app, &app.writer, &json!(1), "subscriptions/listen", json!({}));
    let (status, body) = read(built.send().await.unwrap()).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    let built = modern(&app, &app.writer, &json!(1), "subscriptions/listen", json!({"notifications": {}}));
    let (client, built) = built.build_split();
    let mut built = built.unwrap();
    built.headers_mut().insert("accept", "application/json".parse().unwrap());
    assert_eq!(client.execute(built).await.unwrap().status(), 406);
    // It is a method of 2026-07-28 alone.
    let (status, body) = app.mcp(&app.writer, "subscriptions/listen", json!({"notifications": {}})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32601)));
}

#[actix_web::test]
async fn get_streams_are_told_of_changes_in_a_session_and_without_one() {
    let (mut app, file) = waiting().await;
    let session = {
        let client = Client::begin(&app, &app.writer, "2025-06-18").await;
        Events::new(client.get(None).await)
    };
    let alone = app.get(&app.mcp).header("accept", "text/event-stream");
    let alone = Events::new(alone.send().await.unwrap());
    create(&file);
    let mut streams = [session, alone];
    for events in &mut streams {
        let told = events.next().await.unwrap();
        assert_eq!(told.id, None, "this revision gives no first id to go on from");
        assert_eq!(told.data, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let told = events.next().await.unwrap();
        assert_eq!(told.data, r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#);
    }
    app.stop();
    for events in streams {
        assert_eq!(events.rest().await, Vec::<Value>::new(), "the stream simply ends");
    }
}

#[actix_web::test]
async fn messages_go_to_the_newest_get_stream_and_then_to_the_one_before() {
    let (app, file) = waiting().await;
    let client = Client::begin(&app, &app.writer, "2025-06-18").await;
    let mut older = Events::new(client.get(None).await);
    let mut newer = Events::new(client.get(None).await);
    create(&file);
    let lists = ["notifications/tools/list_changed", "notifications/resources/list_changed"];
    for list in lists {
        assert_eq!(newer.message().await["method"], list);
    }
    // Whether the newer one's client had read all of it, nobody knows.
    drop(newer);
    for list in lists {
        assert_eq!(within("what it missed", older.message()).await["method"], list);
    }
    assert_eq!(client.delete().await, 204);
    assert_eq!(older.rest().await, Vec::<Value>::new(), "it ends with its session");
}

#[actix_web::test]
async fn a_get_stream_that_broke_off_is_told_what_it_missed() {
    let (app, file) = waiting().await;
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    let mut events = Events::new(client.get(None).await);
    let first = events.next().await.unwrap();
    assert_eq!(first.data, "", "the first event only gives an id");
    drop(events);
    create(&file);
    eventually("a source with one table", async || has_one(&app).await).await;
    let mut again = Events::new(client.get(first.id.as_deref()).await);
    let primed = again.next().await.unwrap();
    let told = again.next().await.unwrap();
    assert!(told.data.contains("notifications/tools/list_changed"), "{told:?}");
    assert!(primed.id != first.id && told.id != primed.id, "ids are unique within the session");
    drop(again);
    // Of the two lists only the first was told of when the stream broke off again.
    let mut again = Events::new(client.get(told.id.as_deref()).await);
    assert_eq!(again.next().await.unwrap().data, "");
    let told = again.next().await.unwrap();
    assert!(told.data.contains("notifications/resources/list_changed"), "{told:?}");
    drop(again);
    // Nothing has changed since: the next thing is the end.
    let mut more = Events::new(client.get(told.id.as_deref()).await);
    assert_eq!(more.next().await.unwrap().data, "");
    assert_eq!(client.delete().await, 204);
    assert_eq!(more.next().await, None);
}

#[actix_web::test]
async fn a_table_that_comes_changes_or_goes_is_told_of_at_once() {
    let mut app = fixture::with_sqlite("access = \"read-write\"\n[connections.hidden]\ntables = [\"secret\"]").await;
    let mut events = listen(&app, &json!(1), json!({"resourcesListChanged": true})).await;
    assert_eq!(events.message().await["params"]["notifications"], json!({"resourcesListChanged": true}));
    for statement in [
        "CREATE TABLE later (a)",
        "ALTER TABLE later ADD COLUMN b",
        "CREATE VIEW w AS SELECT 1 AS n",
        "DROP TABLE later",
    ] {
        let done = app.tool("execute_sql", json!({"query": statement})).await;
        assert_eq!(done["isError"], false, "{done}");
        let told = events.message().await;
        assert_eq!(told["method"], "notifications/resources/list_changed", "{statement}");
        assert_eq!(told["params"]["_meta"][SUBSCRIPTION], 1);
    }
    app.stop();
    assert_eq!(events.rest().await.len(), 1, "only the result");
}

#[actix_web::test]
async fn who_takes_no_stream_is_told_that_this_answer_is_one() {
    let app = fixture::on_sqlite().await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let asked = modern(&app, &app.writer, &json!(1), "subscriptions/listen", params).build();
    let mut asked = asked.unwrap();
    asked.headers_mut().insert("accept", "application/json".parse().unwrap());
    let (status, body) = read(app.http.execute(asked).await.unwrap()).await;
    assert_eq!(status, 406);
    assert!(body["error"]["message"].as_str().unwrap().starts_with("Accept must allow text/event-stream"), "{body}");
}

at_the_address_of_all! {
    a_subscription_is_acknowledged_told_of_changes_and_ended_with_its_result
    who_listens_for_nothing_that_is_served_hears_nothing
    a_subscription_needs_to_say_what_it_is_for_and_a_client_that_takes_streams
    get_streams_are_told_of_changes_in_a_session_and_without_one
    messages_go_to_the_newest_get_stream_and_then_to_the_one_before
    a_get_stream_that_broke_off_is_told_what_it_missed
    a_table_that_comes_changes_or_goes_is_told_of_at_once
    who_takes_no_stream_is_told_that_this_answer_is_one
}

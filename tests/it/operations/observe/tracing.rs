//! The caller's trace on its way to the log and to the database, and `Server-Timing` on its way back.

use portico_actors::event::Event;
use serde_json::{Value, json};

use crate::support::app::{TestApp, eventually, read};
use crate::support::fixture;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// What the database sees of the statement that asks.
const ASK: &str = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()";

/// The traces of the calls that have ended.
fn traces(app: &TestApp) -> Vec<Option<String>> {
    let events = app.events.lock().unwrap();
    let trace = |event: &Event| match event {
        Event::CallEnded(call) => Some(call.trace.map(|trace| trace.trace_id().to_owned())),
        _ => None,
    };
    events.iter().filter_map(trace).collect()
}

/// The statement as the database sees it.
async fn seen(app: &TestApp, headers: &[(&str, &str)]) -> String {
    let mut request = app.post("/api/query").json(&json!({"query": ASK}));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (status, body) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    body["results"][0]["rows"][0][0].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn a_trace_reaches_the_database_as_a_comment_where_it_is_asked_for() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "access = \"read-write\"\ntrace_comments = true").await;
    let comment = format!("/*traceparent='{TRACE}'*/");
    assert_eq!(seen(&app, &[("traceparent", TRACE)]).await, format!("{ASK} {comment}"));
    assert_eq!(seen(&app, &[]).await, ASK);
    for wrong in ["00-x", "'; DROP TABLE orders; --", "*/ SELECT 1 /*"] {
        assert_eq!(seen(&app, &[("traceparent", wrong)]).await, ASK, "{wrong}");
    }
    assert_eq!(seen(&app, &[("traceparent", TRACE), ("traceparent", TRACE)]).await, ASK, "two are none");
    // By MCP, the message's own trace goes before the header's.
    let (_, body) = app
        .mcp(
            &app.writer,
            "tools/call",
            json!({"name": "execute_select", "arguments": {"query": ASK}, "_meta": {"traceparent": TRACE}}),
        )
        .await;
    assert_eq!(body["result"]["structuredContent"]["rows"][0][0], json!(format!("{ASK} {comment}")));
    let plain = fixture::with_postgres(&url, "").await;
    assert_eq!(seen(&plain, &[("traceparent", TRACE)]).await, ASK, "only where it is configured");
}

#[actix_web::test]
async fn a_comment_changes_nothing_about_the_statement() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "access = \"read-write\"\ntrace_comments = true").await;
    let run = async |query: &str| {
        let request = app.post("/api/query").header("traceparent", TRACE).json(&json!({"query": query}));
        read(request.send().await.unwrap()).await
    };
    for (query, rows) in [
        ("SELECT 1;", json!([[1]])),
        ("SELECT 1 -- one", json!([[1]])),
        ("SELECT '--', point(1, 2)", json!([["--", "(1,2)"]])),
        ("VALUES (1) ;\n ", json!([[1]])),
    ] {
        let (status, body) = run(query).await;
        assert_eq!((status, &body["results"][0]["rows"]), (200, &rows), "{query}: {body}");
    }
    let (status, body) = run("SELECT 1; UPDATE orders SET total = 1 WHERE id = 1").await;
    assert_eq!((status, &body["results"][1]["affectedRows"]), (200, &json!(1)), "{body}");
    // What the database says is the same with and without.
    for wrong in ["SELECT nonsense FROM orders", "SELECT 1 FROM", "SELECT 'a", "SELECT 1 /* open"] {
        let (_, mut traced) = run(wrong).await;
        let (_, mut plain) = app.query(json!({"query": wrong})).await;
        for body in [&mut traced, &mut plain] {
            body["error"]["requestId"] = Value::Null;
        }
        // An unclosed comment closes ours too, and the end is told as it is.
        assert_eq!(traced["error"]["code"], plain["error"]["code"], "{wrong}");
        assert_eq!(traced["error"]["sqlState"], plain["error"]["sqlState"], "{wrong}");
    }
    // And so is the position, which agents are told, also that of what is missing at the end.
    for wrong in ["SELECT 'é', nonsense FROM orders", "SELECT 1 FROM", "SELECT 1 FROM ;", "SELECT count(* FROM orders"]
    {
        let call = async |meta: Value| {
            let params = json!({"name": "execute_select", "arguments": {"query": wrong}, "_meta": meta});
            let (_, body) = app.mcp(&app.writer, "tools/call", params).await;
            body["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let (traced, plain) = (call(json!({"traceparent": TRACE})).await, call(json!({})).await);
        assert!(plain.contains("Position"), "{plain}");
        assert_eq!(traced, plain, "{wrong}");
    }
}

#[actix_web::test]
async fn every_call_knows_its_trace() {
    let app = fixture::on_sqlite().await;
    let request = app.post("/api/query").header("traceparent", TRACE).json(&json!({"query": "SELECT 1"}));
    assert_eq!(read(request.send().await.unwrap()).await.0, 200);
    let id = Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
    eventually("the call's trace", async || traces(&app).contains(&id)).await;
    app.events.lock().unwrap().clear();
    let meta = json!({"name": "get_tables", "arguments": {}, "_meta": {"traceparent": TRACE}});
    for method in ["tools/call", "resources/list", "ping"] {
        assert_eq!(app.mcp(&app.writer, method, meta.clone()).await.0, 200);
        eventually("the call's trace", async || traces(&app).contains(&id)).await;
        app.events.lock().unwrap().clear();
    }
}

#[actix_web::test]
async fn where_the_time_went_is_told_to_those_who_are_known_where_it_is_wanted() {
    let app = fixture::with_server("server_timing = true", "").await;
    let response = app.post("/api/query").json(&json!({"query": "SELECT 1"})).send().await.unwrap();
    let value = response.headers()["server-timing"].to_str().unwrap().to_owned();
    let measures: Vec<(&str, f64)> = value
        .split(", ")
        .map(|measure| measure.split_once(";dur=").unwrap())
        .map(|(name, took)| (name, took.parse().unwrap()))
        .collect();
    let names: Vec<&str> = measures.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["auth", "queue", "source", "total"], "{value}");
    let total = measures[3].1;
    assert!(measures.iter().all(|(_, took)| (0.0..=total).contains(took)), "{value}");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_select", "arguments": {"query": "SELECT 1"}}});
    let request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).body(call.to_string());
    let value = request.send().await.unwrap().headers()["server-timing"].to_str().unwrap().to_owned();
    for name in ["auth;", "queue;", "source;", "total;"] {
        assert!(value.contains(name), "{value}");
    }
    let stranger = app.http.post(format!("{}/api/query", app.url)).send().await.unwrap();
    assert_eq!((stranger.status().as_u16(), stranger.headers().get("server-timing")), (401, None));
    let silent = fixture::on_sqlite().await;
    let response = silent.post("/api/query").json(&json!({"query": "SELECT 1"})).send().await.unwrap();
    assert_eq!(response.headers().get("server-timing"), None);
}

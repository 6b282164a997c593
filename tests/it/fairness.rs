//! What one principal may have of a connection, and for how long without reading.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use portico_actors::error::Kind;
use portico_actors::event::Event;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio_postgres::Client;

use crate::support::app::{CONNECTION, TestApp, connection, eventually, pace, read};
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};

/// Waits until so many statements of `app`'s connection wait at the source for a lock that a test holds.
async fn until_waiting(admin: &Client, wanted: i64) {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut pace = pace();
    while admin.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) != wanted {
        pace.tick().await;
    }
}

#[actix_web::test]
async fn one_principal_leaves_room_for_others_over_all_its_tokens_and_endpoints() {
    let url = TestPostgres::shared().database("fair").await;
    let mut admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await.unwrap();
    for (keys, share) in [("pool = 3", 2), ("pool = 3\npool_per_principal = 1", 1)] {
        let tables = connection(CONNECTION, "shop", &url, keys);
        let app = TestApp::start_with(TempDir::new().unwrap(), "metrics = \"open\"", &tables).await;
        app.ready().await;
        let held = admin.transaction().await.unwrap();
        held.batch_execute("LOCK t IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let watcher = connect(&url).await;
        // By password token over the SQL API, and by the same over MCP; each waits for the table.
        let query = || {
            let request = app.post("/api/query").json(&json!({"query": "SELECT a FROM t"}));
            tokio::task::spawn_local(async move { read(request.send().await.unwrap()).await })
        };
        let mut greedy = Vec::new();
        for _ in 0..3 {
            greedy.push(query());
        }
        let call = json!({"name": "execute_select", "arguments": {"query": "SELECT a FROM t"}});
        let tool = app.mcp(&app.writer, "tools/call", call);
        tokio::pin!(tool);
        let others = async {
            until_waiting(&watcher, share).await;
            // Every one of them has come to the connection, and no more of them run.
            let mut pace = pace();
            let wanted = format!(" {}", 4 - share);
            loop {
                let text = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
                if text.lines().any(|line| line.contains("_calls_waiting{") && line.ends_with(&wanted)) {
                    break;
                }
                pace.tick().await;
            }
            let request = app.http.post(format!("{}/api/query", app.url)).json(&json!({"query": "SELECT 1"}));
            let request = request.basic_auth(&app.reader.name, Some(&app.reader.secret));
            let (status, document) = read(request.send().await.unwrap()).await;
            assert_eq!(
                (status, &document["results"][0]["rows"]),
                (200, &json!([[1]])),
                "another one is served at once"
            );
            until_waiting(&watcher, share).await;
            held.rollback().await.unwrap();
        };
        let (told, ()) = tokio::join!(tool, others);
        assert_eq!(told.0, 200, "{told:?}");
        for answer in greedy {
            let (status, document) = answer.await.unwrap();
            assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1]])), "it had its turn");
        }
    }
}

#[actix_web::test]
async fn a_reader_that_does_not_read_gives_its_place_back_and_learns_why() {
    let url = fixture::postgres().await;
    let keys = "pool = 1\nreader_timeout = 1\nqueue_timeout = 60";
    // The kernel would not wait for the reader much longer.
    let server = "write_timeout = 600";
    let app = TestApp::start_with(TempDir::new().unwrap(), server, &connection(CONNECTION, "shop", &url, keys)).await;
    app.ready().await;
    let credential = BASE64.encode(format!("{}:{}", app.writer.name, app.writer.secret));
    let query = json!({"query": "SELECT repeat('x', 1000) FROM generate_series(1, 100000000)", "timeout": 300});
    let text = query.to_string();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {credential}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    let address = app.url.strip_prefix("http://localhost").map(|port| format!("127.0.0.1{port}")).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 512];
    assert!(socket.read(&mut first).await.unwrap() > 0, "the answer has begun");
    // The only session is another's as soon as the reader is late.
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]));
    let (mut rest, mut piece) = (String::new(), [0; 8 * 1024]);
    while !rest.ends_with("\r\n0\r\n\r\n") {
        let read = tokio::time::timeout(Duration::from_secs(60), socket.read(&mut piece)).await.unwrap().unwrap();
        assert!(read > 0, "the document has an end");
        rest.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    let (_, told) = rest.rsplit_once("\"error\":").expect("the document tells of its end");
    assert!(told.contains("1500") && told.contains("nothing of the answer was read for 1 s"), "{told}");
    let timed_out = |event: &Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::TimedOut));
    eventually(|| app.events.lock().unwrap().iter().any(timed_out)).await;
}

#[actix_web::test]
async fn a_reader_that_is_slow_is_served() {
    let url = fixture::postgres().await;
    let keys = "pool = 1\nreader_timeout = 1";
    let app = TestApp::start(TempDir::new().unwrap(), &connection(CONNECTION, "shop", &url, keys)).await;
    app.ready().await;
    // The source is silent for longer than the reader may be.
    let query = "SELECT g, CASE WHEN g = 20000 THEN pg_sleep(3)::text END FROM generate_series(1, 20001) g";
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!((status, document.get("error")), (200, None::<&Value>));
    assert_eq!(document["results"][0]["rows"].as_array().unwrap().len(), 20_001);
}

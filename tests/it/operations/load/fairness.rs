//! What one principal may have of a connection, and for how long without reading.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::StreamExt as _;
use portico_actors::error::Kind;
use portico_actors::event::Event;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio_postgres::Client;

use crate::support::app::{CONNECTION, builder, eventually, read, within};
use crate::support::configuration::{BOTH_DOORS, Configuration, connection};
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::service::Service;
use crate::support::tls::{Authority, TLS};

/// Waits until so many statements in the database of `admin` wait for a lock that a test holds.
async fn until_waiting(admin: &Client, wanted: i64) {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually(&format!("{wanted} statements that wait for a lock"), async || {
        admin.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == wanted
    })
    .await;
}

#[actix_web::test]
async fn one_principal_leaves_room_for_others_over_all_its_tokens_and_endpoints() {
    let url = TestPostgres::shared().database("fair").await;
    let mut admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await.unwrap();
    for (keys, share) in [("pool = 3", 2), ("pool = 3\npool_per_principal = 1", 1)] {
        let service = Configuration::new().server("metrics = \"open\"");
        let app = service.connection("shop", &url, keys).start().await;
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
            let wanted = format!(" {}", 4 - share);
            eventually("the others to wait", async || {
                let text = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
                text.lines().any(|line| line.contains("_calls_waiting{") && line.ends_with(&wanted))
            })
            .await;
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
    let app = Configuration::new().server(server).connection("shop", &url, keys).start().await;
    let credential = BASE64.encode(format!("{}:{}", app.writer.name, app.writer.secret));
    let query =
        json!({"query": "SELECT repeat('x', 1000) FROM (SELECT generate_series(1, 100000000)) g", "timeout": 300});
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
        let read = within("more of the answer", socket.read(&mut piece)).await.unwrap();
        assert!(read > 0, "the document has an end");
        rest.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    let (_, told) = rest.rsplit_once("\"error\":").expect("the document tells of its end");
    assert!(told.contains("1500") && told.contains("the answer was not read for 1 s"), "{told}");
    let timed_out = |event: &Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::TimedOut));
    eventually("the timeout of the call", async || app.told(timed_out)).await;
}

/// A service that speaks HTTP/2 on a port and HTTP/1 on a Unix socket, with a client of each and where it asks.
pub(crate) async fn both_doors(server: &str, table: &str) -> (Service, [(reqwest::Client, String); 2]) {
    let service = Configuration::new().server(BOTH_DOORS).server(server).server(TLS).with(table);
    let authority = Authority::new("own");
    authority.sign(service.path(), "server");
    let service = service.serve().await;
    let unix = builder().unix_socket(service.folder.path().join("portico.sock")).build().unwrap();
    let secured = format!("https://localhost:{}", service.port());
    let clients = [(authority.speaking(None, &[b"h2"]), secured), (unix, "http://localhost".to_owned())];
    (service, clients)
}

pub(crate) fn ask(
    service: &Service,
    (client, url): &(reqwest::Client, String),
    query: &str,
) -> reqwest::RequestBuilder {
    let request = client.post(format!("{url}/api/query")).json(&json!({"query": query, "timeout": 300}));
    request.basic_auth(&service.writer.name, Some(&service.writer.secret))
}

#[actix_web::test]
async fn so_does_one_over_http2_and_over_a_unix_socket() {
    let table =
        connection(CONNECTION, "shop", &fixture::postgres().await, "pool = 1\nreader_timeout = 1\nqueue_timeout = 60");
    let (service, clients) = both_doors("write_timeout = 600", &table).await;
    for door in 0..2 {
        let long = "SELECT repeat('x', 1000) FROM (SELECT generate_series(1, 100000000)) g";
        let mut late = ask(&service, &clients[door], long).send().await.unwrap();
        assert!(late.chunk().await.unwrap().is_some(), "the answer has begun");
        // By the other door: the only session is another's as soon as the reader is late.
        let (status, document) = read(ask(&service, &clients[1 - door], "SELECT 1").send().await.unwrap()).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1]])));
        let mut rest = Vec::new();
        while let Some(piece) = within("the rest", late.chunk()).await.unwrap() {
            rest.extend_from_slice(&piece);
            rest.drain(..rest.len().saturating_sub(1000));
        }
        let rest = String::from_utf8(rest).unwrap();
        let (_, told) = rest.rsplit_once("\"error\":").expect("the document tells of its end");
        assert!(told.contains("1500") && told.contains("the answer was not read for 1 s"), "{told}");
    }
}

#[actix_web::test]
async fn a_client_that_takes_nothing_loses_its_connection() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    // What the kernel sees to on TCP, where the client takes octets in HTTP/1.
    let (service, clients) = both_doors("write_timeout = 1\nmax_calls = 1", &table).await;
    for door in 0..2 {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let mut late = ask(&service, &clients[door], endless).send().await.unwrap();
        assert!(late.chunk().await.unwrap().is_some(), "the answer has begun");
        // Its place among the running calls is another's.
        let other = || ask(&service, &clients[1 - door], "SELECT 1").send();
        eventually("its place", async || other().await.unwrap().status() != 429).await;
        let end = async { while late.chunk().await.is_ok_and(|piece| piece.is_some()) {} };
        within("the end of its connection", end).await;
    }
}

#[actix_web::test]
async fn one_http2_connection_has_no_more_requests_than_anybody_needs() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let (service, clients) = both_doors("body_timeout = 300", &table).await;
    let (client, url) = &clients[0];
    // Nobody is authenticated: a body is waited for that does not come.
    let endless = || reqwest::Body::wrap_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let form = "application/x-www-form-urlencoded";
    let post = || client.post(format!("{url}/oauth/token")).header("content-type", form).body(endless()).send();
    let requests = (0..1_001).map(|_| tokio::spawn(post()));
    let mut requests: futures_util::stream::FuturesUnordered<_> = requests.collect();
    // None of them is answered before the one too many: then their connection has ended.
    let ended = within("the end of the connection", requests.next()).await.unwrap().unwrap();
    assert!(ended.is_err() || ended.is_ok_and(|answer| answer.status() == 429));
    assert_eq!(read(ask(&service, &clients[1], "SELECT 1").send().await.unwrap()).await.0, 200);
}

#[actix_web::test]
async fn a_reader_that_is_slow_is_served() {
    let url = fixture::postgres().await;
    let keys = "pool = 1\nreader_timeout = 1";
    let app = Configuration::new().connection("shop", &url, keys).start().await;
    // The source is silent for longer than the reader may be.
    let query = "SELECT g, CASE WHEN g = 20000 THEN pg_sleep(3)::text END FROM generate_series(1, 20001) g";
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!((status, document.get("error")), (200, None::<&Value>));
    assert_eq!(document["results"][0]["rows"].as_array().unwrap().len(), 20_001);
}

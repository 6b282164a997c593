//! Clients who take too much: heads and bodies that are too large or too slow, answers that nobody
//! reads, and more calls than are worked on. Over bare sockets, as no well-behaved client would.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use portico_actors::error::Kind;
use portico_actors::event::Event;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::app::{TestApp, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::{BOTH, ENDLESS, request, select};
use crate::support::postgres::connect as database;

pub(crate) async fn connect(app: &TestApp) -> TcpStream {
    TcpStream::connect(app.url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// The head of a query by the writer, with so many bytes announced.
pub(crate) fn head(app: &TestApp, length: usize) -> String {
    let credential = BASE64.encode(format!("{}:{}", app.writer.name, app.writer.secret));
    format!(
        "POST /api/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {credential}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n"
    )
}

/// Everything until the server closes: the status and the whole text.
async fn answer(mut socket: TcpStream) -> (u16, String) {
    let mut answer = Vec::new();
    // The server may close while something of ours is on its way, which resets the connection.
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = socket.read(&mut piece).await {
        answer.extend_from_slice(&piece[..read]);
    }
    let text = String::from_utf8(answer).unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {text:?}")), text)
}

fn body(text: &str) -> Value {
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

#[actix_web::test]
async fn a_head_that_is_not_sent_in_time_is_let_go() {
    let app = fixture::with_server("header_timeout = 1", "").await;
    let mut socket = connect(&app).await;
    socket.write_all(b"POST /api/query HTTP/1.1\r\nHost: loc").await.unwrap();
    assert_eq!(answer(socket).await.0, 408);
}

#[actix_web::test]
async fn a_body_that_is_not_sent_in_time_is_let_go() {
    let app = fixture::with_server("body_timeout = 1", "").await;
    let mut socket = connect(&app).await;
    socket.write_all(format!("{}\r\n{{\"query\":", head(&app, 100)).as_bytes()).await.unwrap();
    let (status, text) = answer(socket).await;
    assert_eq!((status, &body(&text)["error"]["code"]), (408, &json!(1500)), "{text}");
    assert!(text.contains("body_timeout"), "{text}");
}

#[actix_web::test]
async fn what_is_too_large_says_so_and_how_large_it_may_be() {
    let app = fixture::with_server("max_header = 4096\nmax_body = 2048", "").await;
    let mut socket = connect(&app).await;
    socket.write_all(format!("{}X-Long: {}\r\n\r\n", head(&app, 0), "x".repeat(5000)).as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let (status, text) = answer(socket).await;
    assert_eq!((status, &body(&text)["error"]["code"]), (431, &json!(1800)), "{text}");
    assert!(text.contains("4096 bytes") && text.contains("max_header"), "{text}");
    let mut socket = connect(&app).await;
    // More than the library takes: it closes when it has told so.
    let endless = format!("GET /healthz HTTP/1.1\r\nX-Long: {}", "x".repeat(200_000));
    let _ = socket.write_all(endless.as_bytes()).await;
    assert_eq!(answer(socket).await.0, 431);
    // Refused by what is announced: none of the body has to be sent.
    let mut socket = connect(&app).await;
    socket.write_all(format!("{}\r\n", head(&app, 2049)).as_bytes()).await.unwrap();
    let (status, text) = answer(socket).await;
    assert_eq!((status, &body(&text)["error"]["code"]), (413, &json!(1800)), "{text}");
    assert!(text.contains("2048 bytes") && text.contains("max_body"), "{text}");
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]), "others are served");
}

#[actix_web::test]
async fn an_answer_that_nobody_reads_is_let_go_and_its_statement_ends() {
    let url = fixture::postgres().await;
    let server = "write_timeout = 1";
    let app = Configuration::new().server(server).connection("shop", &url, "").start().await;
    let address = app.url.strip_prefix("http://localhost").map(|port| format!("127.0.0.1{port}")).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    // So little that the kernels' buffers are soon full.
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
    let query =
        json!({"query": "SELECT repeat('x', 1000) AS stalled_marker FROM (SELECT generate_series(1, 100000000)) g"});
    let text = query.to_string();
    socket.write_all(format!("{}\r\n{text}", head(&app, text.len())).as_bytes()).await.unwrap();
    let abandoned = |event: &Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::Abandoned));
    eventually("the abandoned call", async || app.told(abandoned)).await;
    let watcher = database(&url).await;
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%stalled\\_marker%' \
                   AND pid <> pg_backend_pid()";
    let gone = async || watcher.query_one(running, &[]).await.unwrap().get::<_, i64>(0) == 0;
    eventually("the end of the statement at the server", gone).await;
    drop(socket);
}

/// Holds a request that is worked on until its client leaves.
async fn hold(app: &TestApp) -> TcpStream {
    let mut socket = connect(app).await;
    let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let body = json!({"query": query, "timeout": 300}).to_string();
    socket.write_all(format!("{}\r\n{body}", head(app, body.len())).as_bytes()).await.unwrap();
    socket
}

#[actix_web::test]
async fn no_more_is_worked_on_than_the_service_takes() {
    let app = fixture::with_server("max_calls = 2\nmetrics = \"open\"", "").await;
    let held = [hold(&app).await, hold(&app).await];
    let metrics = async || app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
    // A call of our own would be counted too.
    eventually("two running requests", async || metrics().await.contains("\nportico_http_requests_running 2\n")).await;
    let response = app.post("/api/query").json(&json!({"query": "SELECT 1"})).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    assert_eq!(read(response).await.1["error"]["code"], 1600);
    let (status, refused) = app.mcp(&app.writer, "ping", json!({})).await;
    assert_eq!((status, &refused["error"]["code"]), (429, &json!(1600)));
    let healthy = app.http.get(format!("{}/healthz", app.url)).send().await.unwrap();
    assert_eq!(healthy.status(), 200, "who looks after the service is answered");
    drop(held);
    eventually("a free place", async || app.query(json!({"query": "SELECT 1"})).await.0 == 200).await;
}

#[actix_web::test]
async fn a_call_that_tells_of_its_progress_is_worked_on_like_any_other() {
    let app = fixture::with_server("max_calls = 1", "").await;
    let call = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).header("accept", BOTH);
    let call = call.body(request(&json!(1), "tools/call", &select(ENDLESS, &json!("t")))).send().await.unwrap();
    assert_eq!((call.status().as_u16(), &call.headers()["content-type"]), (200, &"text/event-stream".parse().unwrap()));
    assert_eq!(app.mcp(&app.writer, "ping", json!({})).await.0, 429);
    drop(call);
    eventually("a free place", async || app.mcp(&app.writer, "ping", json!({})).await.0 == 200).await;
}

#[actix_web::test]
async fn one_caller_s_many_calls_do_not_keep_another_s_waiting() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "pool = 1\nqueue = 4\nqueue_timeout = 300").await;
    let marker = database(&url).await;
    let sleep = json!({"query": "SELECT pg_sleep(250) AS fair_marker", "timeout": 300});
    let held = tokio::spawn(app.post("/api/query").json(&sleep).send());
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%fair\\_marker%' \
                   AND pid <> pg_backend_pid()";
    eventually("the statement at the server", async || {
        marker.query_one(running, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    // The writer fills the queue; of one call more, one of the writer's is refused at once.
    let many: Vec<_> = (0..5).map(|_| tokio::spawn(app.post("/api/query").json(&sleep).send())).collect();
    let busy = |event: &Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::Busy));
    let refused = || app.events.lock().unwrap().iter().filter(|event| busy(event)).count();
    eventually("a refusal", async || refused() == 1).await;
    // The reader's first call finds a place all the same, at the cost of the writer.
    let request = app.http.post(format!("{}/api/query", app.url)).json(&json!({"query": "SELECT 1", "timeout": 300}));
    let reader = tokio::spawn(request.basic_auth(&app.reader.name, Some(&app.reader.secret)).send());
    eventually("another refusal", async || refused() == 2).await;
    assert!(!reader.is_finished());
    // Of those who wait, the writer came first; then it is the reader's turn.
    held.abort();
    let mut finished = 0;
    eventually("the reader's answer", async || {
        if marker.query_one(running, &[]).await.unwrap().get::<_, i64>(0) == 1 {
            let mine = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' \
                        AND query LIKE '%fair\\_marker%' AND pid <> pg_backend_pid()";
            finished += marker.query(mine, &[]).await.unwrap().len();
        }
        reader.is_finished()
    })
    .await;
    assert_eq!(reader.await.unwrap().unwrap().status(), 200);
    assert!(finished <= 4, "the reader waited for everybody");
    many.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A server that hears no cancel goes on after its socket is closed: until it has ended, no other session takes its place.
#[actix_web::test]
async fn a_session_that_hears_no_cancel_keeps_its_place() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "pool = 1\nqueue_timeout = 200").await;
    let deaf_ones = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT md5%' AND state = 'active'";
    // Between the parts of one expression the server looks at nothing.
    let deaf =
        format!("SELECT {} FROM (SELECT repeat('x', 20000000) AS x OFFSET 0) AS deaf", ["md5(x)"; 500].join("||"));
    let (status, answer) = app.query(json!({"query": deaf, "timeout": 1})).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(1500)), "{answer}");
    let (status, answer) = app.query(json!({"query": deaf_ones, "timeout": 200})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[0]])), "{answer}");
}

/// What one caller left behind so keeps that caller's share, and no other's.
#[actix_web::test]
async fn sessions_that_hear_no_cancel_count_for_their_caller() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "pool = 2\nqueue_timeout = 1").await;
    let deaf =
        format!("SELECT {} FROM (SELECT repeat('x', 20000000) AS x OFFSET 0) AS deaf", ["md5(x)"; 600].join("||"));
    let begun = (0..2).map(|_| app.query(json!({"query": deaf, "timeout": 1})));
    for (status, answer) in futures_util::future::join_all(begun).await {
        assert!([408, 429].contains(&status), "{answer}");
    }
    let request = app.http.post(format!("{}/api/query", app.url)).json(&json!({"query": "SELECT 1 AS one"}));
    let (status, answer) =
        read(request.basic_auth(&app.reader.name, Some(&app.reader.secret)).send().await.unwrap()).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[1]])), "{answer}");
}

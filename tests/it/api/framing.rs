//! What the method, the version and the coding of a request mean for the form of its answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portico_actors::error::Kind;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::app::{CONNECTION, Caller, TestApp, eventually, read, within};
use crate::support::fixture;

/// Sends `head` and `body` as they are; what comes back until the connection ends, in head and body.
async fn spoken(app: &TestApp, head: &str, body: &str) -> (String, String) {
    let Caller { name, secret } = &app.writer;
    let basic = STANDARD.encode(format!("{name}:{secret}"));
    let length = body.len();
    let text = format!("{head}\r\nAuthorization: Basic {basic}\r\nContent-Length: {length}\r\n\r\n{body}");
    let mut socket = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    socket.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[actix_web::test]
async fn a_client_of_http_1_0_is_sent_no_chunks() {
    let app = fixture::on_sqlite().await;
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n";
    for connection in ["", "\r\nConnection: keep-alive"] {
        let head = format!("POST /api/query HTTP/1.0{connection}");
        let (head, body) = spoken(&app, &head, &json!({"query": many}).to_string()).await;
        assert!(head.starts_with("http/1.0 200") && !head.contains("transfer-encoding"), "{head}");
        assert!(!head.contains("keep-alive"), "the end of the connection is the end of the body: {head}");
        let document: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(document["results"][0]["rows"].as_array().unwrap().len(), 20_000);
    }
    let (head, body) = spoken(&app, "GET /healthz HTTP/1.0", "").await;
    assert!(head.contains("content-length: 15"), "{head}");
    assert_eq!(body, "{\"status\":\"ok\"}");
}

#[actix_web::test]
async fn head_is_answered_as_get_without_the_content() {
    let app = fixture::on_sqlite().await;
    for path in
        ["/healthz", "/readyz", "/openapi.json", "/docs", "/.well-known/jwks.json", "/sign-in", "/api/connections"]
    {
        let get = app.get(path).send().await.unwrap();
        let Caller { name, secret } = &app.writer;
        let head = app.http.head(format!("{}{path}", app.url)).basic_auth(name, Some(secret)).send().await.unwrap();
        assert_eq!((head.status(), get.status().as_u16()), (get.status(), 200), "{path}");
        assert_eq!(head.headers().get("content-type"), get.headers().get("content-type"), "{path}");
        assert_eq!(head.headers().get("content-length"), None, "{path}: it may be left out (RFC 9110 §9.3.2)");
        assert_eq!(head.text().await.unwrap(), "", "{path}");
    }
    // The listing is read to its end: nobody has left.
    let (head, body) = spoken(&app, "HEAD /api/tables HTTP/1.1\r\nHost: localhost\r\nConnection: close", "").await;
    assert!(head.starts_with("http/1.1 200") && body.is_empty(), "{head} {body}");
    eventually("the end of the call", async || app.endings("/api/tables") == [None::<Kind>]).await;
    let absent = app.http.head(format!("{}/nothing", app.url)).send().await.unwrap();
    assert_eq!((absent.status().as_u16(), absent.text().await.unwrap()), (404, String::new()));
    for path in ["/api/query", &format!("/mcp/connections/{CONNECTION}")] {
        let head = app.http.head(format!("{}{path}", app.url)).basic_auth(&app.writer.name, Some(&app.writer.secret));
        assert_eq!(head.send().await.unwrap().status(), 405, "{path}");
    }
}

/// What comes behind such an answer belongs to the request before it, and to no other.
#[actix_web::test]
async fn an_answer_before_the_last_chunk_of_its_request_ends_the_connection() {
    let app = fixture::on_sqlite().await;
    for request in ["GET /healthz", "POST /nothing", "POST /api/query", "GET /api/tables"] {
        let head =
            format!("{request} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{{\"que\r\n");
        let mut socket = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
            let read = within("the head of the answer", socket.read_buf(&mut answer)).await.unwrap();
            assert!(read > 0, "{request}: the connection ended without an answer");
        }
        let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        assert!(answer.contains("\r\nconnection: close\r\n"), "{request}: {answer}");
    }
    // One that was read whole leaves the connection open.
    let Caller { name, secret } = &app.writer;
    let basic = STANDARD.encode(format!("{name}:{secret}"));
    let body = json!({"query": "SELECT 1"}).to_string();
    let whole = format!(
        "POST /api/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {basic}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut socket = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    socket.write_all([whole.as_str(), next].concat().as_bytes()).await.unwrap();
    let mut answers = String::new();
    within("the end of the connection", socket.read_to_string(&mut answers)).await.unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
}

#[actix_web::test]
async fn heads_in_a_pipeline_are_answered_each() {
    let app = fixture::on_sqlite().await;
    for first in ["/healthz", "/api/tables"] {
        let Caller { name, secret } = &app.writer;
        let basic = STANDARD.encode(format!("{name}:{secret}"));
        let request = |method: &str, path: &str, more: &str| {
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {basic}\r\n{more}\r\n")
        };
        let requests = [
            request("HEAD", first, ""),
            request("HEAD", "/healthz", ""),
            request("GET", "/healthz", "Connection: close\r\n"),
        ];
        let mut socket = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
        socket.write_all(requests.concat().as_bytes()).await.unwrap();
        let mut answers = String::new();
        socket.read_to_string(&mut answers).await.unwrap();
        let parts: Vec<&str> = answers.split("\r\n\r\n").collect();
        assert_eq!(parts.len(), 4, "three heads and one content: {answers}");
        assert!(parts.iter().take(3).all(|head| head.starts_with("HTTP/1.1 200")), "{first}: {answers}");
        assert_eq!(parts[3], "{\"status\":\"ok\"}");
    }
}

#[actix_web::test]
async fn many_requests_in_a_pipeline_are_answered_each() {
    const REQUESTS: usize = 64;
    let app = fixture::on_sqlite().await;
    let Caller { name, secret } = &app.writer;
    let basic = STANDARD.encode(format!("{name}:{secret}"));
    let body = json!({"query": "SELECT 'answered'"}).to_string();
    for (line, body) in [("GET /healthz", ""), ("GET /api/connections", ""), ("POST /api/query", body.as_str())] {
        let request = |more: &str| {
            let fields = format!("Host: localhost\r\nAuthorization: Basic {basic}\r\nContent-Type: application/json");
            format!("{line} HTTP/1.1\r\n{fields}\r\nContent-Length: {}\r\n{more}\r\n{body}", body.len())
        };
        let requests = request("").repeat(REQUESTS - 1) + &request("Connection: close\r\n");
        let mut socket = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
        socket.write_all(requests.as_bytes()).await.unwrap();
        let mut answers = String::new();
        within("the answers", socket.read_to_string(&mut answers)).await.unwrap();
        assert_eq!(answers.matches("HTTP/1.1 200").count(), REQUESTS, "{line}: {answers}");
    }
}

#[actix_web::test]
async fn a_body_in_a_content_coding_is_refused_by_its_name() {
    let app = fixture::on_sqlite().await;
    let query = json!({"query": "SELECT 1 AS n"});
    for path in ["/api/query", "/api/exec", "/api/batch"] {
        let sent = app.post(path).header("content-encoding", "gzip").json(&query).send().await.unwrap();
        assert_eq!(sent.headers()["accept-encoding"], "identity");
        let (status, answer) = read(sent).await;
        assert_eq!((status, &answer["error"]["code"]), (415, &json!(1000)), "{answer}");
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("Content-Encoding: a body in \"gzip\""),
            "{answer}"
        );
    }
    let keyed = app.post("/api/query").header("content-encoding", "br").header("idempotency-key", "k").json(&query);
    assert_eq!(keyed.send().await.unwrap().status(), 415);
    let plain = app.post("/api/query").header("content-encoding", "identity").json(&query).send().await.unwrap();
    assert_eq!(plain.status(), 200);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let coded = app.mcp_request().header("content-encoding", "zstd").body(ping);
    assert_eq!(coded.try_clone().unwrap().send().await.unwrap().status(), 401, "the credential comes first");
    let coded = coded.basic_auth(&app.writer.name, Some(&app.writer.secret)).send().await.unwrap();
    assert_eq!(coded.headers()["accept-encoding"], "identity");
    let (status, answer) = read(coded).await;
    assert_eq!((status, &answer["error"]["code"]), (415, &json!(-32600)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("\"zstd\""), "{answer}");
    let form = [("grant_type", "client_credentials")];
    let coded = app.http.post(format!("{}/oauth/token", app.url)).header("content-encoding", "gzip").form(&form);
    let (status, answer) = read(coded.send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]), (400, &json!("invalid_request")));
    assert!(answer["error_description"].as_str().unwrap().contains("Content-Encoding"), "{answer}");
}

//! Strangers and small tokens that want the service down: what they begin and do not finish is nobody's but their
//! own. Over HTTP/2 with TLS and over a Unix socket, with a trail that has few places.

use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::operations::load::fairness::{ask, both_doors};
use crate::operations::load::limits::{connect, head};
use crate::support::app::{CONNECTION, Caller, TestApp, awaited, eventually, read, within};
use crate::support::configuration::connection;
use crate::support::fixture;
use crate::support::mcp::BOTH;
use crate::support::service::Service;

const FEW: &str = "max_calls = 4\nbody_timeout = 300\nmetrics = \"open\"";
/// Never ends by itself.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// A body that begins and does not come.
pub(crate) fn unfinished(begin: &'static str) -> reqwest::Body {
    let piece = Ok::<_, std::io::Error>(begin.as_bytes().to_vec());
    reqwest::Body::wrap_stream(stream::iter([piece]).chain(stream::pending()))
}

/// As many requests of each kind as would take every place there is, none of them whole.
pub(crate) fn unfinished_requests(service: &Service, (client, url): &(Client, String)) -> Vec<RequestBuilder> {
    let mcp = format!("{url}/mcp/connections/{CONNECTION}");
    let (name, secret) = (&service.reader.name, &service.reader.secret);
    let json = |url: String| client.post(url).header("content-type", "application/json").body(unfinished("{"));
    let form = |path: &str| {
        let post = client.post(format!("{url}{path}")).header("content-type", "application/x-www-form-urlencoded");
        post.body(unfinished("grant_type="))
    };
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(json(format!("{url}/api/query")));
        all.push(json(mcp.clone()));
        all.push(json(format!("{url}/api/query")).basic_auth(name, Some("ptc_pat_wrong")));
        all.push(json(format!("{url}/api/query")).basic_auth(name, Some(secret)));
        all.push(json(format!("{url}/api/nothing")).basic_auth(name, Some(secret)));
        all.push(json(mcp.clone()).basic_auth(name, Some(secret)));
        all.push(form("/oauth/token"));
        all.push(form("/oauth/revoke"));
        all.push(form("/sign-in"));
    }
    all
}

#[actix_web::test]
async fn what_does_not_come_whole_takes_no_place_of_others() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    for audit in ["", "[audit]\nfile = \"audit.jsonl\"\nqueue = 4\n"] {
        let (service, clients) =
            both_doors(FEW, &format!("{audit}[limits]\nfailures_per_address = 100_000\n{table}")).await;
        let mut held = FuturesUnordered::new();
        for request in clients.iter().flat_map(|door| unfinished_requests(&service, door)) {
            held.push(tokio::spawn(request.send()));
        }
        // Who shows no credential, or a wrong one, is told so before the body has come: forty and forty more by each door.
        let mut refused = 0;
        while refused < 120 {
            let answer = within("the refusals", held.next()).await.unwrap().unwrap().unwrap();
            assert_eq!(answer.status(), 401, "{}", answer.url());
            refused += 1;
        }
        for door in &clients {
            let (status, document) = read(ask(&service, door, "SELECT 1").send().await.unwrap()).await;
            assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1]])), "{document}");
        }
        let (client, url) = &clients[0];
        let metrics = client.get(format!("{url}/metrics")).send().await.unwrap().text().await.unwrap();
        assert!(metrics.contains("\nportico_http_requests_running 0\n"), "{metrics}");
        assert!(!held.is_empty());
    }
}

impl TestApp {
    /// A query of the reader's.
    fn read(&self, query: &str) -> RequestBuilder {
        let request = self.http.post(format!("{}/api/query", self.url)).json(&json!({"query": query, "timeout": 300}));
        request.basic_auth(&self.reader.name, Some(&self.reader.secret))
    }
}

#[actix_web::test]
async fn one_principal_has_its_share_of_the_places_whatever_its_credentials_and_addresses() {
    let app = fixture::with_server("max_calls = 4\nmetrics = \"open\"", "queue = 100\nqueue_timeout = 300").await;
    let mut running: Vec<_> = (0..3).map(|_| tokio::spawn(app.read(ENDLESS).send())).collect();
    let metrics = async || app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
    eventually("three running requests", async || metrics().await.contains("\nportico_http_requests_running 3\n"))
        .await;
    let refused = app.read("SELECT 1").send().await.unwrap();
    assert_eq!(refused.headers()["retry-after"], "1");
    let (status, document) = read(refused).await;
    assert_eq!((status, &document["error"]["code"]), (429, &json!(1600)));
    assert!(document["error"]["message"].as_str().unwrap().contains("of this principal"), "{document}");
    let (status, mine) = app.query(json!({"query": "SELECT 1"})).await;
    assert_eq!((status, mine.get("error")), (200, None::<&Value>), "another one's place is left");
    running.drain(..).for_each(|call| call.abort());
    eventually("the end of the requests", async || metrics().await.contains("\nportico_http_requests_running 0\n"))
        .await;
    assert_eq!(app.read("SELECT 1").send().await.unwrap().status(), 200);
}

#[actix_web::test]
async fn bodies_are_counted_in_bytes() {
    let app = fixture::with_server("max_bodies = 2_097_152\nmax_body = 1_000_000\nbody_timeout = 300", "").await;
    let large = format!("{{\"query\": \"SELECT 1\"{}}}", " ".repeat(600_000));
    let send = |by: &Caller| {
        let request = app.http.post(format!("{}/api/query", app.url)).header("content-type", "application/json");
        request.basic_auth(&by.name, Some(&by.secret)).body(large.clone()).send()
    };
    let hold = async || {
        let mut held = connect(&app).await;
        let most = &large[..large.len() - 1];
        held.write_all(format!("{}\r\n{most}", head(&app, large.len())).as_bytes()).await.unwrap();
        held
    };
    let mut held = hold().await;
    // As soon as the first has come so far, a second one of the same principal is beyond its half.
    let refused = awaited("a body too many", async || {
        let answer = send(&app.writer).await.unwrap();
        if answer.status() == 429 {
            return Some(answer);
        }
        assert_eq!(answer.status(), 200);
        // Where the second one was there before all of the first, that is the one too many.
        if held.try_read(&mut [0]).is_ok() {
            held = hold().await;
        }
        None
    })
    .await;
    let (_, document) = read(refused).await;
    assert!(document["error"]["message"].as_str().unwrap().contains("bytes"), "{document}");
    assert_eq!(send(&app.reader).await.unwrap().status(), 200, "another one's half is left");
    held.write_all(b"}").await.unwrap();
    eventually("the room of the bodies that were left", async || send(&app.writer).await.unwrap().status() == 200)
        .await;
}

#[actix_web::test]
async fn what_is_prepared_for_one_answer_is_counted_in_bytes() {
    let app = fixture::with_server("max_answers = 4_194_304", "").await;
    let begin =
        json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let post = |body: &Value, session: &str| {
        let request = app.http.post(format!("{}/mcp/connections/{CONNECTION}", app.url)).header("accept", BOTH);
        let request = if session.is_empty() { request } else { request.header("mcp-session-id", session) };
        request.basic_auth(&app.writer.name, Some(&app.writer.secret)).json(body).send()
    };
    let begun = post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}), "").await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let query =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300) SELECT printf('%01000d', i) FROM n";
    let call = |id: u64| {
        let params = json!({"name": "execute_select", "arguments": {"query": query, "maxRows": 300}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch: Value = (1..=20).map(call).collect();
    // The second time all has been given back.
    for _ in 0..2 {
        let (status, answers) = read(post(&batch, &session).await.unwrap()).await;
        assert_eq!(status, 200);
        let answers = answers.as_array().unwrap();
        let served: Vec<bool> = answers.iter().map(|answer| answer["result"]["isError"] == false).collect();
        assert_eq!((served.len(), &served[..2], served[2..].contains(&true)), (20, &[true, true][..], false));
        let told = answers[19]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("for this principal") && told.contains("Retry after"), "{told}");
    }
    assert_eq!(app.query(json!({"query": "SELECT 1"})).await.0, 200);
}

#[actix_web::test]
async fn what_an_answer_of_the_sql_api_keeps_before_it_begins_is_counted_in_bytes() {
    let app = fixture::with_server("max_answers = 1_048_576", "").await;
    let ask = |by: &Caller, body: Value| {
        let request = app.http.post(format!("{}/api/query", app.url)).json(&body);
        request.basic_auth(&by.name, Some(&by.secret)).send()
    };
    // None of them has a row, and each has columns of its own.
    let columns: Vec<String> = (0..50).map(|column| format!("1 AS c{column}")).collect();
    let many = json!({"query": format!("SELECT {} WHERE 0;", columns.join(",")).repeat(900)});
    for _ in 0..2 {
        let answer = ask(&app.writer, many.clone()).await.unwrap();
        let again = answer.headers().get("retry-after").cloned();
        let (status, document) = read(answer).await;
        let told = document.to_string().chars().take(300).collect::<String>();
        assert_eq!((status, &document["error"]["code"]), (429, &json!(1600)), "{told}");
        assert!(again.is_some_and(|again| again == "1") && told.contains("for this principal"), "{told}");
        // All of it was given back, and what streams is not counted.
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT printf('%01000d', i) FROM n";
        let (status, document) = read(ask(&app.writer, json!({"query": rows})).await.unwrap()).await;
        assert_eq!((status, document["results"][0]["rows"].as_array().unwrap().len()), (200, 5_000));
    }
    let few = json!({"query": "SELECT * FROM customers WHERE 0;".repeat(900)});
    assert_eq!(read(ask(&app.reader, few).await.unwrap()).await.0, 200);
}

#[actix_web::test]
async fn an_answer_for_which_there_is_no_room_is_sent_and_not_kept() {
    let app = fixture::with_server("max_answers = 1_048_576", "").await;
    let rows =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 700) SELECT printf('%01000d', i) FROM n";
    let ask = || app.post("/api/query").header("idempotency-key", "one").json(&json!({"query": rows})).send();
    let (status, document) = read(ask().await.unwrap()).await;
    assert_eq!((status, document["results"][0]["rows"].as_array().unwrap().len()), (200, 700));
    let (status, document) = read(ask().await.unwrap()).await;
    assert!(status == 409 && document["error"]["message"].as_str().unwrap().contains("was not kept"), "{document}");
}

#[actix_web::test]
async fn one_address_has_no_more_connections_than_its_share() {
    let app = fixture::with_server("max_connections_per_address = 3\nmetrics = \"open\"", "").await;
    let place = app.url.trim_start_matches("http://localhost").trim_start_matches(':').parse::<u16>().unwrap();
    let from = async |address: [u8; 4]| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        let mut stream = socket.connect(([127, 0, 0, 1], place).into()).await.unwrap();
        // One that was closed already may not take it.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        let mut begin = [0; 12];
        let read = within("an answer or the end", stream.read(&mut begin)).await.unwrap_or(0);
        (stream, begin[..read] == *b"HTTP/1.1 200")
    };
    let mut open = Vec::new();
    for _ in 0..3 {
        let (stream, served) = from([127, 0, 0, 2]).await;
        assert!(served);
        open.push(stream);
    }
    assert!(!from([127, 0, 0, 2]).await.1, "one too many");
    assert!(from([127, 0, 0, 3]).await.1, "another address");
    drop(open);
    eventually("a place for a connection", async || from([127, 0, 0, 2]).await.1).await;
}

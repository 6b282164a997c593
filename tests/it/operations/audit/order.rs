//! A record is written before the last byte of its answer: whoever has read that finds it in the file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use portico_actors::auth::records::NewServiceAccount;
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use reqwest::{Method, Version};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::operations::audit::trail::{records, service, trail};
use crate::support::app::{CONNECTION, eventually, within};
use crate::support::configuration::Configuration;
use crate::support::mcp::{BOTH, select};
use crate::support::tls::{Authority, TLS};

/// A request, and the status that it is answered with where that is another one's matter.
struct Case {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
    status: Option<u16>,
}

impl Case {
    fn new(method: Method, path: &str, body: impl ToString, status: u16) -> Self {
        let status = Some(status).filter(|status| *status > 0);
        Self { method, path: path.to_owned(), headers: Vec::new(), body: body.to_string(), status }
    }

    fn accepting(mut self, form: &str) -> Self {
        self.headers.retain(|(name, _)| *name != "accept");
        self.with("accept", form)
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// In the place of a status.
const ANY: u16 = 0;
const JSON: &str = "application/json";
const FORMS: [&str; 5] =
    [JSON, "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream", "application/json, */*;q=0.1"];
const FACETS: [&str; 10] = [
    "catalogs",
    "schemas",
    "tables",
    "columns",
    "primaryKeys",
    "importedKeys",
    "exportedKeys",
    "indexes",
    "procedures",
    "procedureParameters",
];
/// More than goes out in one piece, in each form.
const LONG: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, 'x' FROM n";
/// Fails behind its first rows.
const BREAKS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
    SELECT CASE WHEN i < 19000 THEN i ELSE json('{') END FROM n";

/// The SQL API, in each of its forms.
fn api(basic: &str) -> Vec<Case> {
    let authorized = |case: Case| case.with("authorization", basic);
    let post = |path: &str, body: Value, status| {
        authorized(Case::new(Method::POST, path, body, status)).with("content-type", JSON)
    };
    let get = |path: &str, status| authorized(Case::new(Method::GET, path, "", status));
    let mut cases = Vec::new();
    for form in FORMS {
        let mut of_form = vec![
            post("/api/query", json!({"query": "SELECT 1 AS n"}), 200),
            post("/api/query", json!({"query": "SELECT id FROM customers WHERE id < 0"}), 200),
            post("/api/query", json!({"query": "UPDATE customers SET city = city"}), 200),
            post("/api/query", json!({"query": LONG}), 200),
            post("/api/query", json!({"query": BREAKS}), 200),
            post("/api/query", json!({"query": LONG, "maxRows": 9000}), 200),
            post("/api/query", json!({"query": "SELECT nothing"}), 400),
            post("/api/query", json!({"query": "SELECT 1", "nothing": 1}), 400),
            post("/api/batch", json!({"query": "SELECT @a", "parameters": [{"@a": 1}]}), 200),
            post("/api/exec", json!({"procedure": "long"}), 200),
            post("/api/exec", json!({"procedure": "nothing"}), 404),
        ];
        of_form.extend(FACETS.map(|metadata| get(&format!("/api/{metadata}"), 200)));
        cases.extend(of_form.into_iter().map(|case| case.with("accept", form)));
    }
    for number in 0..2 {
        // Carried out, and told again.
        let body = json!({"query": "SELECT 'once'"});
        cases.push(post("/api/query", body.clone(), 200).with("idempotency-key", "k"));
        cases.push(post("/api/query", body, 200).with("idempotency-key", format!("k{number}")));
        cases.push(post("/api/query", json!({"query": LONG}), 200).with("accept-encoding", "gzip"));
        cases.push(post("/api/query", json!({"query": LONG}), 200).with("accept-encoding", "zstd"));
    }
    cases.extend([
        get("/api/connections", 200),
        get("/api/connections?nothing=1", 400),
        get("/api/query", 405),
        get("/api/nothing", 404),
        get("/api/tables", 406).with("accept", "image/png"),
        get("/api/tables", 403).with("origin", "https://evil.example"),
        post("/api/query", json!({"query": "SELECT 1"}), 415).with("content-encoding", "gzip"),
        authorized(Case::new(Method::POST, "/api/query", "{", 400)).with("content-type", JSON),
        authorized(Case::new(Method::HEAD, "/api/tables", "", 200)),
        Case::new(Method::POST, "/api/query", "{}", 401).with("content-type", JSON),
        Case::new(Method::GET, "/api//tables", "", 400),
        get("/api/tables", 431).with("x-long", "x".repeat(40_000)),
    ]);
    cases
}

/// The MCP endpoint: one message, several, streams, and what is refused.
fn mcp(basic: &str) -> Vec<Case> {
    let path = format!("/mcp/connections/{CONNECTION}");
    let send = |body: Value, status| {
        let case = Case::new(Method::POST, &path, body, status).with("content-type", JSON);
        case.with("authorization", basic).with("accept", BOTH)
    };
    let message = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let plain = |query: &str| json!({"name": "execute_select", "arguments": {"query": query}});
    let modern = |method: &'static str, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().map(str::to_owned);
        let case = send(message(method, params), 200).with("mcp-protocol-version", "2026-07-28");
        let case = case.with("mcp-method", method);
        if let Some(name) = name { case.with("mcp-name", name) } else { case }
    };
    let token = json!("t");
    vec![
        send(
            message(
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
            ),
            200,
        ),
        send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), 202),
        send(message("ping", json!({})), 200),
        send(message("tools/list", json!({})), 200),
        send(message("tools/call", plain("SELECT 1")), 200),
        send(message("tools/call", plain(LONG)), 200),
        send(message("tools/call", plain("SELECT nothing")), 200),
        send(message("tools/call", json!({"name": "get_tables", "arguments": {}})), 200),
        send(message("tools/call", json!({"name": "nothing", "arguments": {}})), ANY),
        send(message("tools/call", select("SELECT 1", &token)), 200),
        send(message("tools/call", select(LONG, &token)), 200),
        send(message("nothing", json!({})), ANY),
        send(json!([message("tools/call", plain("SELECT 1")), message("ping", json!({}))]), 200)
            .with("mcp-protocol-version", "2025-03-26"),
        modern("tools/list", json!({})),
        modern("tools/call", plain("SELECT 1")),
        modern("tools/call", select(LONG, &token)),
        send(json!([{"bad": 1}, message("initialize", json!({}))]), 200).with("mcp-protocol-version", "2025-03-26"),
        Case {
            status: Some(406),
            ..modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
        }
        .accepting(JSON),
        send(json!({"jsonrpc": "1.0"}), 400),
        send(message("ping", json!({})), 404).with("mcp-session-id", "0192f0c1-2345-7abc-8def-0123456789ab"),
        Case { path: format!("{path}?tools=nothing"), ..send(message("ping", json!({})), 400) },
        Case { path: "/mcp/connections/other".to_owned(), ..send(message("ping", json!({})), 400) },
        Case { method: Method::PUT, ..send(json!({}), 405) },
        Case { method: Method::GET, ..send(json!({}), ANY) }.with("last-event-id", "1-1"),
        Case { method: Method::DELETE, ..send(json!({}), ANY) },
        send(message("ping", json!({})), 403).with("origin", "https://evil.example"),
        Case { headers: vec![("content-type", JSON.to_owned())], ..send(message("ping", json!({})), 401) },
    ]
}

/// Tokens, clients and pages.
fn people(client: &str, secret: &str, registered: &str) -> Vec<Case> {
    let form = |path: &str, body: &str, status| {
        Case::new(Method::POST, path, body, status).with("content-type", "application/x-www-form-urlencoded")
    };
    let proof = format!("client_id={client}&client_secret={secret}");
    vec![
        form("/oauth/token", &format!("grant_type=client_credentials&{proof}"), 200),
        form("/oauth/token", &format!("grant_type=client_credentials&client_id={client}&client_secret=wrong"), 401),
        form("/oauth/token", "grant_type=nothing", 400),
        form("/oauth/introspect", &format!("token=nothing&{proof}"), 200),
        form("/oauth/revoke", &format!("token=nothing&{proof}"), 200),
        Case::new(Method::POST, "/oauth/register", r#"{"redirect_uris": ["http://localhost/x"]}"#, 201)
            .with("content-type", JSON),
        form("/oauth/nothing", "", 404),
        Case::new(Method::GET, "/authorize", "", 400),
        Case::new(
            Method::GET,
            &format!("/authorize?client_id={registered}&redirect_uri=http://localhost/x&response_type=token"),
            "",
            400,
        ),
        form("/sign-in", "email=ann%40example.org&secret=wrong", 403),
        form("/sign-out", "", 303),
        form("/account/tokens", "", 303),
        Case::new(Method::GET, "/nothing", "", 404),
    ]
}

/// The trail's record of the request `id`.
fn record(trail: &Path, id: &str) -> Option<Value> {
    let text = std::fs::read_to_string(trail).unwrap();
    let mut records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.find(|record| record["requestId"] == id)
}

/// Whether `record` says of a request what its answer did: a refusal is none that went well.
fn is_true(record: &Value, status: u16, body: &str) -> bool {
    let refused = status >= 400 || body.starts_with("[{") && body.contains("\"error\"");
    !refused || record["outcome"] != "ok"
}

#[actix_web::test]
async fn whoever_has_read_the_last_byte_finds_the_record() {
    let keys = format!(
        "access = \"read-write\"\n[[connections.procedures]]\nname = \"long\"\ndescription = \"d\"\n\
         sql = \"\"\"{LONG}\"\"\""
    );
    let service = Configuration::new().server(&format!("compression = true\n{TLS}")).sqlite("shop", &keys);
    let authority = Authority::new("own");
    authority.sign(service.path(), "server");
    let service = service.with("[oauth]\ndynamic_registration = true\n[audit]\nfile = \"audit.jsonl\"").serve().await;
    let trail = service.folder.path().join("audit.jsonl");
    let account = NewServiceAccount { name: "one".to_owned(), rights: Rights::only([CONNECTION], Scope::Write) };
    let mut store = Store::open(service.folder.path().join("portico.db")).unwrap();
    let (account, secret) = store.create_service_account(account).unwrap();
    let credential = format!("{}:{}", service.writer.name, service.writer.secret);
    let basic = format!("Basic {}", BASE64.encode(credential));
    let register = json!({"redirect_uris": ["http://localhost/x"]});
    let url = format!("https://localhost:{}/oauth/register", service.port());
    let registered = authority.speaking(None, &[b"http/1.1"]).post(url).json(&register).send().await.unwrap();
    let registered = registered.json::<Value>().await.unwrap()["client_id"].as_str().unwrap().to_owned();
    let people = people(&account.client_id, secret.expose_secret(), &registered);
    let cases: Vec<Case> = [api(&basic), mcp(&basic), people].into_iter().flatten().collect();
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    for (protocol, version) in [(b"http/1.1".as_slice(), Version::HTTP_11), (b"h2", Version::HTTP_2)] {
        let client = authority.speaking(None, &[protocol]);
        for (number, case) in cases.iter().enumerate() {
            let Case { method, path, status, .. } = case;
            let id = format!("{version:?}-{number}");
            let url = format!("https://localhost:{}{path}", service.port());
            let mut request = client.request(method.clone(), url).header("x-request-id", &id);
            for (name, value) in &case.headers {
                request = request.header(*name, value);
            }
            let response = request.body(case.body.clone()).send().await.unwrap();
            let status_told = response.status().as_u16();
            let told = format!("{version:?} {method} {path} {:?} {:.90}", case.headers, case.body);
            assert_eq!(response.version(), version);
            assert!(status.is_none_or(|status| response.status() == status), "{told}: {}", response.status());
            // One that fails behind its first byte may break off.
            let body = response.text().await.unwrap_or_default();
            match record(&trail, &id) {
                None => missing.push(told),
                Some(record) if !is_true(&record, status_told, &body) => wrong.push((told, record)),
                Some(_) => {}
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{} of {} answers came before their record: {missing:#?}",
        missing.len(),
        2 * cases.len()
    );
    assert!(wrong.is_empty(), "records that say something else than the answer: {wrong:#?}");
}

#[actix_web::test]
async fn strangers_who_send_slowly_take_nobodys_place() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"\nqueue = 2").await;
    let address = app.url.replace("http://localhost", "127.0.0.1");
    let mut slow = Vec::new();
    for path in ["/sign-in", "/sign-out", "/account/tokens", "/users/people", "/authorize", "/oauth/token"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: slow\r\nExpect: 100-continue\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
        );
        let mut socket = TcpStream::connect(&address).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut told = [0; 12];
        within("the body to be waited for", socket.read_exact(&mut told)).await.unwrap();
        assert_eq!(&told, b"HTTP/1.1 100", "{path}");
        slow.push(socket);
    }
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]));
    // Who leaves is recorded all the same: one after the other, since the queue has two places.
    let left = || records(&trail(&app)).iter().filter(|record| record["requestId"] == "slow").count();
    for (before, socket) in slow.into_iter().enumerate() {
        drop(socket);
        eventually("the record of who left", async || left() == before + 1).await;
    }
}

//! The decision table of the endpoint, both eras at one address: a row for each line, in the order
//! in which they are judged. Each row breaks its own rule and, where it can, every later one too.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::mcp::{BOTH, at_the_address_of_all};

/// One line: what is sent, and the status and the code of the error that come back.
struct Row {
    line: &'static str,
    method: Method,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
    status: u16,
    /// Of the error in the body; `None` where the body is a result or empty.
    code: Option<i64>,
}

const JSON: (&str, &str) = ("content-type", "application/json");
const TAKES: (&str, &str) = ("accept", BOTH);
const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn meta(version: &str) -> Value {
    json!({VERSION: version, "io.modelcontextprotocol/clientCapabilities": {}})
}

fn message(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn post(line: &'static str, headers: &[(&'static str, &'static str)], body: String, status: u16, code: i64) -> Row {
    Row { line, method: Method::POST, headers: headers.to_vec(), body, status, code: (code != 0).then_some(code) }
}

fn bare(line: &'static str, method: Method, headers: &[(&'static str, &'static str)], status: u16, code: i64) -> Row {
    Row { line, method, headers: headers.to_vec(), body: String::new(), status, code: (code != 0).then_some(code) }
}

/// Lines 5 to 16, with a credential that is good.
fn transport() -> Vec<Row> {
    let ping = || message("ping", json!({}));
    let handshake =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let stream = ("accept", "text/event-stream");
    vec![
        bare("5 no such method", Method::PUT, &[], 405, 0),
        bare("5 no such method", Method::PATCH, &[JSON], 405, 0),
        bare("6 GET of 2026-07-28", Method::GET, &[MODERN, stream], 405, 0),
        bare("6 DELETE of 2026-07-28", Method::DELETE, &[MODERN], 405, 0),
        bare("6 GET that takes no stream", Method::GET, &[("accept", "application/json")], 406, -32600),
        bare("6 GET that takes just anything", Method::GET, &[("accept", "*/*")], 406, -32600),
        bare("6 GET in no session that is known", Method::GET, &[stream, ("mcp-session-id", "x")], 404, 1300),
        bare("6 DELETE of no session", Method::DELETE, &[], 400, 1000),
        bare("6 DELETE of no session that is known", Method::DELETE, &[("mcp-session-id", "x")], 404, 1300),
        post("7 media type", &[("content-type", "text/plain"), ("accept", "text/html")], "{".to_owned(), 415, -32600),
        post("7 no media type", &[], "{".to_owned(), 415, -32600),
        post("8 takes neither", &[JSON, ("accept", "text/html")], "{".to_owned(), 406, -32600),
        post("8 takes JSON alone", &[JSON, ("accept", "application/json")], ping(), 200, 0),
        post("8 takes anything", &[JSON, ("accept", "*/*")], ping(), 200, 0),
        post("9 no JSON", &[JSON, TAKES, MODERN], "{\"jsonrpc\":".to_owned(), 400, -32700),
        post("10 a batch", &[JSON, TAKES], format!("[{}]", ping()), 400, -32600),
        post(
            "10 a batch, later",
            &[JSON, TAKES, ("mcp-protocol-version", "2025-06-18")],
            format!("[{}]", ping()),
            400,
            -32600,
        ),
        post(
            "10 a batch of 2025-03-26",
            &[JSON, TAKES, ("mcp-protocol-version", "2025-03-26")],
            format!("[{}]", ping()),
            200,
            0,
        ),
        post("11 no message", &[JSON, TAKES, MODERN], "{\"id\":1}".to_owned(), 400, -32600),
        post(
            "11 id null",
            &[JSON, TAKES],
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}).to_string(),
            400,
            -32600,
        ),
        post(
            "12 by the body",
            &[JSON, TAKES],
            message("tools/list", json!({"_meta": meta("2026-07-28")})),
            400,
            -32020,
        ),
        post("12 by the header", &[JSON, TAKES, MODERN], message("tools/list", json!({})), 400, -32602),
        post("12 by an unknown header", &[JSON, TAKES, ("mcp-protocol-version", "2030-01-01")], ping(), 400, -32602),
        post("13 a handshake", &[JSON, TAKES], message("initialize", handshake.clone()), 200, 0),
        post(
            "13 a handshake with a session",
            &[JSON, TAKES, ("mcp-session-id", "x")],
            message("initialize", handshake),
            200,
            0,
        ),
        // What names a revision and no session is served statelessly.
        post("14 no session", &[JSON, TAKES, ("mcp-protocol-version", "2025-11-25")], ping(), 200, 0),
        post("15 no session that is known", &[JSON, TAKES, ("mcp-session-id", "x")], ping(), 404, 1300),
        // A version that is none is modern, line 12; 16 remains for streams.
        bare("16 GET of no version", Method::GET, &[("mcp-protocol-version", "1.0"), stream], 400, 1000),
        bare("16 DELETE of no version", Method::DELETE, &[("mcp-protocol-version", "1.0")], 400, 1000),
    ]
}

/// Lines a to l, in the stateless era.
fn stateless() -> Vec<Row> {
    let list = ("mcp-method", "tools/list");
    let call = ("mcp-method", "tools/call");
    let good = || meta("2026-07-28");
    let tool = |name: &str| message("tools/call", json!({"name": name, "arguments": {}, "_meta": good()}));
    let row = |line, headers: &[(&'static str, &'static str)], body, status, code| {
        let headers: Vec<_> = [JSON, TAKES].into_iter().chain(headers.iter().copied()).collect();
        post(line, &headers, body, status, code)
    };
    let lists = |meta: Value| message("tools/list", json!({"_meta": meta}));
    let notification =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": good()}});
    let notification = notification.to_string();
    vec![
        row("a no version header", &[], lists(meta("2099-01-01")), 400, -32020),
        row("b another version", &[("mcp-protocol-version", "2025-11-25")], lists(good()), 400, -32020),
        row("c no version in _meta", &[MODERN], lists(json!({})), 400, -32602),
        row(
            "c no capabilities",
            &[("mcp-protocol-version", "2099-01-01")],
            lists(json!({VERSION: "2099-01-01"})),
            400,
            -32602,
        ),
        row("d not supported", &[("mcp-protocol-version", "2099-01-01")], lists(meta("2099-01-01")), 400, -32022),
        row("e no method header", &[MODERN], lists(good()), 400, -32020),
        row("e another method", &[MODERN, call], lists(good()), 400, -32020),
        row("e another notification", &[MODERN, call], notification.clone(), 400, -32020),
        row("e a notification that is not named", &[MODERN], notification, 202, 0),
        row("e a response", &[MODERN], json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(), 400, -32600),
        row(
            "f unknown",
            &[MODERN, ("mcp-method", "no/such")],
            message("no/such", json!({"_meta": good()})),
            404,
            -32601,
        ),
        row(
            "f removed",
            &[MODERN, ("mcp-method", "initialize")],
            message("initialize", json!({"_meta": good()})),
            404,
            -32601,
        ),
        row("g no name header", &[MODERN, call], tool("get_tables"), 400, -32020),
        row("g another name", &[MODERN, call, ("mcp-name", "get_schemas")], tool("get_tables"), 400, -32020),
        row("g wrong base64", &[MODERN, call, ("mcp-name", "=?base64?Z2V0?=")], tool("get_tables"), 400, -32020),
        row("j unknown tool", &[MODERN, call, ("mcp-name", "no")], tool("no"), 200, -32602),
        row(
            "j wrong cursor",
            &[MODERN, list],
            message("tools/list", json!({"cursor": "?", "_meta": good()})),
            200,
            -32602,
        ),
        row("l wrong arguments", &[MODERN, call, ("mcp-name", "execute_sql")], tool("execute_sql"), 200, 0),
        row("a session is ignored", &[MODERN, list, ("mcp-session-id", "x")], lists(good()), 200, 0),
    ]
}

#[actix_web::test]
async fn every_line_of_the_decision_table_holds() {
    let app = fixture::on_sqlite().await;
    for row in transport().into_iter().chain(stateless()) {
        let (status, code) = send(&app, &row).await;
        assert_eq!((status, code), (row.status, row.code), "{}: {:?} {}", row.line, row.headers, row.body);
    }
}

#[actix_web::test]
async fn lines_1_to_4_come_before_all_others() {
    let app = fixture::two_connections().await;
    let evil = ("origin", "https://evil.example");
    let wrong = ("authorization", "Bearer x");
    let agent: &'static str = Box::leak(format!("Bearer {}", app.token().await).into_boxed_str());
    let (other, unknown) = ("22222222-2222-4222-8222-222222222222", "00000000-0000-4000-8000-000000000001");
    for method in [Method::POST, Method::GET, Method::DELETE, Method::PUT] {
        for (line, id, headers, status) in [
            ("1 origin", unknown, vec![evil, wrong], 403),
            ("2 no credential", unknown, vec![], 401),
            ("2 a wrong one, in a session", unknown, vec![wrong, ("mcp-session-id", "x")], 401),
            ("2a no UUID", "nonsense", vec![("authorization", agent)], 400),
            ("3 out of reach", other, vec![("authorization", agent)], 403),
            ("3 out of reach before 4 unknown", unknown, vec![("authorization", agent)], 403),
        ] {
            let mut built = app.http.request(method.clone(), format!("{}/mcp/connections/{id}", app.url)).body("{");
            for (name, value) in headers {
                built = built.header(name, value);
            }
            let response = built.send().await.unwrap();
            assert_eq!(response.status(), status, "{method} {line}");
            let text = response.text().await.unwrap();
            let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{method} {line}: {text:?}"));
            let code = body["error"]["code"].as_i64().unwrap();
            assert!(body["id"].is_null() && code > 0, "{method} {line}: a client may take {code} for the protocol's");
        }
    }
}

async fn send(app: &TestApp, row: &Row) -> (u16, Option<i64>) {
    let built = app.http.request(row.method.clone(), app.mcp_url());
    let mut built = built.basic_auth(&app.writer.name, Some(&app.writer.secret)).body(row.body.clone());
    for (name, value) in &row.headers {
        built = built.header(*name, *value);
    }
    let response = built.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    assert!(!body.is_null() || [202, 405].contains(&status), "{}: {text:?}", row.line);
    (status, body["error"]["code"].as_i64())
}

at_the_address_of_all! {
    every_line_of_the_decision_table_holds
}

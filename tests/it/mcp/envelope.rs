//! The rules of the MCP endpoint: envelopes, eras, headers and statuses, a row for each rule.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::mcp::at_the_address_of_all;

/// Posts `body` with further headers, by the writer.
async fn post(app: &TestApp, body: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = app.http.post(app.mcp_url());
    request = request.basic_auth(&app.writer.name, Some(&app.writer.secret));
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn code(body: &str) -> (i64, Value) {
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["jsonrpc"], "2.0");
    (body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {body}")), body["id"].clone())
}

#[actix_web::test]
async fn malformed_bodies_are_400_with_the_id_that_could_be_read() {
    let app = fixture::on_sqlite().await;
    for (body, expected) in [
        ("", (-32700, Value::Null)),
        ("{\"jsonrpc\":", (-32700, Value::Null)),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", (-32600, Value::Null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", (-32600, Value::Null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"a\"}", (-32600, json!("a"))),
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":[]}", (-32600, json!(3))),
        // Whoever stands in front of us may read the first of two.
        (r#"{"jsonrpc":"2.0","id":1,"id":4,"method":"ping"}"#, (-32600, json!(4))),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/list"}"#, (-32600, json!(5))),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a","name":"b"}}"#, (-32600, json!(6))),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"a":1,"a":2}}}"#, (-32600, json!(7))),
    ] {
        let (status, answer) = post(&app, body, &[]).await;
        assert_eq!((status, code(&answer)), (400, expected), "{body}");
    }
    let (status, answer) = post(&app, "\u{fffd}", &[]).await;
    assert_eq!((status, code(&answer).0), (400, -32700));
}

#[actix_web::test]
async fn media_types_are_judged_before_the_body() {
    let app = fixture::on_sqlite().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(post(&app, "{", &[("content-type", "text/plain")]).await.0, 415);
    assert_eq!(post(&app, ping, &[("content-type", "application/json; charset=utf-8")]).await.0, 200);
    assert_eq!(post(&app, ping, &[("accept", "text/html")]).await.0, 406);
    for accept in ["*/*", "application/json", "text/event-stream", "application/json, text/event-stream"] {
        assert_eq!(post(&app, ping, &[("accept", accept)]).await.0, 200, "{accept}");
    }
}

#[actix_web::test]
async fn a_body_over_the_limit_is_413() {
    let app = fixture::on_sqlite().await;
    let (status, answer) = post(&app, &" ".repeat(5 * 1024 * 1024), &[]).await;
    assert_eq!((status, code(&answer).0), (413, 1800));
}

#[actix_web::test]
async fn the_handshake_negotiates_a_version() {
    let app = fixture::on_sqlite().await;
    for (asked, given) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let (status, body) = app.mcp(&app.writer, "initialize", params).await;
        assert_eq!((status, &body["result"]["protocolVersion"]), (200, &json!(given)), "{asked}");
        let offered = json!({"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {}, "logging": {}});
        assert_eq!(body["result"]["capabilities"], offered, "what is offered is what answers");
    }
    let (status, body) = app.mcp(&app.writer, "initialize", json!({})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
}

#[actix_web::test]
async fn requests_of_the_2025_revisions_need_no_session() {
    let app = fixture::on_sqlite().await;
    let (status, body) = app.mcp(&app.writer, "ping", json!({})).await;
    assert_eq!((status, &body["result"]), (200, &json!({})));
    let (status, body) = app.mcp(&app.writer, "no/such", json!({})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32601)));
    for notification in ["notifications/initialized", "notifications/cancelled", "anything"] {
        let body = json!({"jsonrpc": "2.0", "method": notification}).to_string();
        assert_eq!(post(&app, &body, &[]).await, (202, String::new()), "{notification}");
    }
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    assert_eq!(post(&app, &response, &[]).await.0, 202);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (status, body) = post(&app, ping, &[("mcp-session-id", "unknown")]).await;
    assert_eq!((status, code(&body).0), (404, 1300), "a session that was never given");
    assert_eq!(post(&app, ping, &[("mcp-protocol-version", "2025-06-18")]).await.0, 200);
}

/// A request of 2026-07-28, with the usual `_meta` where it has none of its own, and the headers that belong to it.
async fn modern(app: &TestApp, method: &str, params: Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut params = params;
    if params.get("_meta").is_none() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    let body = json!({"jsonrpc": "2.0", "id": "m", "method": method, "params": params}).to_string();
    let (status, text) = post(app, &body, headers).await;
    (status, serde_json::from_str(&text).unwrap())
}

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

#[actix_web::test]
async fn the_stateless_rim_checks_in_its_order() {
    let app = fixture::on_sqlite().await;
    let list = ("mcp-method", "tools/list");
    let other = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let bare = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let none = json!({"_meta": {}});
    type Row<'a> = (&'a str, Value, Vec<(&'a str, &'a str)>, u16, i64);
    let rows: Vec<Row<'_>> = vec![
        ("tools/list", json!({}), vec![list], 400, -32020),
        ("tools/list", json!({}), vec![("mcp-protocol-version", "2025-11-25"), list], 400, -32020),
        ("tools/list", none, vec![VERSION, list], 400, -32602),
        ("tools/list", bare, vec![VERSION, list], 400, -32602),
        ("tools/list", other, vec![("mcp-protocol-version", "2099-01-01"), list], 400, -32022),
        ("tools/list", json!({}), vec![VERSION], 400, -32020),
        ("tools/list", json!({}), vec![VERSION, ("mcp-method", "tools/call")], 400, -32020),
        ("initialize", json!({}), vec![VERSION, ("mcp-method", "initialize")], 404, -32601),
        ("ping", json!({}), vec![VERSION, ("mcp-method", "ping")], 404, -32601),
        ("tools/call", json!({"name": "get_tables"}), vec![VERSION, ("mcp-method", "tools/call")], 400, -32020),
        (
            "tools/call",
            json!({"name": "get_tables"}),
            vec![VERSION, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?!?=")],
            400,
            -32020,
        ),
        (
            "tools/call",
            json!({"name": "no_such_tool"}),
            vec![VERSION, ("mcp-method", "tools/call"), ("mcp-name", "no_such_tool")],
            200,
            -32602,
        ),
        ("tools/list", json!({"cursor": "wrong"}), vec![VERSION, list], 200, -32602),
    ];
    for (method, params, headers, status, code) in rows {
        let (got, body) = modern(&app, method, params.clone(), &headers).await;
        assert_eq!((got, &body["error"]["code"]), (status, &json!(code)), "{method} {params} {headers:?}: {body}");
        assert_eq!(body["id"], "m");
    }
    let unsupported = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2025-11-25",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let (_, body) = modern(&app, "tools/list", unsupported, &[("mcp-protocol-version", "2025-11-25"), list]).await;
    assert_eq!(body["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (status, body) = post(&app, ping, &[("mcp-protocol-version", "1999-01-01")]).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)));
    let message = "the header MCP-Protocol-Version says \"1999-01-01\", which is not supported; supported: 2025-03-26, \
                   2025-06-18, 2025-11-25, 2026-07-28";
    assert_eq!(body["error"]["message"], message);
}

#[actix_web::test]
async fn stateless_results_say_what_they_are() {
    let app = fixture::on_sqlite().await;
    let (status, body) =
        modern(&app, "server/discover", json!({}), &[VERSION, ("mcp-method", "server/discover")]).await;
    let result = &body["result"];
    assert_eq!((status, &result["supportedVersions"]), (200, &json!(["2026-07-28"])));
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "portico");
    let (_, body) = modern(&app, "tools/list", json!({}), &[VERSION, ("mcp-method", "tools/list")]).await;
    assert!(body["result"]["ttlMs"].is_u64() && body["result"]["tools"].is_array());
    let params = json!({"name": "execute_select", "arguments": {"query": "SELECT 1 AS n"}});
    let headers = [VERSION, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?ZXhlY3V0ZV9zZWxlY3Q=?=")];
    let (status, body) = modern(&app, "tools/call", params, &headers).await;
    assert_eq!((status, &body["result"]["resultType"]), (200, &json!("complete")));
    assert_eq!(body["result"]["structuredContent"]["rows"], json!([[1]]));
    assert!(body["result"].get("ttlMs").is_none(), "a call is not to be kept");
}

#[actix_web::test]
async fn filters_are_checked_whatever_the_method() {
    let app = fixture::on_sqlite().await;
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    for query in ["tools=", "tools=sql,", "ops=nonsense", "tools=SQL", "ops=get_tables&tools=,sql"] {
        let url = format!("{}?{query}", app.mcp_url());
        let request = app.http.post(url).basic_auth(&app.writer.name, Some(&app.writer.secret));
        let response = request.header("content-type", "application/json").body(ping).send().await.unwrap();
        let (status, body) = read(response).await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(-32602), &json!(9)), "{query}");
        let named = if query.contains("tools=S") || query.contains("tools=s") || query.contains("tools=") {
            "tools"
        } else {
            "ops"
        };
        assert!(body["error"]["message"].as_str().unwrap().contains(named), "{body}");
    }
}

at_the_address_of_all! {
    malformed_bodies_are_400_with_the_id_that_could_be_read
    media_types_are_judged_before_the_body
    a_body_over_the_limit_is_413
    the_handshake_negotiates_a_version
    requests_of_the_2025_revisions_need_no_session
    the_stateless_rim_checks_in_its_order
    stateless_results_say_what_they_are
    filters_are_checked_whatever_the_method
}

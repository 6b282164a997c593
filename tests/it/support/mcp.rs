//! Clients of both eras of MCP, as small as they can be.

use std::cell::Cell;

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::app::{CONNECTION, Caller, TestApp, read};

/// What clients of streams accept.
pub(crate) const BOTH: &str = "application/json, text/event-stream";
/// A statement that never ends and never has a row.
pub(crate) const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

thread_local! {
    /// The path of the MCP endpoint that the tests of this thread try.
    static ADDRESS: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The path of the MCP endpoint that is to be tried: the first connection's, unless a test says another one.
pub(crate) fn address() -> String {
    ADDRESS.get().map_or_else(|| format!("/mcp/connections/{CONNECTION}"), str::to_owned)
}

/// Runs `test`, which was written for one connection, at the address of all.
pub(crate) fn run_at_the_address_of_all(test: fn()) {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            ADDRESS.set(None);
        }
    }
    let _reset = Reset;
    ADDRESS.set(Some("/mcp"));
    test();
}

/// Has tests of one connection hold at the address of all too, where that is the only one.
macro_rules! at_the_address_of_all {
    ($($test:ident)*) => {
        mod at_the_address_of_all {
            $(#[test] fn $test() {
                $crate::support::mcp::run_at_the_address_of_all(super::$test);
            })*
        }
    };
}
pub(crate) use at_the_address_of_all;

/// A JSON-RPC request as text.
pub(crate) fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The parameters of `execute_select` with a progress token.
pub(crate) fn select(query: &str, token: &Value) -> Value {
    json!({"name": "execute_select", "arguments": {"query": query}, "_meta": {"progressToken": token}})
}

/// A request of 2026-07-28 by `by`, with the headers that belong to it. The client can do what
/// `params` declares, or nothing.
pub(crate) fn modern(app: &TestApp, by: &Caller, id: &Value, method: &str, params: Value) -> RequestBuilder {
    modern_at(app.mcp_request().basic_auth(&by.name, Some(&by.secret)), id, method, params)
}

/// The same at an address.
pub(crate) fn modern_at(address: RequestBuilder, id: &Value, method: &str, mut params: Value) -> RequestBuilder {
    let name = params["name"].as_str().or(params["taskId"].as_str()).map(str::to_owned);
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    let declared = &mut params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    if declared.is_null() {
        *declared = json!({});
    }
    let built = address.header("accept", BOTH);
    let built = built.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    let built = match name {
        Some(name) => built.header("mcp-name", name),
        None => built,
    };
    built.body(request(id, method, &params))
}

/// A client in a session of one of the 2025 revisions.
pub(crate) struct Client<'a> {
    pub(crate) app: &'a TestApp,
    pub(crate) by: &'a Caller,
    pub(crate) session: String,
}

impl<'a> Client<'a> {
    /// Begins a session.
    pub(crate) async fn begin(app: &'a TestApp, by: &'a Caller, version: &str) -> Self {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let built = app.mcp_request().basic_auth(&by.name, Some(&by.secret));
        let response = built.body(request(&json!(0), "initialize", &params)).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let (status, body) = read(response).await;
        assert_eq!((status, &body["result"]["protocolVersion"]), (200, &json!(version)));
        Self { app, by, session }
    }

    fn dress(&self, built: RequestBuilder) -> RequestBuilder {
        built.basic_auth(&self.by.name, Some(&self.by.secret)).header("mcp-session-id", &self.session)
    }

    /// Posts a body.
    pub(crate) async fn post(&self, body: String) -> Response {
        self.dress(self.app.mcp_request()).header("accept", BOTH).body(body).send().await.unwrap()
    }

    /// Posts a request.
    pub(crate) async fn ask(&self, id: Value, method: &str, params: Value) -> Response {
        self.post(request(&id, method, &params)).await
    }

    /// Posts a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let response = self.post(body).await;
        assert_eq!((response.status().as_u16(), response.text().await.unwrap()), (202, String::new()));
    }

    /// Opens a GET stream, behind the event `last` if there is one.
    pub(crate) async fn get(&self, last: Option<&str>) -> Response {
        let built = self.app.http.get(self.app.mcp_url());
        let built = self.dress(built).header("accept", "text/event-stream");
        match last {
            Some(last) => built.header("last-event-id", last).send().await.unwrap(),
            None => built.send().await.unwrap(),
        }
    }

    /// Ends the session.
    pub(crate) async fn delete(&self) -> u16 {
        let built = self.app.http.delete(self.app.mcp_url());
        self.dress(built).send().await.unwrap().status().as_u16()
    }
}

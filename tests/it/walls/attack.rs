//! How generated attacks are drawn, sent and told.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, Caller, DEADLINE};
pub(crate) use crate::support::dice::{Random, cases};
use crate::support::service::Service;

/// The ways in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Query,
    Batch,
    ExecuteSql,
    ExecuteSelect,
    /// At the MCP address of all that the caller reaches.
    ExecuteSelectOfAll,
    /// Over names of the workspace `open`.
    Workspace,
    /// At the MCP address of it.
    ExecuteSqlOfWorkspace,
}

pub(super) const CHANNELS: [Channel; 7] = [
    Channel::Query,
    Channel::Batch,
    Channel::ExecuteSql,
    Channel::ExecuteSelect,
    Channel::ExecuteSelectOfAll,
    Channel::Workspace,
    Channel::ExecuteSqlOfWorkspace,
];

/// What came back, whole.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

impl Answer {
    /// Whether the statement ran.
    pub(super) fn passed(&self) -> bool {
        let Ok(body) = serde_json::from_str::<Value>(&self.text) else { return false };
        self.status == 200 && body.get("error").is_none() && body["result"]["isError"] != true
    }

    /// Its beginning, for people.
    pub(super) fn beginning(&self) -> String {
        self.text.chars().take(300).collect()
    }
}

/// One statement through one of the ways in, with further members of the body or of the arguments.
pub(super) fn request(
    service: &Service,
    by: &Caller,
    channel: Channel,
    text: &str,
    values: &Value,
    more: &[(&str, Value)],
) -> RequestBuilder {
    let with = |mut body: Value| {
        for (name, value) in more {
            body[*name] = value.clone();
        }
        body
    };
    let http = |path: &str| service.http.post(format!("{}{path}", service.url)).basic_auth(&by.name, Some(&by.secret));
    let one = format!("/mcp/connections/{CONNECTION}");
    let tool = |path: &str, name: &str| {
        let mut arguments = json!({"query": text, "timeout": 10});
        if values.as_object().is_some_and(|values| !values.is_empty()) {
            arguments["parameters"] = values.clone();
        }
        let params = json!({"name": name, "arguments": with(arguments)});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        http(path).json(&body)
    };
    match channel {
        Channel::Query => http("/api/query").json(&with(json!({"query": text, "parameters": values, "timeout": 10}))),
        Channel::Batch => http("/api/batch").json(&with(json!({"query": text, "parameters": [values], "timeout": 10}))),
        Channel::ExecuteSql => tool(&one, "execute_sql"),
        Channel::ExecuteSelect => tool(&one, "execute_select"),
        Channel::ExecuteSelectOfAll => tool("/mcp", "execute_select"),
        Channel::Workspace => {
            let body = json!({"query": text, "parameters": values, "timeout": 10});
            http("/api/query?workspace=open").json(&with(body))
        }
        Channel::ExecuteSqlOfWorkspace => tool("/mcp/workspaces/open", "execute_sql"),
    }
}

/// One call of a routine through the way that stands nearest: as a procedure of the SQL API, as a procedure or as a
/// tool of its own at the MCP addresses.
pub(super) fn call(
    service: &Service,
    by: &Caller,
    channel: Channel,
    routine: &str,
    arguments: &Value,
    more: &[(&str, Value)],
) -> RequestBuilder {
    let http = |path: &str| service.http.post(format!("{}{path}", service.url)).basic_auth(&by.name, Some(&by.secret));
    let tool = |path: &str, name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        http(path).json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    };
    let one = format!("/mcp/connections/{CONNECTION}");
    match channel {
        Channel::Query | Channel::Batch => {
            let mut body = json!({"procedure": routine, "parameters": arguments});
            for (name, value) in more {
                body[*name] = value.clone();
            }
            http("/api/exec").json(&body)
        }
        Channel::ExecuteSql => tool(&one, "execute_procedure", json!({"procedure": routine, "parameters": arguments})),
        Channel::ExecuteSelect => tool(&one, routine, arguments.clone()),
        // A workspace has no routines.
        Channel::ExecuteSelectOfAll | Channel::Workspace | Channel::ExecuteSqlOfWorkspace => {
            tool("/mcp", routine, arguments.clone())
        }
    }
}

/// Sends it and reads the answer to its end. One that does not end has failed the test.
pub(super) async fn send(request: RequestBuilder) -> Answer {
    let response = request.timeout(DEADLINE).send().await.expect("an answer in time");
    let status = response.status().as_u16();
    let octets = response.bytes().await.expect("the whole answer");
    Answer { status, text: String::from_utf8_lossy(&octets).into_owned() }
}

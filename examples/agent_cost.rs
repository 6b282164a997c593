//! What an agent pays at an MCP address, in tokens: the list of tools, the instructions, an answer in each form, errors.
//! Run it beside a service, with and without a switch, to see what the switch saves.
//!
//! ```sh
//! PORTICO_TOKEN=a-token cargo run --example agent_cost -- http://localhost:8787/mcp/connections/sales "SELECT * FROM orders"
//! ```
//!
//! A token is counted as four bytes, which is about what tokenizers make of such texts.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use serde_json::{Value, json};

/// Addresses whose lists are compared: all, the leanest for reading, the leanest for writing, and those without tools made
/// from procedures.
const ADDRESSES: [&str; 4] = [
    "",
    "?ops=get_instructions,get_columns,execute_select",
    "?ops=get_instructions,get_columns,execute_select,execute_insert,execute_update",
    "?tools=universal,sql",
];

/// Calls that fail, and what each shows.
const MISTAKES: [(&str, &str, &str); 6] = [
    ("an unknown table", "execute_select", "SELECT * FROM no_such_table"),
    ("an unknown column", "execute_select", "SELECT no_such_column FROM ({query}) q"),
    ("a syntax error", "execute_select", "SELEC 1"),
    ("another dialect's function", "execute_select", "SELECT GETDATE()"),
    ("a write by the reading tool", "execute_select", "DELETE FROM no_such_table"),
    ("two statements", "execute_select", "SELECT 1; SELECT 2"),
];

fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

struct Agent {
    http: reqwest::Client,
    address: String,
    token: String,
}

impl Agent {
    async fn ask(&self, query: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.http.post(format!("{}{query}", self.address)).bearer_auth(&self.token);
        let response = request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{method}: {status}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// What a model is shown of the tools at the address with this query string.
    async fn tools(&self, query: &str) -> (usize, String) {
        let (mut all, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let page = self.ask(query, "tools/list", params).await;
            all.extend(page["result"]["tools"].as_array().unwrap().iter().cloned());
            cursor = page["result"]["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        let shown = all.iter().map(|tool| {
            let text = |member: &str| tool[member].as_str().unwrap_or_default().to_owned();
            format!("{}\n{}\n{}\n", text("name"), text("description"), tool["inputSchema"])
        });
        (all.len(), shown.collect())
    }

    /// The text of a call's answer, and the octets of all of it.
    async fn call(&self, name: &str, arguments: Value) -> (String, usize) {
        let answer = self.ask("", "tools/call", json!({"name": name, "arguments": arguments})).await;
        let text = answer["result"]["content"][0]["text"].as_str().or(answer["error"]["message"].as_str());
        (text.unwrap_or_default().to_owned(), answer.to_string().len())
    }
}

fn line(what: &str, tokens: usize, more: &str) {
    println!("{tokens:>8}  {what}{more}");
}

#[actix_web::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().expect("the URL of an MCP address is the first argument");
    let query = arguments.next().unwrap_or_else(|| "SELECT 1 AS one".to_owned());
    let token = std::env::var("PORTICO_TOKEN").expect("PORTICO_TOKEN is a personal access token or an access token");
    let agent = Agent { http: reqwest::Client::new(), address, token };
    println!("  tokens  what (a token is counted as 4 bytes)");
    for query in ADDRESSES {
        let (count, shown) = agent.tools(query).await;
        line(&format!("tools/list{query}"), tokens(&shown), &format!(", {count} tools, read again at each turn"));
    }
    let (instructions, _) = agent.call("get_instructions", json!({})).await;
    line("get_instructions", tokens(&instructions), "");
    for format in ["json", "csv", "markdown"] {
        let (text, sent) = agent.call("execute_select", json!({"query": query, "format": format})).await;
        line(&format!("{query} as {format}"), tokens(&text), &format!(", {} with structuredContent", sent.div_ceil(4)));
    }
    for (what, tool, statement) in MISTAKES {
        let statement = statement.replace("{query}", &query);
        let (words, _) = agent.call(tool, json!({"query": statement})).await;
        line(what, tokens(&words), &format!(": {}", words.replace('\n', " | ")));
    }
}

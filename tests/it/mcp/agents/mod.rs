//! What an agent pays for and what it makes of it: sizes, results, guards, and mistakes that lead on.
#![expect(clippy::print_stdout, reason = "the figures are read where the tests ran")]

mod guards;
mod large;
mod listings;
mod mistakes;
mod questions;
mod sizes;

use serde_json::Value;

use crate::support::app::TestApp;

/// Tokens of a text, as they are counted here: four bytes are about one.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The tools that the writer is shown at the connection's address with this query.
pub(super) async fn listed(app: &TestApp, query: &str) -> Vec<Value> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = app.http.post(format!("{}{query}", app.mcp_url()));
    let request = request.basic_auth(&app.writer.name, Some(&app.writer.secret));
    let request = request.header("content-type", "application/json").body(body);
    let (status, mut body) = crate::support::app::read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    match body["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("{other}"),
    }
}

/// What a model is shown of tools: name, description and input schema.
pub(super) fn shown(tools: &[Value]) -> String {
    let each = tools.iter().map(|tool| {
        format!(
            "{}\n{}\n{}\n",
            tool["name"].as_str().unwrap(),
            tool["description"].as_str().unwrap(),
            tool["inputSchema"]
        )
    });
    each.collect()
}

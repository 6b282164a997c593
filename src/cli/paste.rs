//! What to paste into each client to reach one MCP endpoint, as their documentation had it in November 2026.

use serde_json::{Value, json};

/// An endpoint, and who calls there.
pub(super) struct Endpoint<'a> {
    /// The connection's name, and that of the server in clients.
    pub(super) name: &'a str,
    /// The origin of the service.
    pub(super) base: &'a str,
    /// The address for MCP.
    pub(super) mcp: &'a str,
    /// The token, or what stands for it.
    pub(super) token: &'a str,
}

/// Each client's name, and what it takes.
pub(super) fn lines(endpoint: &Endpoint<'_>) -> Vec<(&'static str, String)> {
    let Endpoint { name, base, mcp, token } = endpoint;
    let program = std::env::current_exe().map_or_else(|_| "portico".to_owned(), |path| path.display().to_string());
    let bearer = format!("Authorization: Bearer {token}");
    let headers = json!({"Authorization": format!("Bearer {token}")});
    let servers = |server: Value| json!({"mcpServers": {*name: server}}).to_string();
    let launched = json!({
        "command": program,
        "args": ["stdio", "--connection", name, "--server", base],
        "env": {"PORTICO_TOKEN": token},
    });
    vec![
        // https://docs.claude.com/en/docs/claude-code/mcp
        ("Claude Code", format!("claude mcp add --transport http {name} {mcp} --header \"{bearer}\"")),
        // https://modelcontextprotocol.io/docs/develop/connect-local-servers: launched programs alone.
        ("Claude Desktop", servers(launched)),
        // https://cursor.com/docs/context/mcp
        ("Cursor", servers(json!({"url": mcp, "headers": headers}))),
        // https://code.visualstudio.com/docs/copilot/customization/mcp-servers
        (
            "VS Code",
            format!("code --add-mcp '{}'", json!({"name": name, "type": "http", "url": mcp, "headers": headers})),
        ),
        // https://developers.openai.com/codex/mcp: the token stays in the environment.
        ("Codex", format!("codex mcp add {name} --url {mcp} --bearer-token-env-var PORTICO_TOKEN")),
        // https://geminicli.com/docs/tools/mcp-server
        ("Gemini CLI", format!("gemini mcp add --transport http --header \"{bearer}\" {name} {mcp}")),
        (
            "curl",
            format!(
                "curl -s {base}/api/query -H \"{bearer}\" -H \"Content-Type: application/json\" -d '{}'",
                json!({"query": "SELECT 1 AS n", "defaultCatalog": name})
            ),
        ),
    ]
}

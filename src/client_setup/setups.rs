//! The set-up of each client: the entry in its file, according to its documentation, and what to paste. The sources
//! are in `client.rs`.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use super::mcp_server::McpServer;
use super::programs;
use super::setup::{ClientAuth, ClientSetup, Entry, File};

/// Returns the set-up of `client` for `place`; `program` is this program, for clients that launch programs.
pub(crate) fn form(client: Client, place: &McpServer, credential: &ClientAuth, program: &Path) -> ClientSetup {
    let (url, name, token) = (place.mcp_url(), place.name(), credential.token());
    let with_headers = |mut entry: Value| {
        if let Some(token) = token {
            entry["headers"] = json!({"Authorization": format!("Bearer {token}")});
        }
        entry
    };
    let mut form = ClientSetup::default();
    let entry = match client {
        _ if client.launches(place) => {
            let mut entry = json!({"command": program, "args": place.stdio()});
            if let Some(token) = token {
                entry["env"] = json!({"PORTICO_TOKEN": token});
            }
            Entry::Json("mcpServers", entry)
        }
        Client::ClaudeCode => Entry::Json("mcpServers", with_headers(json!({"type": "http", "url": url}))),
        Client::Cursor => Entry::Json("mcpServers", with_headers(json!({"url": url}))),
        Client::Vscode => Entry::Json("servers", with_headers(json!({"type": "http", "url": url}))),
        Client::Gemini => Entry::Json("mcpServers", with_headers(json!({"httpUrl": url}))),
        Client::Codex => {
            let mut keys = vec![("url", url.clone())];
            if token.is_some() {
                keys.push(("bearer_token_env_var", place.variable()));
            }
            Entry::Toml("mcp_servers", keys)
        }
        _ => return programs::form(client, place, token),
    };
    let text = entry.text(name);
    let command = command(client, name, place, token);
    form.what = match client.file_for_people() {
        Some(file) if command.is_none() => format!("Put this into {file}"),
        _ => "Run this, once".to_owned(),
    };
    form.paste = command.unwrap_or_else(|| text.clone());
    after(&mut form, client, name, place, token);
    let has_comments = matches!(client, Client::Cursor | Client::Vscode | Client::Gemini);
    // Codex takes its token from the environment.
    let has_secret = matches!(credential, ClientAuth::Token(_)) && client != Client::Codex;
    let format = if matches!(entry, Entry::Toml(..)) { "toml" } else { "json" };
    form.file = Some(File { format, text, entry, has_comments, has_secret });
    form
}

/// The command of `client` that puts it into the client's own file, where it has one.
fn command(client: Client, name: &str, place: &McpServer, token: Option<&str>) -> Option<String> {
    let url = programs::quoted(&place.mcp_url());
    let header = || token.map(|token| format!(" --header \"Authorization: Bearer {token}\"")).unwrap_or_default();
    Some(match client {
        Client::ClaudeCode => format!("claude mcp add --transport http --scope user {name} {url}{}", header()),
        Client::Gemini => format!("gemini mcp add --transport http --scope user{} {name} {url}", header()),
        // It asks its user to sign in at once if the server supports OAuth.
        Client::Codex => {
            let variable = token.map(|_| format!(" --bearer-token-env-var {}", place.variable()));
            format!("codex mcp add {name} --url {url}{}", variable.unwrap_or_default())
        }
        _ => return None,
    })
}

/// Adds notes on what is left to do once the client has the set-up.
fn after(form: &mut ClientSetup, client: Client, name: &str, place: &McpServer, token: Option<&str>) {
    let mut note = |text: String| form.notes.push(text);
    match (client, token) {
        (Client::ClaudeCode, None) => {
            note(format!("claude mcp login {name} signs you in, and so does /mcp in Claude Code."));
        }
        (Client::ClaudeCode, Some(_)) => note("In Claude Code, /mcp shows whether it is connected.".to_owned()),
        (Client::ClaudeDesktop, None) => {
            note("Start Claude Desktop anew. The first call opens a browser for you to sign in.".to_owned());
        }
        (Client::ClaudeDesktop, Some(_)) => note("Start Claude Desktop anew.".to_owned()),
        (Client::Cursor, _) if client.launches(place) => note(
            "Cursor listens on port 8787 of this machine while it signs you in, so it has a program speak to what is \
             there. In its settings, under Tools & MCP, switch it on."
                .to_owned(),
        ),
        (Client::Cursor, None) => {
            note("In Cursor's settings, under Tools & MCP, \"Needs login\" signs you in.".to_owned());
        }
        (Client::Cursor, Some(_)) => note(
            "Cursor may have you sign in all the same: it follows what a server says of OAuth before its file."
                .to_owned(),
        ),
        (Client::Vscode, None) => {
            note("In VS Code, start it from MCP: List Servers; a browser opens for you to sign in.".to_owned());
        }
        (Client::Vscode, Some(_)) => {
            note("In VS Code, start it from MCP: List Servers. Settings Sync takes the file, and the token in it, along.".to_owned());
        }
        (Client::Codex, None) => {
            form.commands.push(format!("codex mcp login {name}"));
            form.notes.push(format!("It opens a browser for you to sign in; codex mcp login {name} does so again."));
        }
        (Client::Codex, Some(token)) => {
            let export = format!("export {}={}", place.variable(), programs::quoted(token));
            form.notes.push(format!("Start Codex with the token in its environment: {export}"));
            form.commands.push(export);
        }
        (Client::Gemini, None) => note(format!("In Gemini CLI, /mcp auth {name} signs you in.")),
        (Client::Gemini, Some(_)) => note("In Gemini CLI, /mcp shows whether it is connected.".to_owned()),
        _ => {}
    }
}

//! Where clients have their own files.

use std::env;
use std::path::PathBuf;

use crate::client_setup::client::Client;

/// Returns the client's own user-wide file; `None` if it has none, or the home folder is unknown.
pub(super) fn own_file(client: Client) -> Option<PathBuf> {
    let home = || folder("HOME");
    // Where programs of a desktop keep their settings.
    let settings = || {
        if cfg!(target_os = "macos") {
            home().map(|home| home.join("Library/Application Support"))
        } else {
            folder("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))
        }
    };
    match client {
        Client::ClaudeCode => folder("CLAUDE_CONFIG_DIR").or_else(home).map(|folder| folder.join(".claude.json")),
        Client::ClaudeDesktop => settings().map(|folder| folder.join("Claude/claude_desktop_config.json")),
        Client::Cursor => home().map(|home| home.join(".cursor/mcp.json")),
        Client::Vscode => settings().map(|folder| folder.join("Code/User/mcp.json")),
        Client::Codex => {
            let own = folder("CODEX_HOME").or_else(|| home().map(|home| home.join(".codex")));
            own.map(|folder| folder.join("config.toml"))
        }
        Client::Gemini => home().map(|home| home.join(".gemini/settings.json")),
        Client::Inspector | Client::Python | Client::Typescript | Client::Curl => None,
    }
}

/// The folder that a variable names.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

//! The redirect URIs of published clients: those on the client's own machine, and those that its makers document.
//! Answers are sent nowhere else.

/// An address that a published client has, with the client and where that is written.
struct KnownAddress {
    uri: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "it is for whoever reads or changes the list"))]
    client: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "it is for whoever reads or changes the list"))]
    source: &'static str,
}

/// Redirect URIs beyond loopback of clients that register themselves, looked up on 2026-11-25: VS Code's in its
/// source, the others in excerpts of those pages and in texts of servers that quote them. Clients that only use
/// loopback are not listed: Claude Code 2.1 (`http://localhost:PORT/callback`), Codex 0.169
/// (`http://127.0.0.1:PORT/callback`), Gemini CLI 0.61 (`http://localhost:PORT/oauth/callback`), the MCP Inspector
/// 2.12 (`http://127.0.0.1:6276/oauth/callback`, its page `http://localhost:6274/oauth/callback`), mcp-remote 0.15
/// (`http://localhost:PORT/oauth/callback`), and newer desktops of Cursor (`http://localhost:8787/callback`).
const KNOWN: [KnownAddress; 6] = [
    KnownAddress {
        uri: "cursor://anysphere.cursor-mcp/oauth/callback",
        client: "Cursor",
        source: "https://cursor.com/docs/mcp, Static OAuth",
    },
    KnownAddress {
        uri: "https://www.cursor.com/agents/mcp/oauth/callback",
        client: "Cursor's agents on the web",
        source: "https://cursor.com/docs/mcp, Static OAuth",
    },
    KnownAddress {
        uri: "https://vscode.dev/redirect",
        client: "Visual Studio Code",
        source: "https://github.com/microsoft/vscode at 05f882b0, src/vs/base/common/oauth.ts, fetchDynamicRegistration",
    },
    KnownAddress {
        uri: "https://insiders.vscode.dev/redirect",
        client: "Visual Studio Code Insiders",
        source: "https://github.com/microsoft/vscode at 05f882b0, src/vs/base/common/oauth.ts, fetchDynamicRegistration",
    },
    KnownAddress {
        uri: "https://claude.ai/api/mcp/auth_callback",
        client: "Claude's connectors",
        source: "https://support.claude.com/en/articles/11503834",
    },
    KnownAddress {
        uri: "https://claude.com/api/mcp/auth_callback",
        client: "Claude's connectors",
        source: "https://support.claude.com/en/articles/11503834",
    },
];

/// Whether answers to `uri` reach a program on the person's own machine, or a published client.
pub(crate) fn is_known(uri: &str) -> bool {
    loopback(uri).is_some() || is_published(uri)
}

/// Whether a published client has that address, character by character.
pub(crate) fn is_published(uri: &str) -> bool {
    KNOWN.iter().any(|known| known.uri == uri)
}

/// Host and everything behind the port of an `http` address on this machine.
pub(crate) fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = match authority.strip_prefix("[::1]") {
        Some(port) => (authority.get(..5)?, port),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let numbered = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok() && !digits.starts_with('+'));
    (numbered && matches!(host, "127.0.0.1" | "[::1]" | "localhost")).then_some((host, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_addresses_are_known_character_by_character() {
        for known in &KNOWN {
            assert!(is_known(known.uri) && !known.client.is_empty() && known.source.starts_with("https://"));
            for near in [
                format!("{}/", known.uri),
                format!("{}?x=1", known.uri),
                format!("{}.evil.example", known.uri),
                known.uri.replacen("://", "://evil.example/", 1),
                known.uri.to_uppercase(),
            ] {
                assert!(!is_known(&near), "{near}");
            }
        }
        assert!(is_known("http://127.0.0.1:33418/") && is_known("http://localhost:1/callback"));
        for other in ["https://app.example/cb", "http://app.example/cb", "vscode://x/y", ""] {
            assert!(!is_known(other), "{other}");
        }
    }
}

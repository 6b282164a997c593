//! The clients, and what each of them knows, on 2026-11-25. Where a version stands, that program took our form on that day,
//! was connected by it, and where it signs in was signed in; of the others excerpts of the page were read.

use super::mcp_server::McpServer;
use crate::config::OAuth;

/// A client that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Claude Code 2.1.331: `claude mcp add --help`, <https://code.claude.com/docs/en/mcp>.
    ClaudeCode,
    /// Claude Desktop, whose file takes programs to launch alone:
    /// <https://modelcontextprotocol.io/docs/develop/connect-local-servers>.
    ClaudeDesktop,
    /// Cursor: <https://cursor.com/docs/mcp>. Signing in, it listens on port 8787 of its machine, as the page has it: where
    /// a service is there already, it launches a program instead.
    Cursor,
    /// Visual Studio Code: <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>; of signing in, its source
    /// (`actors/auth/src/oauth/redirects.rs`).
    Vscode,
    /// Codex 0.169.0, whose file takes no token: `codex mcp add --help`, <https://developers.openai.com/codex/mcp>.
    Codex,
    /// Gemini CLI 0.61.0, with a token: docs/tools/mcp-server.md of its package @google/gemini-cli.
    Gemini,
    /// The MCP Inspector's command line, 2.12.0: README.md of its package @modelcontextprotocol/inspector.
    Inspector,
    /// Python's package mcp, 2.3.0: <https://pypi.org/project/mcp/>.
    Python,
    /// npm's `@modelcontextprotocol/client`, 2.4.0: <https://www.npmjs.com/package/@modelcontextprotocol/client>.
    Typescript,
    /// curl.
    Curl,
}

impl Client {
    /// All of them, in the order in which people are shown them.
    pub(crate) const ALL: [Self; 10] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::Vscode,
        Self::Codex,
        Self::Gemini,
        Self::Inspector,
        Self::Python,
        Self::Typescript,
        Self::Curl,
    ];

    /// The client of that word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == word)
    }

    /// Those that are shown to somebody who has just got a server and a token, or sits before a browser.
    pub(crate) const SHOWN: [Self; 7] =
        [Self::ClaudeCode, Self::ClaudeDesktop, Self::Cursor, Self::Vscode, Self::Codex, Self::Gemini, Self::Curl];

    /// Its word on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Inspector => "inspector",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Curl => "curl",
        }
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Vscode => "Visual Studio Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Inspector => "the MCP Inspector",
            Self::Python => "Python",
            Self::Typescript => "TypeScript",
            Self::Curl => "curl",
        }
    }

    /// Whether it has whoever uses it sign in with a browser, by itself or, where it launches `portico stdio`, by that.
    const fn signs_in(self) -> bool {
        !matches!(self, Self::Python | Self::Typescript | Self::Curl)
    }

    /// Whether whoever uses it can sign in at a server with these settings, or at one of which nothing is known.
    pub(crate) fn may_sign_in(self, oauth: Option<OAuth>) -> bool {
        self.signs_in() && oauth.is_none_or(|oauth| oauth.admits_published(self.describes_itself()))
    }

    /// Whether signing in is better than a token in its file. Cursor follows what a server says of OAuth and leaves
    /// headers of its file aside; VS Code may send its file to other machines (Settings Sync); Codex has to find a token
    /// in its environment whenever it starts.
    pub(crate) fn prefers_sign_in(self, place: &McpServer) -> bool {
        matches!(self, Self::Cursor | Self::Vscode | Self::Codex) && !self.launches(place)
    }

    /// Whether it launches a program that speaks for `place`.
    pub(crate) fn launches(self, place: &McpServer) -> bool {
        self == Self::ClaudeDesktop || (self == Self::Cursor && place.has_cursors_port())
    }

    /// Whether it has a description at an address of its own (Client ID Metadata Document): Claude Code and Codex give it as
    /// their id wherever the server reads such.
    const fn describes_itself(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Vscode | Self::Codex)
    }

    /// Where its own file is, for people; none where it has none.
    pub(crate) const fn file_for_people(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("~/.claude.json"),
            Self::ClaudeDesktop => Some("claude_desktop_config.json (Settings, Developer, Edit Config)"),
            Self::Cursor => Some("~/.cursor/mcp.json"),
            Self::Vscode => Some("mcp.json (MCP: Open User Configuration)"),
            Self::Codex => Some("~/.codex/config.toml"),
            Self::Gemini => Some("~/.gemini/settings.json"),
            Self::Inspector | Self::Python | Self::Typescript | Self::Curl => None,
        }
    }
}

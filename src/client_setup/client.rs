//! The clients and their properties, as of 2026-11-25. If a version is given, that program was tested on that day:
//! it accepted our form, connected with it and, if it signs in, signed in; of the others excerpts of the page were
//! read.

use super::mcp_server::McpServer;
use crate::config::OAuth;

/// A client that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Claude Code 2.1.331: `claude mcp add --help`, <https://code.claude.com/docs/en/mcp>.
    ClaudeCode,
    /// Claude Desktop, whose file only accepts programs to launch:
    /// <https://modelcontextprotocol.io/docs/develop/connect-local-servers>.
    ClaudeDesktop,
    /// Cursor: <https://cursor.com/docs/mcp>. Signing in, it listens on port 8787 of its machine, as the page has it: where
    /// a service is there already, it launches a program instead.
    Cursor,
    /// Visual Studio Code: <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>; of signing in, its source
    /// (`actors/auth/src/oauth/redirects.rs`).
    Vscode,
    /// Codex 0.169.0, whose file accepts no token: `codex mcp add --help`,
    /// <https://developers.openai.com/codex/mcp>.
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

    /// The clients shown to a user who has just got a server and a token, or uses a browser.
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

    /// Returns true if its user can sign in with a browser, in the client itself or through `portico stdio`.
    const fn signs_in(self) -> bool {
        !matches!(self, Self::Python | Self::Typescript | Self::Curl)
    }

    /// Returns true if its user can sign in at a server with these settings, or at one with unknown settings.
    pub(crate) fn may_sign_in(self, oauth: Option<OAuth>) -> bool {
        self.signs_in() && oauth.is_none_or(|oauth| oauth.admits_published(self.describes_itself()))
    }

    /// Returns true if signing in is better than a token in its file. Cursor follows a server's OAuth metadata and
    /// ignores headers in its file; VS Code may copy its file to other machines (Settings Sync); Codex needs the
    /// token in its environment at every start.
    pub(crate) fn prefers_sign_in(self, place: &McpServer) -> bool {
        matches!(self, Self::Cursor | Self::Vscode | Self::Codex) && !self.launches(place)
    }

    /// Whether it launches a program that speaks for `place`.
    pub(crate) fn launches(self, place: &McpServer) -> bool {
        self == Self::ClaudeDesktop || (self == Self::Cursor && place.has_cursors_port())
    }

    /// Returns true if it has a Client ID Metadata Document: Claude Code and Codex use its address as their id
    /// wherever the server supports that.
    const fn describes_itself(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Vscode | Self::Codex)
    }

    /// Returns the path of its own file, for people; `None` if it has none.
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

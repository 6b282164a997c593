//! The clients, and what each of them knows. Every page was read on 2026-11-25.

/// A client that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Claude Code: <https://code.claude.com/docs/en/mcp>.
    ClaudeCode,
    /// Claude Desktop, whose file takes programs to launch alone:
    /// <https://modelcontextprotocol.io/docs/develop/connect-local-servers>.
    ClaudeDesktop,
    /// Cursor: <https://cursor.com/docs/mcp>.
    Cursor,
    /// Visual Studio Code: <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>.
    Vscode,
    /// Codex, whose file takes no token: <https://developers.openai.com/codex/mcp>.
    Codex,
    /// Gemini CLI: <https://geminicli.com/docs/tools/mcp-server/>.
    Gemini,
    /// The MCP Inspector's command line: <https://modelcontextprotocol.io/docs/2026-07-28/tools/inspector/cli>.
    Inspector,
    /// Python's package mcp: <https://pypi.org/project/mcp/>.
    Python,
    /// npm's `@modelcontextprotocol/client`: <https://www.npmjs.com/package/@modelcontextprotocol/client>.
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
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.word() == word)
    }

    /// Its word on the command line.
    pub(crate) const fn word(self) -> &'static str {
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
    pub(crate) const fn signs_in(self) -> bool {
        !matches!(self, Self::Python | Self::Typescript | Self::Curl)
    }

    /// Whether signing in is better than a token in its file. Cursor follows what a server says of OAuth and leaves
    /// headers of its file aside; VS Code may send its file to other machines (Settings Sync).
    pub(crate) const fn prefers_sign_in(self) -> bool {
        matches!(self, Self::Cursor | Self::Vscode)
    }

    /// Whether it has a description at an address of its own (Client ID Metadata Document).
    pub(crate) const fn describes_itself(self) -> bool {
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

//! The server, and the part of it, that a client uses.

use portico_actors::loopback;

/// The tools that suffice for reading, as the query of an address: instructions, columns, and a SELECT.
const LEAN: &str = "?ops=get_instructions,get_columns,execute_select";

/// Which endpoint of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerTarget {
    /// All that a credential opens.
    All,
    /// One connection, by its name.
    Connection(String),
    /// One workspace, by its name.
    Workspace(String),
}

/// A server, and the part of it to use.
#[derive(Clone, Debug)]
pub(crate) struct McpServer {
    /// Its origin, without a slash at its end.
    pub(crate) server: String,
    pub(crate) target: ServerTarget,
    pub(crate) lean: bool,
}

impl McpServer {
    /// Returns true if it uses the port of this machine that Cursor listens on during sign-in.
    pub(crate) fn has_cursors_port(&self) -> bool {
        ["http://localhost:8787", "http://127.0.0.1:8787"].contains(&self.server.as_str())
    }

    /// The address for clients.
    pub(crate) fn mcp_url(&self) -> String {
        let path = match &self.target {
            ServerTarget::All => String::new(),
            ServerTarget::Connection(name) => format!("/connections/{name}"),
            ServerTarget::Workspace(name) => format!("/workspaces/{name}"),
        };
        format!("{}/mcp{path}{}", self.server, if self.lean { LEAN } else { "" })
    }

    /// Returns true if its address is the client's own machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.server.starts_with("http://") && loopback::is_origin(&self.server)
    }

    /// Returns the name of the server in the client.
    pub(crate) fn name(&self) -> &str {
        match &self.target {
            ServerTarget::All => "portico",
            ServerTarget::Connection(name) | ServerTarget::Workspace(name) => name,
        }
    }

    /// The variable of the environment that its token is looked for in.
    pub(crate) fn variable(&self) -> String {
        match &self.target {
            ServerTarget::All => "PORTICO_TOKEN".to_owned(),
            ServerTarget::Connection(name) | ServerTarget::Workspace(name) => {
                let letters = name.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '_' });
                format!("PORTICO_TOKEN_{}", letters.collect::<String>().to_ascii_uppercase())
            }
        }
    }

    /// The arguments of the program that speaks for it on standard input and output.
    pub(crate) fn stdio(&self) -> Vec<String> {
        let mut arguments = vec!["stdio".to_owned(), "--server".to_owned(), self.server.clone()];
        match &self.target {
            ServerTarget::All => {}
            ServerTarget::Connection(name) => arguments.extend(["--connection".to_owned(), name.clone()]),
            ServerTarget::Workspace(name) => arguments.extend(["--workspace".to_owned(), name.clone()]),
        }
        if self.lean {
            arguments.push("--lean".to_owned());
        }
        arguments
    }
}

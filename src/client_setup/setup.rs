//! The set-up of any client: a text to paste, and its own file.

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::client::Client;
use super::mcp_server::McpServer;
use crate::config::OAuth;

/// The placeholder for a token.
const PLACEHOLDER: &str = "<token>";

/// How a client authenticates.
#[derive(Clone, Debug)]
pub(crate) enum ClientAuth {
    /// A personal access token that was made for it.
    Token(SecretString),
    /// Without a token: the user signs in with a browser.
    SignIn,
    /// A token that the user inserts.
    Placeholder,
}

impl ClientAuth {
    /// Returns the best way for `client` to use `place`, at a server with the settings `oauth`: signing in if that
    /// is better than a token, else a token, else signing in because there is no token.
    ///
    /// # Errors
    /// `token` fails, which is called only if a token would be shown.
    pub(crate) fn best<E>(
        client: Client,
        place: &McpServer,
        oauth: Option<OAuth>,
        token: impl FnOnce() -> Result<Option<SecretString>, E>,
    ) -> Result<Self, E> {
        let may_sign_in = client.may_sign_in(oauth);
        if may_sign_in && client.prefers_sign_in(place) {
            return Ok(Self::SignIn);
        }
        let otherwise = if may_sign_in { Self::SignIn } else { Self::Placeholder };
        Ok(token()?.map_or(otherwise, Self::Token))
    }

    /// Its word for programs.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::SignIn => "oauth",
            Self::Placeholder => "placeholder",
        }
    }

    /// Returns the token, or its placeholder.
    pub(crate) fn token(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(token.expose_secret()),
            Self::Placeholder => Some(PLACEHOLDER),
            Self::SignIn => None,
        }
    }
}

/// The set-up of a client.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ClientSetup {
    /// What to do with the text, for people.
    #[serde(skip)]
    pub(crate) what: String,
    /// The text to paste.
    pub(crate) paste: String,
    /// The client's file.
    #[serde(skip)]
    pub(crate) file: Option<File>,
    /// Commands to run once the file is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<String>,
    /// The program, where the text starts one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// Further notes.
    pub(crate) notes: Vec<String>,
}

/// The part of a client's own file for this server.
#[derive(Debug)]
pub(crate) struct File {
    /// `json` or `toml`.
    pub(crate) format: &'static str,
    /// The whole file, if it contains nothing else.
    pub(crate) text: String,
    pub(crate) entry: Entry,
    /// Whether the client reads a file with comments.
    pub(crate) has_comments: bool,
    /// Whether it contains a token.
    pub(crate) has_secret: bool,
}

/// The entry for this server in a file.
#[derive(Debug)]
pub(crate) enum Entry {
    /// The member of that name of a JSON object, which has the name of the place.
    Json(&'static str, Value),
    /// The table of that name of a TOML file, which has the name of the place.
    Toml(&'static str, Vec<(&'static str, String)>),
}

impl Entry {
    /// Returns the whole file, if it contains nothing else.
    pub(crate) fn text(&self, name: &str) -> String {
        match self {
            Self::Json(table, value) => {
                let mut whole = json!({});
                whole[*table][name] = value.clone();
                serde_json::to_string_pretty(&whole).unwrap_or_default()
            }
            Self::Toml(table, keys) => {
                let mut document = DocumentMut::new();
                insert(&mut document, table, name, keys);
                document.to_string().trim_end().to_owned()
            }
        }
    }
}

/// Puts the table `table.name` into a document, in place of an existing one; `false` if `table` is not a table.
pub(crate) fn insert(document: &mut DocumentMut, table: &str, name: &str, keys: &[(&'static str, String)]) -> bool {
    let mut servers = Table::new();
    servers.set_implicit(true);
    let Some(servers) = document.entry(table).or_insert(Item::Table(servers)).as_table_like_mut() else { return false };
    let mut server = Table::new();
    for (key, text) in keys {
        server.insert(key, value(text));
    }
    servers.insert(name, Item::Table(server));
    true
}

//! What a client wants, whichever it is: a text to paste, and its own file.

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::client::Client;
use super::mcp_server::McpServer;
use crate::config::OAuth;

/// What stands in the place of a token that somebody puts in.
const PLACEHOLDER: &str = "<token>";

/// What a client shows of its user.
#[derive(Clone, Debug)]
pub(crate) enum ClientAuth {
    /// A personal access token that was made for it.
    Token(SecretString),
    /// None: whoever uses it signs in with a browser.
    SignIn,
    /// One that somebody puts in.
    Placeholder,
}

impl ClientAuth {
    /// What is best for `client` to use `place`, at a server with the settings `oauth`: signing in where that is better than a token,
    /// else a token, else signing in because nobody has one here.
    ///
    /// # Errors
    /// `token` fails, which is asked only where a token would be shown.
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

    /// What stands where a token is wanted.
    pub(crate) fn token(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(token.expose_secret()),
            Self::Placeholder => Some(PLACEHOLDER),
            Self::SignIn => None,
        }
    }
}

/// What a client wants.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ClientSetup {
    /// What there is to do with the text, for people.
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
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

/// What of a client's own file is ours.
#[derive(Debug)]
pub(crate) struct File {
    /// `json` or `toml`.
    pub(crate) format: &'static str,
    /// The whole of it, where it holds nothing else.
    pub(crate) text: String,
    pub(crate) entry: Entry,
    /// Whether the client reads a file with comments.
    pub(crate) has_comments: bool,
    /// Whether a token stands in it.
    pub(crate) has_secret: bool,
}

/// What of a file is ours.
#[derive(Debug)]
pub(crate) enum Entry {
    /// The member of that name of a JSON object, which has the name of the place.
    Json(&'static str, Value),
    /// The table of that name of a TOML file, which has the name of the place.
    Toml(&'static str, Vec<(&'static str, String)>),
}

impl Entry {
    /// The whole file, where it holds nothing else.
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

/// Puts the table `table.name` into a document, in the place of one that has its name; `false` where `table` is no table.
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

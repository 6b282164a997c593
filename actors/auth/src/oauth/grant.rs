//! What a client presents for an access token, and the answer (RFC 6749 §2.3 and §5). The form's syntax is left to
//! the endpoint.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use secrecy::SecretString;
use uuid::Uuid;

use crate::verify::resource::Resource;
use crate::verify::token::Tokens;
use portico_core::error::{Error, Kind, Quota};
use portico_core::principal::{Rights, Scope};

/// How a client authenticates (RFC 6749 §2.3). `Debug` never prints the secret.
#[derive(Clone)]
pub struct ClientAuthentication {
    /// The client id.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// Where it is shown from, if that is known.
    pub from: Option<IpAddr>,
}

impl fmt::Debug for ClientAuthentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientProof({})", self.client_id)
    }
}

/// An access token, and what the answer says about it. `Debug` never prints the token.
#[derive(Clone, Debug)]
pub struct AccessToken {
    /// The JWT.
    pub token: SecretString,
    /// How long it is valid from now.
    pub expires_in: Duration,
    /// Every scope it opens, as a space-separated list.
    pub scope: &'static str,
}

/// Why there is no token, in the terms of RFC 6749 §5.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError {
    /// `invalid_client`, `invalid_request`, `invalid_grant`, `invalid_scope`, `invalid_target`
    /// (RFC 8707 §2), `temporarily_unavailable` when there are too many requests, `service_unavailable`
    /// when another attempt may succeed, or `server_error` when the fault is ours.
    pub code: &'static str,
    /// One sentence for whoever set up the client.
    pub description: String,
    /// The limit on requests that is used up, where one is.
    pub quota: Option<Quota>,
}

impl GrantError {
    /// A failure with one of the standard's codes.
    pub fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), quota: None }
    }

    /// A limit on requests is used up.
    pub fn throttled(description: impl Into<String>, quota: Quota) -> Self {
        Self { quota: Some(quota), ..Self::new("temporarily_unavailable", description) }
    }
}

/// An internal error: the client only learns whether to try again.
impl From<Error> for GrantError {
    fn from(error: Error) -> Self {
        if matches!(error.kind, Kind::Unavailable | Kind::Busy) {
            return Self::new("service_unavailable", "no token can be issued at the moment; try again");
        }
        Self::new("server_error", "no token can be issued at the moment; the log says why")
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.description)
    }
}

impl std::error::Error for GrantError {}

/// An access token to be issued: the client, the subject, and the maximal rights. Every grant results in one of
/// these.
#[derive(Clone, Debug)]
pub struct TokenSpec {
    /// The subject whose rights it has: a user's e-mail address, or a service account's client id.
    pub subject: String,
    /// The client that it is given to; a service account gets its own.
    pub client_id: String,
    /// A space-separated list; absent or empty means all that the subject may do.
    pub scope: Option<String>,
    /// The rights agreed to: an upper bound, whatever is requested and whatever the subject has.
    pub rights: Rights,
    /// The resource that it is for (RFC 8707 §2): this service or an endpoint of it. An MCP
    /// endpoint's address narrows the token to that connection.
    pub resource: Option<String>,
    /// The grant that the token belongs to, if any. The token ends with its grant.
    pub grant: Option<Uuid>,
}

pub(crate) fn no_target(description: &str) -> GrantError {
    GrantError::new("invalid_target", description)
}

/// Returns the widest scope of the list `asked`, each of which must be within `most`.
pub(crate) fn narrowed_scope(asked: &str, most: Scope) -> Result<Scope, GrantError> {
    let mut granted = None;
    for word in asked.split(' ').filter(|word| !word.is_empty()) {
        let scope = Scope::parse(word)
            .filter(|scope| *scope <= most)
            .ok_or_else(|| GrantError::new("invalid_scope", format!("this client may ask for: {}", most.list())))?;
        granted = granted.max(Some(scope));
    }
    Ok(granted.unwrap_or(most))
}

/// Returns our resource at this address (RFC 8707 §2).
pub(crate) fn resource(address: &str, tokens: &Tokens) -> Result<Resource, GrantError> {
    tokens.resource(address).ok_or_else(|| no_target("the resource is not one of this service"))
}

//! What a client offers for an access token, and what it gets (RFC 6749 §4.4 and §5). How a form
//! spells it is the business of the endpoint.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use uuid::Uuid;

use super::clock::Timestamp;
use super::snapshot::{Account, Snapshot};
use super::token::{Issue, Tokens, connection_of};
use crate::principal::Scope;

/// Longer than any resource of ours.
const LONGEST_RESOURCE: usize = 2_048;

/// What is offered for an access token. Its `Debug` never prints a secret.
#[derive(Clone, Debug)]
pub enum Grant {
    /// `grant_type=client_credentials` (RFC 6749 §4.4).
    ClientCredentials {
        /// The service account's client id.
        client_id: String,
        /// Its secret.
        client_secret: SecretString,
        /// A space-separated list; absent or empty means all that the account may do.
        scope: Option<String>,
        /// The resource that the token is for (RFC 8707): this service or something within it. If
        /// its last segment is a connection's id, the token reaches that connection alone.
        resource: Option<String>,
    },
}

/// A token, and what the answer says about it. Its `Debug` never prints the token.
#[derive(Clone, Debug)]
pub struct AccessToken {
    /// The JWT.
    pub token: SecretString,
    /// How long it is valid from now.
    pub expires_in: Duration,
    /// Every scope it opens, as a space-separated list.
    pub scope: &'static str,
}

/// Why there is no token, in the words of RFC 6749 §5.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError {
    /// `invalid_client`, `invalid_request`, `invalid_scope`, `invalid_target`
    /// (RFC 8707 §2), or `server_error` when the fault is ours.
    pub code: &'static str,
    /// One sentence for whoever set up the client.
    pub description: String,
}

impl GrantError {
    /// A failure with one of the standard's codes.
    pub fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into() }
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.description)
    }
}

impl std::error::Error for GrantError {}

/// A failed exchange: for the client, and the cause for the log where the fault is ours.
pub(crate) struct Failed {
    pub(crate) answer: GrantError,
    pub(crate) cause: Option<String>,
}

impl From<GrantError> for Failed {
    fn from(answer: GrantError) -> Self {
        Self { answer, cause: None }
    }
}

/// Answers `grant` with a token.
pub(crate) fn exchange(
    grant: &Grant,
    snapshot: &Snapshot,
    tokens: &Tokens,
    now: Timestamp,
) -> Result<AccessToken, Failed> {
    let Grant::ClientCredentials { client_id, client_secret, scope, resource } = grant;
    let account = snapshot
        .client(client_id, client_secret)
        .ok_or_else(|| GrantError::new("invalid_client", "the client id or its secret is not valid"))?;
    let scope = granted_scope(given(scope.as_deref()), account)?;
    let audience = given(resource.as_deref());
    let narrowed = granted_connection(audience, account, tokens)?;
    let connections = narrowed.as_ref().map_or(&*account.connections, std::slice::from_ref);
    let issue = Issue { subject: client_id, client_id, scope, connections, audience, grant: None };
    mint(&issue, snapshot, tokens, now)
}

/// The one place where an access token is made.
pub(crate) fn mint(
    issue: &Issue<'_>,
    snapshot: &Snapshot,
    tokens: &Tokens,
    now: Timestamp,
) -> Result<AccessToken, Failed> {
    let token = snapshot
        .signing_key()
        .ok_or_else(|| "no key in the store signs; make one with `portico key rotate`".to_owned())
        .and_then(|key| {
            tokens.issue(key, now, issue).map_err(|error| error.cause().unwrap_or(&error.message).to_owned())
        })
        .map_err(|cause| Failed {
            answer: GrantError::new("server_error", "no token can be issued at the moment; the log says why"),
            cause: Some(cause),
        })?;
    Ok(AccessToken { token, expires_in: tokens.lifetime(), scope: issue.scope.list() })
}

/// A parameter without a value counts as left out (RFC 6749 §3.2).
fn given(parameter: Option<&str>) -> Option<&str> {
    parameter.filter(|value| !value.is_empty())
}

fn granted_scope(asked: Option<&str>, account: &Account) -> Result<Scope, GrantError> {
    asked.map_or(Ok(account.scope), |asked| narrowed_scope(asked, account.scope))
}

/// The widest scope of the list `asked`, each word of which is within `most`.
pub(crate) fn narrowed_scope(asked: &str, most: Scope) -> Result<Scope, GrantError> {
    let mut granted = None;
    for word in asked.split(' ').filter(|word| !word.is_empty()) {
        let scope = Scope::from_word(word)
            .filter(|scope| *scope <= most)
            .ok_or_else(|| GrantError::new("invalid_scope", format!("this client may ask for: {}", most.list())))?;
        granted = granted.max(Some(scope));
    }
    Ok(granted.unwrap_or(most))
}

fn granted_connection(resource: Option<&str>, account: &Account, tokens: &Tokens) -> Result<Option<Uuid>, GrantError> {
    let Some(resource) = resource else { return Ok(None) };
    match target(resource, tokens)? {
        Some(connection) if !account.connections.contains(&connection) => {
            Err(GrantError::new("invalid_target", "the resource is not within this client's reach"))
        }
        connection => Ok(connection),
    }
}

/// The connection that a resource of ours names, if it names a single one (RFC 8707 §2).
pub(crate) fn target(resource: &str, tokens: &Tokens) -> Result<Option<Uuid>, GrantError> {
    let plain = resource.len() <= LONGEST_RESOURCE && resource.chars().all(|c| c.is_ascii_graphic() && c != '#');
    if !plain || !tokens.is_ours(resource) {
        return Err(GrantError::new("invalid_target", "the resource is not one of this service"));
    }
    Ok(connection_of(resource))
}

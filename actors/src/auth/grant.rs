//! What a client offers for an access token, and what it gets (RFC 6749 §4.4 and §5). How a form
//! spells it is the business of the endpoint.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use uuid::Uuid;

use super::client::ClientProof;
use super::clock::Timestamp;
use super::resource::Resource;
use super::snapshot::Snapshot;
use super::token::{Issue, Tokens};
use crate::error::Quota;
use crate::principal::{Rights, Scope};

/// What is offered for an access token. Its `Debug` never prints a secret.
#[derive(Clone, Debug)]
pub enum Grant {
    /// `grant_type=client_credentials` (RFC 6749 §4.4).
    ClientCredentials {
        /// Who asks.
        client: ClientProof,
        /// A space-separated list; absent or empty means all that the account may do.
        scope: Option<String>,
        /// The resource that the token is for (RFC 8707); see [`Ticket::resource`].
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

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.description)
    }
}

impl std::error::Error for GrantError {}

/// An access token to be issued: to which client, on whose behalf, and for what at most. Every grant
/// ends in one of these.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// Whose rights it opens: a user's e-mail address, or a service account's client id.
    pub subject: String,
    /// The client that it is given to; a service account gets its own.
    pub client_id: String,
    /// A space-separated list; absent or empty means all that the subject may do.
    pub scope: Option<String>,
    /// What was agreed to: it opens no more, whatever is asked for and whatever the subject has.
    pub rights: Rights,
    /// The resource that it is for (RFC 8707 §2): this service or an endpoint of it. An MCP
    /// endpoint's address narrows the token to that connection.
    pub resource: Option<String>,
    /// What a person granted, where the token is part of that: it ends with it.
    pub grant: Option<Uuid>,
}

/// A failed exchange: for the client, and the cause for the log where the fault is ours.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) answer: GrantError,
    pub(crate) cause: Option<String>,
}

impl From<GrantError> for Failed {
    fn from(answer: GrantError) -> Self {
        Self { answer, cause: None }
    }
}

/// What tokens are issued by.
#[derive(Clone, Copy)]
pub(crate) struct Minting<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) tokens: &'a Tokens,
    /// Every configured connection: what a subject without a list of its own reaches.
    pub(crate) connections: &'a [Uuid],
    pub(crate) now: Timestamp,
}

impl Minting<'_> {
    /// The token for `ticket`, with no more than its subject has now.
    pub(crate) fn issue(&self, ticket: &Ticket) -> Result<AccessToken, Failed> {
        let unknown = || GrantError::new("invalid_grant", "the account behind this grant is removed or disabled");
        let holder = self.snapshot.holder(&ticket.subject).ok_or_else(unknown)?;
        let resource = given(ticket.resource.as_deref()).map(|asked| resource(asked, self.tokens)).transpose()?;
        let mut rights = holder.rights.and(&ticket.rights);
        if let Some(connection) = resource.and_then(Resource::connection) {
            if !rights.covers(connection) {
                return Err(no_target("the resource is not within this client's reach").into());
            }
            rights = rights.and(&Rights::only([connection], Scope::Admin));
        }
        let scope = granted_scope(given(ticket.scope.as_deref()), rights.widest())?;
        // A token names what it opens: connections that are added later are not among them.
        let named = Rights::only(self.connections.iter().copied(), Scope::Admin);
        let rights = if rights.is_all() { rights.and(&named) } else { rights }.up_to(scope);
        let issue = Issue {
            subject: &holder.subject,
            client_id: &ticket.client_id,
            rights: &rights,
            audience: given(ticket.resource.as_deref()),
            grant: ticket.grant,
        };
        let token = self
            .snapshot
            .signing_key()
            .ok_or_else(|| "no key in the store signs; make one with `portico key rotate`".to_owned())
            .and_then(|key| {
                // What is issued in the second in which those from before have ended is none of them.
                let issued = self.tokens.issue(key, self.now.max(holder.since), &issue);
                issued.map_err(|error| error.cause().unwrap_or(&error.message).to_owned())
            })
            .map_err(|cause| Failed {
                answer: GrantError::new("server_error", "no token can be issued at the moment; the log says why"),
                cause: Some(cause),
            })?;
        Ok(AccessToken { token, expires_in: self.tokens.lifetime(), scope: rights.widest().list() })
    }
}

fn no_target(description: &str) -> GrantError {
    GrantError::new("invalid_target", description)
}

/// A parameter without a value counts as left out (RFC 6749 §3.2).
fn given(parameter: Option<&str>) -> Option<&str> {
    parameter.filter(|value| !value.is_empty())
}

/// What is asked for, if all of it is within `most`.
fn granted_scope(asked: Option<&str>, most: Scope) -> Result<Scope, GrantError> {
    asked.map_or(Ok(most), |asked| narrowed_scope(asked, most))
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

/// The resource of ours at this address (RFC 8707 §2).
pub(crate) fn resource(address: &str, tokens: &Tokens) -> Result<Resource, GrantError> {
    tokens.resource(address).ok_or_else(|| no_target("the resource is not one of this service"))
}

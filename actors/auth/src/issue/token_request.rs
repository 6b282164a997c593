//! Requests for access tokens, of every grant type.

use std::time::Instant;

use actix::{Context, Message};

use crate::actor::AuthActor;
use crate::limits;
use crate::oauth::grant::{AccessToken, ClientAuthentication, GrantError, TokenSpec};
use crate::oauth::introspection;
use crate::sync::lookup::{CachedAnswer, CredentialQuery, GrantAnswer};

impl AuthActor {
    /// A token for a client that is known, within its limit.
    fn issue(&mut self, spec: &TokenSpec) -> GrantAnswer<AccessToken> {
        let issued = self.issued.take(limits::key(&spec.client_id), Instant::now()).map_err(|quota| {
            GrantError::throttled("this client asks for too many tokens; use each until it expires", quota)
        });
        match issued.and_then(|_| self.issue_token(spec)) {
            // Its subject or the key may be too new for us.
            Err(refusal) if matches!(refusal.code, "invalid_grant" | "server_error") => {
                CachedAnswer::MaybeStale(refusal)
            }
            certain => CachedAnswer::Fresh(certain),
        }
    }
}

/// Asks for an access token: `grant_type=client_credentials` (RFC 6749 §4.4). `Debug` never prints a secret.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<AccessToken, GrantError>")]
pub struct TokenRequest {
    /// The client.
    pub client: ClientAuthentication,
    /// A space-separated list; absent or empty means all that the account may do.
    pub scope: Option<String>,
    /// The resource that the token is for (RFC 8707); see [`TokenSpec::resource`].
    pub resource: Option<String>,
}

impl CredentialQuery for TokenRequest {
    type Reply = AccessToken;
    type Failure = GrantError;
    type Refusal = GrantError;

    fn ask(&self, actor: &mut AuthActor, _: &Context<AuthActor>) -> GrantAnswer<AccessToken> {
        let Some((subject, rights)) = actor.known(&self.client) else {
            return CachedAnswer::MaybeStale(introspection::unknown());
        };
        actor.issue(&TokenSpec {
            client_id: subject.clone(),
            subject,
            scope: self.scope.clone(),
            rights,
            resource: self.resource.clone(),
            grant: None,
        })
    }

    fn refused(&self, actor: &mut AuthActor, refusal: GrantError) -> Result<AccessToken, GrantError> {
        Err(actor.count_failure(&self.client, refusal))
    }
}

/// Asks for an access token for something that was agreed to; the caller has checked that.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<AccessToken, GrantError>")]
pub struct IssueToken(pub TokenSpec);

impl CredentialQuery for IssueToken {
    type Reply = AccessToken;
    type Failure = GrantError;
    type Refusal = GrantError;

    fn ask(&self, actor: &mut AuthActor, _: &Context<AuthActor>) -> GrantAnswer<AccessToken> {
        actor.issue(&self.0)
    }

    fn refused(&self, _: &mut AuthActor, refusal: GrantError) -> Result<AccessToken, GrantError> {
        Err(refusal)
    }
}

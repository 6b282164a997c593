//! Access tokens are issued here and nowhere else, whatever the grant.

use actix::Message;

use crate::actor::AuthActor;
use crate::issue::token_issuer::TokenIssuer;
use crate::oauth::grant::{AccessToken, Grant, GrantError, TokenSpec};
use crate::oauth::introspection;
use crate::sync::lookup::{Answer, Query};

impl AuthActor {
    /// The access token for `spec`: the one way by which tokens are made, whatever the grant.
    ///
    /// # Errors
    /// `invalid_grant` when the subject is removed or disabled, `invalid_scope` and
    /// `invalid_target` for more than it has, `server_error` when no key signs.
    pub(crate) fn issue_token(&self, spec: &TokenSpec) -> Result<AccessToken, GrantError> {
        let now = self.clock.now().time();
        let mint = TokenIssuer { snapshot: &self.snapshot, tokens: &self.tokens, connections: &self.connections, now };
        mint.issue(spec).map_err(|failed| {
            // While the store is away that is told already.
            if let Some(cause) = failed.cause.filter(|_| !self.store_failed) {
                self.report_store_failure(cause);
            }
            failed.answer
        })
    }

    /// A token for a client that is known, within its limit.
    fn issue(&mut self, spec: &TokenSpec) -> Answer<Result<AccessToken, GrantError>> {
        let issued = self.issued.count(&spec.client_id).map_err(|quota| {
            GrantError::throttled("this client asks for too many tokens; use each until it expires", quota)
        });
        match issued.and_then(|()| self.issue_token(spec)) {
            // Its subject or the key may be too new for us.
            Err(refusal) if matches!(refusal.code, "invalid_grant" | "server_error") => {
                Answer::MaybeStale(Err(refusal))
            }
            certain => Answer::Fresh(certain),
        }
    }
}

/// Asks for an access token.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<AccessToken, GrantError>")]
pub struct Exchange(pub Grant);

impl Query for Exchange {
    type Reply = AccessToken;
    type Failure = GrantError;

    fn ask(&self, actor: &mut AuthActor) -> Answer<Result<AccessToken, GrantError>> {
        let Self(Grant::ClientCredentials { client, scope, resource }) = self;
        let Some((subject, rights)) = actor.known(client) else { return introspection::unknown() };
        actor.issue(&TokenSpec {
            client_id: subject.clone(),
            subject,
            scope: scope.clone(),
            rights,
            resource: resource.clone(),
            grant: None,
        })
    }

    fn refused(&self, actor: &mut AuthActor, refusal: GrantError) -> Result<AccessToken, GrantError> {
        let Self(Grant::ClientCredentials { client, .. }) = self;
        Err(actor.count_failure(client, refusal))
    }
}

/// Asks for an access token for what is known to be agreed to: who asks has judged that.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<AccessToken, GrantError>")]
pub struct IssueToken(pub TokenSpec);

impl Query for IssueToken {
    type Reply = AccessToken;
    type Failure = GrantError;

    fn ask(&self, actor: &mut AuthActor) -> Answer<Result<AccessToken, GrantError>> {
        actor.issue(&self.0)
    }
}

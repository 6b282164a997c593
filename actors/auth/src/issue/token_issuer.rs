//! Makes access tokens, limited to their subjects' current rights.

use crate::actor::AuthActor;
use crate::clock::Timestamp;
use crate::oauth::grant::{AccessToken, GrantError, TokenSpec, narrowed_scope, no_target, resource};
use crate::verify::token::AccessTokenClaims;
use portico_core::principal::{Rights, Scope};

impl AuthActor {
    /// Returns the access token for `spec`, with no more than its subject's current rights. All grants make their
    /// tokens here.
    ///
    /// # Errors
    /// `invalid_grant` if the subject is removed or disabled, `invalid_scope` and `invalid_target` for more than it
    /// has, `server_error` if no key signs or if the clock is behind the subject's beginning.
    pub(crate) fn issue_token(&self, spec: &TokenSpec) -> Result<AccessToken, GrantError> {
        let unknown = || GrantError::new("invalid_grant", "the account behind this grant is removed or disabled");
        let holder = self.snapshot.holder(&spec.subject).ok_or_else(unknown)?;
        let now = self.settings.clock.now().time();
        if holder.since > now.after(self.tokens.skew()) {
            return Err(begins_later(holder.since, now));
        }
        let resource = given(spec.resource.as_deref()).map(|asked| resource(asked, &self.tokens)).transpose()?;
        let mut rights = holder.rights.intersection(&spec.rights);
        if let Some(resource) = &resource
            && let Some(part) = resource.part()
        {
            if !resource.is_open_to(&rights) {
                return Err(no_target("the resource is not within this client's reach"));
            }
            rights = rights.intersection(&part);
        }
        let scope = granted_scope(given(spec.scope.as_deref()), rights.widest())?;
        // A token names its connections: those added later are not included.
        let named = Rights::only(self.settings.connections.iter().copied(), Scope::Admin);
        let rights = if rights.is_all() { rights.intersection(&named) } else { rights }.up_to(scope);
        let issue = AccessTokenClaims {
            subject: &holder.subject,
            client_id: &spec.client_id,
            rights: &rights,
            audience: given(spec.resource.as_deref()),
            grant: spec.grant,
        };
        let token = match self.snapshot.signing_key() {
            None => Err("the store has no signing key; make one with `portico key rotate`".to_owned()),
            Some(key) => {
                // A token issued in the same second in which earlier ones ended must not count as one of them.
                let issued = self.tokens.issue(key, now.max(holder.since), &issue);
                issued.map_err(|error| error.cause().unwrap_or(&error.message).to_owned())
            }
        };
        let token = token.map_err(|cause| {
            // An outage of the store was reported already.
            if !self.store_failed {
                self.report_store_failure(cause);
            }
            GrantError::new("server_error", "no token can be issued at the moment; the log says why")
        })?;
        Ok(AccessToken { token, expires_in: self.tokens.lifetime(), scope: rights.widest().list() })
    }
}

/// Returns the error for an account that was made or disabled while the clock was ahead: a token issued at `now` would
/// count as ended, and a token issued at `since` is not valid yet.
fn begins_later(since: Timestamp, now: Timestamp) -> GrantError {
    let told = format!(
        "the account behind this grant begins at {since}, and the service's clock says {now}: the clock is wrong, or was \
         wrong when the account was made or disabled; set it right, then wait until {since} or make the account anew"
    );
    GrantError::new("server_error", told)
}

/// A parameter without a value counts as left out (RFC 6749 §3.2).
fn given(parameter: Option<&str>) -> Option<&str> {
    parameter.filter(|value| !value.is_empty())
}

/// Returns the requested scope, if all of it is within `most`.
fn granted_scope(asked: Option<&str>, most: Scope) -> Result<Scope, GrantError> {
    asked.map_or(Ok(most), |asked| narrowed_scope(asked, most))
}

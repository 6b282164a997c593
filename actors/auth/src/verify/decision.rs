//! Verifies credentials: when they are presented, and again with every change of the store while something runs
//! under them.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::actor::AuthActor;
use crate::clock::{Now, Timestamp};
use crate::secret::{Digest, PAT_PREFIX};
use crate::verify::active_tokens::ActiveToken;
use crate::verify::cache::VerifiedCredential;
use crate::verify::refusal::Refusal;
use crate::verify::request::{CredentialKey, VerifyCredential};
use portico_core::principal::{Credential, Endpoint, Principal};

/// Makes the verdict on a personal access token.
fn personal(token: Digest, (by, until): (Arc<Principal>, Option<Timestamp>)) -> VerifiedCredential {
    VerifiedCredential { by, until, used: Some(token) }
}

impl AuthActor {
    /// Verifies the credential of `query`, and returns its principal.
    pub(crate) fn authenticate(&mut self, query: &VerifyCredential) -> Result<Arc<Principal>, Refusal> {
        let (now, shown) = (self.settings.clock.now(), &query.token);
        let verdict = match &query.asked.credential {
            Credential::Basic { email, .. } => personal(*shown, self.snapshot.personal(shown, Some(email), now)?),
            // Sent by clients with one field for a token.
            Credential::Bearer(token) if token.expose_secret().starts_with(PAT_PREFIX) => {
                personal(*shown, self.snapshot.personal(shown, None, now)?)
            }
            Credential::Bearer(token) => {
                let (principal, until) = self.bearer(token.expose_secret(), query.key.1, now)?;
                let by = self.let_in(query.key, token.clone(), principal, until);
                VerifiedCredential { by, until: Some(until), used: None }
            }
        };
        Ok(self.cache.insert(query.key, verdict))
    }

    /// Returns the principal of this access token at that time, and until when the verdict holds.
    fn bearer(&self, token: &str, endpoint: Endpoint, at: Now) -> Result<(Principal, Timestamp), Refusal> {
        let Some(issuer) = self.foreign(token).and_then(|index| self.issuers.get(index)) else {
            return self.snapshot.bearer(token, &self.tokens, endpoint, at);
        };
        let verified = issuer.verify(token, &self.tokens, endpoint, at.time())?;
        if self.snapshot.refuses(&verified.0.subject) {
            return Err(Refusal::DisabledSubject);
        }
        Ok(verified)
    }

    fn let_in(&mut self, key: CredentialKey, token: SecretString, by: Principal, until: Timestamp) -> Arc<Principal> {
        let validity = self.active.validity(&key, &by);
        let by = Arc::new(Principal { validity, ..by });
        self.active.insert(key, ActiveToken { token, by: Arc::clone(&by), until });
        by
    }

    /// Verifies again the access tokens under which something runs: those that are revoked, whose key was withdrawn or
    /// that have fewer rights lose their validity. An expired token is treated as if it were not.
    pub(crate) fn reverify(&mut self) {
        self.cache.clear();
        let now = self.settings.clock.now();
        for (key, shown) in std::mem::take(&mut self.active.0) {
            if !shown.is_in_use() {
                continue;
            }
            let at = now.no_later_than(Timestamp::from_seconds(shown.until.seconds().saturating_sub(1)));
            let token = shown.token.expose_secret();
            let stands = match self.bearer(token, key.1, at) {
                Ok((by, _)) => shown.by.is_within(&by),
                // Behind the next fetch of the issuer's keys it is known whether this one was withdrawn.
                Err(Refusal::KeysAway) => true,
                Err(_) => false,
            };
            if stands {
                self.active.0.insert(key, shown);
            } else {
                shown.by.validity.lose();
            }
        }
    }
}

//! Credentials are judged here: when they are shown, and again with every change of the store while something
//! goes on under them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret, SecretString};

use super::AuthActor;
use super::clock::{Now, Timestamp};
use super::secret::{Digest, PAT_PREFIX};
use super::snapshot::Snapshot;
use super::token::Refusal;
use super::verdicts::{Judge, Key, Verdict};
use crate::principal::{Credential, Endpoint, Principal, Validity};

/// Access tokens that are kept at least before it is looked which of them are in use.
const ROOM: usize = 10_000;

/// What was let in with access tokens, as long as something goes on under them.
#[derive(Default)]
pub(crate) struct Held(HashMap<Key, Shown>);

/// An access token that was found valid.
struct Shown {
    token: SecretString,
    by: Arc<Principal>,
    until: Timestamp,
}

impl Shown {
    /// Whether anybody but us has it.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.by) > 1 || self.by.validity.is_held()
    }
}

/// What an actor that has died knew of what goes on under credentials: its successor ends that in its place.
#[derive(Clone, Default)]
pub(crate) struct Legacy(Arc<Mutex<(Snapshot, Held)>>);

impl Legacy {
    fn lock(&self) -> MutexGuard<'_, (Snapshot, Held)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a new actor begins with: what was read now, or else what the one before knew.
    pub(super) fn pass_on(&self, read: Option<Snapshot>) -> (Snapshot, Held) {
        let (before, held) = std::mem::take(&mut *self.lock());
        match read {
            None => (before, held),
            Some(mut now) => {
                now.succeed(&before);
                (now, held)
            }
        }
    }
}

impl Drop for AuthActor {
    fn drop(&mut self) {
        // Nobody looks at the store until there is a successor.
        self.verdicts.clear();
        *self.legacy.lock() = (std::mem::take(&mut self.snapshot), std::mem::take(&mut self.held));
    }
}

impl Held {
    /// The validity of `by`, which a token opens now: the same as before, unless it opens less.
    fn validity(&self, key: &Key, by: &Principal) -> Validity {
        let before = self.0.get(key).map(|shown| &shown.by).filter(|before| !before.validity.is_lost());
        match before {
            None => Validity::default(),
            Some(before) if before.is_within(by) => before.validity.clone(),
            Some(before) => {
                before.validity.lose();
                Validity::default()
            }
        }
    }

    fn keep(&mut self, key: Key, shown: Shown) {
        if self.0.len() >= ROOM && self.0.len() == self.0.capacity() {
            self.0.retain(|_, shown| shown.is_in_use());
        }
        self.0.insert(key, shown);
    }
}

/// What was found of a personal access token.
fn personal(token: Digest, (by, until): (Arc<Principal>, Option<Timestamp>)) -> Verdict {
    Verdict { by, until, used: Some(token) }
}

impl AuthActor {
    /// Who shows what is asked about.
    pub(super) fn authenticate(&mut self, judge: &Judge) -> Result<Arc<Principal>, Refusal> {
        let (now, shown) = (self.clock.now(), &judge.token);
        let verdict = match &judge.asked.credential {
            Credential::Basic { email, .. } => personal(*shown, self.snapshot.basic(email, shown, now)?),
            // What clients with one field for a token send.
            Credential::Bearer(token) if token.expose_secret().starts_with(PAT_PREFIX) => {
                personal(*shown, self.snapshot.personal(shown, now)?)
            }
            Credential::Bearer(token) => {
                let (principal, until) = self.bearer(token.expose_secret(), judge.key.1, now)?;
                let by = self.let_in(judge.key, token.clone(), principal, until);
                Verdict { by, until: Some(until), used: None }
            }
        };
        Ok(self.verdicts.keep(judge.key, verdict))
    }

    /// Who shows this access token, at that time, and until when that holds.
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

    fn let_in(&mut self, key: Key, token: SecretString, by: Principal, until: Timestamp) -> Arc<Principal> {
        let validity = self.held.validity(&key, &by);
        let by = Arc::new(Principal { validity, ..by });
        self.held.keep(key, Shown { token, by: Arc::clone(&by), until });
        by
    }

    /// Judges again what goes on under access tokens: what opens nothing any more, or less, loses its
    /// validity. A token whose time is over is judged as if it were not.
    pub(super) fn judge_anew(&mut self) {
        self.verdicts.clear();
        let now = self.clock.now();
        for (key, shown) in std::mem::take(&mut self.held.0) {
            if !shown.is_in_use() {
                continue;
            }
            let at = now.no_later_than(Timestamp::from_seconds(shown.until.seconds().saturating_sub(1)));
            let token = shown.token.expose_secret();
            let stands = match self.bearer(token, key.1, at) {
                Ok((by, _)) => shown.by.is_within(&by),
                // Keys of another issuer may have to be fetched anew.
                Err(Refusal::UnknownKey) => self.foreign(token).is_some(),
                Err(_) => false,
            };
            if stands {
                self.held.0.insert(key, shown);
            } else {
                shown.by.validity.lose();
            }
        }
    }
}

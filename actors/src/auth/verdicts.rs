//! What was found of credentials not long ago: any thread looks here first, and asks the
//! [`AuthActor`](super::AuthActor) only where nothing is found. So a signature is checked once and not with every
//! request, and a call waits for no mailbox.
//!
//! The actor alone writes. What makes one verdict wrong before its time empties all of them: a change of the store
//! or of the settings, a revocation, the actor's end. Refusals are not kept.

use std::sync::Arc;

use actix::Message;
use quick_cache::sync::Cache;
use secrecy::ExposeSecret;

use super::clock::{Clock, Timestamp};
use super::people::Uses;
use super::secret::Digest;
use super::{AuthSettings, Authenticate};
use crate::error::Result;
use crate::principal::{Credential, Endpoint, Principal};

/// Credentials that are remembered at most.
const MOST: usize = 10_000;

/// A credential, and the endpoint that it was shown to: it may open one and not another.
pub(crate) type Key = (Digest, Endpoint);

/// What all who are started with the same settings remember.
#[derive(Clone)]
pub(crate) struct Memory {
    verdicts: Arc<Cache<Key, Verdict>>,
    /// Credentials that were good once, whatever they are now.
    known: Arc<Cache<Digest, ()>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { verdicts: Arc::new(Cache::new(MOST)), known: Arc::new(Cache::new(MOST)) }
    }
}

/// What is remembered of credentials that were found valid.
#[derive(Clone)]
pub(super) struct Verdicts {
    memory: Memory,
    clock: Clock,
    uses: Uses,
}

/// Of one credential.
#[derive(Clone)]
pub(crate) struct Verdict {
    pub(super) by: Arc<Principal>,
    /// When it ends; none for a token without an end.
    pub(super) until: Option<Timestamp>,
    /// The personal access token whose use is noted.
    pub(super) used: Option<Digest>,
}

impl Verdicts {
    pub(super) fn of_settings(settings: &AuthSettings) -> Self {
        Self { memory: settings.memory.clone(), clock: settings.clock.clone(), uses: settings.uses.clone() }
    }

    /// Who shows that, where it is known and still holds.
    pub(super) fn of(&self, key: &Key) -> Option<Arc<Principal>> {
        let verdict = self.memory.verdicts.get(key)?;
        let now = self.clock.now().time();
        if verdict.until.is_some_and(|until| now >= until) || verdict.by.validity.is_lost() {
            return None;
        }
        self.note(&verdict, now);
        Some(verdict.by)
    }

    /// Whether that was good when it was shown last.
    pub(super) fn knew(&self, key: &Key) -> bool {
        self.memory.known.get(&key.0).is_some()
    }

    /// Remembers what was found of what is shown, and notes that it was used.
    pub(super) fn keep(&self, key: Key, verdict: Verdict) -> Arc<Principal> {
        let by = Arc::clone(&verdict.by);
        self.note(&verdict, self.clock.now().time());
        self.memory.known.insert(key.0, ());
        self.memory.verdicts.insert(key, verdict);
        by
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.memory.verdicts.clear();
    }

    fn note(&self, verdict: &Verdict, now: Timestamp) {
        if let Some(token) = verdict.used {
            self.uses.note(token, now);
        }
    }
}

/// What is remembered under. No header has the octet that stands between name and token.
pub(super) fn key(asked: &Authenticate) -> Key {
    let digest = match &asked.credential {
        Credential::Bearer(token) => Digest::of(token.expose_secret()),
        Credential::Basic { email, token } => Digest::of_parts(&[email, "\0", token.expose_secret()]),
    };
    (digest, asked.endpoint)
}

/// Asks the actor for what is not remembered. Each digest is made once.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Principal>>")]
pub(super) struct Judge {
    pub(super) asked: Authenticate,
    /// What it is remembered under.
    pub(super) key: Key,
    /// That of the token alone.
    pub(super) token: Digest,
}

impl Judge {
    pub(super) fn new(asked: Authenticate, key: Key) -> Self {
        let token = match &asked.credential {
            Credential::Bearer(_) => key.0,
            Credential::Basic { token, .. } => Digest::of(token.expose_secret()),
        };
        Self { asked, key, token }
    }
}

impl From<Authenticate> for Judge {
    fn from(asked: Authenticate) -> Self {
        let key = key(&asked);
        Self::new(asked, key)
    }
}

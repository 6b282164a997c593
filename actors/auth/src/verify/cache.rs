//! The cache of verdicts on credentials: any thread looks here first, and asks the [`AuthActor`](crate::AuthActor)
//! only on a miss. So a signature is verified once and not with every request, and most calls wait for no mailbox.
//!
//! Only the actor writes. Whatever can invalidate a verdict before its time clears the whole cache: a change of the
//! store or of the settings, a revocation, the actor's end. Refusals are not cached.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::accounts::Uses;
use crate::clock::{Clock, Timestamp};
use crate::secret::Digest;
use crate::verify::request::CredentialKey;
use portico_core::principal::Principal;

/// Credentials that are remembered at most.
const MOST: usize = 10_000;

/// The cached verdicts, shared by all that are started with the same settings.
#[derive(Clone)]
pub(crate) struct CacheStorage {
    cache: Arc<Cache<CredentialKey, Judged>>,
    /// Credentials that were valid once, whatever they are now.
    known: Arc<Cache<Digest, ()>>,
}

impl Default for CacheStorage {
    fn default() -> Self {
        Self { cache: Arc::new(Cache::new(MOST)), known: Arc::new(Cache::new(MOST)) }
    }
}

/// The cached verdicts on valid credentials.
#[derive(Clone)]
pub(crate) struct VerifiedCache {
    memory: CacheStorage,
    clock: Clock,
    uses: Uses,
}

/// Of one credential.
#[derive(Clone)]
pub(crate) struct VerifiedCredential {
    pub(crate) by: Arc<Principal>,
    /// When it ends; `None` for a token without an end.
    pub(crate) until: Option<Timestamp>,
    /// The personal access token whose use is recorded.
    pub(crate) used: Option<Digest>,
}

/// A verdict, and when it was made.
#[derive(Clone)]
struct Judged {
    verdict: VerifiedCredential,
    at: Timestamp,
}

impl VerifiedCache {
    pub(crate) fn new(memory: CacheStorage, clock: Clock, uses: Uses) -> Self {
        Self { memory, clock, uses }
    }

    /// Returns the principal of a cached verdict that still holds.
    pub(crate) fn get(&self, key: &CredentialKey) -> Option<Arc<Principal>> {
        let Judged { verdict, at } = self.memory.cache.get(key)?;
        let now = self.clock.now().time();
        // A clock that was set back does not say how old the verdict is.
        if now < at || verdict.until.is_some_and(|until| now >= until) || verdict.by.validity.is_lost() {
            return None;
        }
        self.note(&verdict, now);
        Some(verdict.by)
    }

    /// Whether that was good when it was shown last.
    pub(crate) fn knew(&self, key: &CredentialKey) -> bool {
        self.memory.known.get(&key.0).is_some()
    }

    /// Caches a verdict, and records the use of the token.
    pub(crate) fn insert(&self, key: CredentialKey, verdict: VerifiedCredential) -> Arc<Principal> {
        let (by, at) = (Arc::clone(&verdict.by), self.clock.now().time());
        self.note(&verdict, at);
        self.memory.known.insert(key.0, ());
        self.memory.cache.insert(key, Judged { verdict, at });
        by
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.memory.cache.clear();
    }

    fn note(&self, verdict: &VerifiedCredential, now: Timestamp) {
        if let Some(token) = verdict.used {
            self.uses.note(token, now);
        }
    }
}

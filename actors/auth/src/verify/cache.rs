//! What was found of credentials not long ago: any thread looks here first, and asks the
//! [`AuthActor`](crate::AuthActor) only where nothing is found. So a signature is checked once and not with every
//! request, and a call waits for no mailbox.
//!
//! The actor alone writes. What makes one verdict wrong before its time empties all of them: a change of the store
//! or of the settings, a revocation, the actor's end. Refusals are not kept.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::accounts::Uses;
use crate::clock::{Clock, Timestamp};
use crate::secret::Digest;
use crate::verify::authenticate::CredentialKey;
use portico_core::principal::Principal;

/// Credentials that are remembered at most.
const MOST: usize = 10_000;

/// What all who are started with the same settings remember.
#[derive(Clone)]
pub(crate) struct CacheStorage {
    cache: Arc<Cache<CredentialKey, VerifiedCredential>>,
    /// Credentials that were good once, whatever they are now.
    known: Arc<Cache<Digest, ()>>,
}

impl Default for CacheStorage {
    fn default() -> Self {
        Self { cache: Arc::new(Cache::new(MOST)), known: Arc::new(Cache::new(MOST)) }
    }
}

/// What is remembered of credentials that were found valid.
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
    /// When it ends; none for a token without an end.
    pub(crate) until: Option<Timestamp>,
    /// The personal access token whose use is noted.
    pub(crate) used: Option<Digest>,
}

impl VerifiedCache {
    pub(crate) fn new(memory: CacheStorage, clock: Clock, uses: Uses) -> Self {
        Self { memory, clock, uses }
    }

    /// Who shows that, where it is known and still holds.
    pub(crate) fn get(&self, key: &CredentialKey) -> Option<Arc<Principal>> {
        let verdict = self.memory.cache.get(key)?;
        let now = self.clock.now().time();
        if verdict.until.is_some_and(|until| now >= until) || verdict.by.validity.is_lost() {
            return None;
        }
        self.note(&verdict, now);
        Some(verdict.by)
    }

    /// Whether that was good when it was shown last.
    pub(crate) fn knew(&self, key: &CredentialKey) -> bool {
        self.memory.known.get(&key.0).is_some()
    }

    /// Remembers what was found of what is shown, and notes that it was used.
    pub(crate) fn insert(&self, key: CredentialKey, verdict: VerifiedCredential) -> Arc<Principal> {
        let by = Arc::clone(&verdict.by);
        self.note(&verdict, self.clock.now().time());
        self.memory.known.insert(key.0, ());
        self.memory.cache.insert(key, verdict);
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

//! Principals authenticated with access tokens, as long as something runs under them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use secrecy::SecretString;

use crate::clock::Timestamp;
use crate::verify::request::CredentialKey;
use crate::verify::snapshot::Snapshot;
use portico_core::mutex::lock;
use portico_core::principal::{Principal, Validity};

/// The number of access tokens up to which none is dropped. Beyond it those that are not in use are dropped.
const ROOM: usize = 10_000;

/// Principals authenticated with access tokens, as long as something runs under them.
#[derive(Default)]
pub(crate) struct ActiveTokens(pub(crate) HashMap<CredentialKey, ActiveToken>);

/// An access token that was found valid.
pub(crate) struct ActiveToken {
    pub(crate) token: SecretString,
    pub(crate) by: Arc<Principal>,
    pub(crate) until: Timestamp,
}

impl ActiveToken {
    /// Returns true if anything else holds the principal.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.by) > 1 || self.by.validity.is_held()
    }
}

/// The state that a dead actor leaves behind, so that its successor can end what runs under lost credentials.
#[derive(Clone, Default)]
pub(crate) struct Handover(Arc<Mutex<(Snapshot, ActiveTokens)>>);

impl Handover {
    pub(crate) fn lock(&self) -> MutexGuard<'_, (Snapshot, ActiveTokens)> {
        lock(&self.0)
    }

    /// Returns the state of a new actor: what was read now, or else its predecessor's.
    pub(crate) fn pass_on(&self, read: Option<Snapshot>) -> (Snapshot, ActiveTokens) {
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

impl ActiveTokens {
    /// The validity of `by`, which a token opens now: the same as before, unless it opens less.
    pub(crate) fn validity(&self, key: &CredentialKey, by: &Principal) -> Validity {
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

    pub(crate) fn insert(&mut self, key: CredentialKey, shown: ActiveToken) {
        if self.0.len() >= ROOM && self.0.len() == self.0.capacity() {
            self.0.retain(|_, shown| shown.is_in_use());
        }
        self.0.insert(key, shown);
    }
}

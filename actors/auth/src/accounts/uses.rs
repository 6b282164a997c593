//! When personal access tokens were last used: recorded in memory when they are verified, and written to the store
//! at intervals, so that no call waits for a disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::clock::Timestamp;
use crate::secret::Digest;
use portico_core::mutex::lock;

/// Shared between the recorder and the writer. Each entry is a token that was valid, so there are never more
/// entries than the store has tokens.
#[derive(Clone, Debug, Default)]
pub struct Uses(Arc<Mutex<HashMap<Digest, Timestamp>>>);

impl Uses {
    /// The token of that digest was used.
    pub(crate) fn note(&self, token: Digest, now: Timestamp) {
        lock(&self.0).insert(token, now);
    }

    /// Everything noted since the last time.
    pub(crate) fn take(&self) -> HashMap<Digest, Timestamp> {
        std::mem::take(&mut *lock(&self.0))
    }
}

//! How statements were prepared lately, for those that need more than their values' own types.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use crate::postgres::bind::fingerprint::QueryFingerprint;

/// How long a way is remembered: what it rests on in the catalogue may change.
const LIFETIME: Duration = Duration::from_secs(30);

/// Ways of one connection that are remembered at most, and the parameters of one.
const MOST: usize = 2_048;
const MOST_TYPES: usize = 128;

/// How a statement was prepared that its values' own types did not do for.
#[derive(Clone)]
pub(crate) struct ParameterTypes {
    pub(crate) types: Vec<Type>,
    pub(crate) apart: bool,
    pub(crate) since: Instant,
}

/// The ways that were found lately.
#[derive(Default)]
pub(crate) struct ParameterTypeCache(Mutex<HashMap<QueryFingerprint, ParameterTypes>>);

impl ParameterTypeCache {
    /// The way of the statement of this shape, if one was found lately.
    pub(crate) fn of(&self, fingerprint: impl FnOnce() -> QueryFingerprint) -> Option<ParameterTypes> {
        // Most statements need none, and their texts may be long.
        if self.lock().is_empty() {
            return None;
        }
        let fingerprint = fingerprint();
        self.lock().get(&fingerprint).filter(|way| way.since.elapsed() < LIFETIME).cloned()
    }

    /// Remembers a way.
    pub(crate) fn keep(&self, fingerprint: QueryFingerprint, types: Vec<Type>, apart: bool) {
        if types.len() > MOST_TYPES {
            return;
        }
        let mut parameter_types = self.lock();
        if parameter_types.len() >= MOST {
            parameter_types.retain(|_, way| way.since.elapsed() < LIFETIME);
            if parameter_types.len() >= MOST {
                parameter_types.clear();
            }
        }
        parameter_types.insert(fingerprint, ParameterTypes { types, apart, since: Instant::now() });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueryFingerprint, ParameterTypes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

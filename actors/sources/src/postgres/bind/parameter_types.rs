//! Caches how statements were prepared, for those that need other types than their values' own.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::bind::split_parameters::Sharing;
use crate::postgres::ttl_cache::TtlCache;

/// How long an entry is cached: the catalogue objects that it depends on may change.
const LIFETIME: Duration = Duration::from_secs(30);

/// Ways of one connection that are remembered at most, and the parameters of one.
const MOST: usize = 2_048;
const MOST_TYPES: usize = 128;

/// How a statement was prepared that its values' own types did not do for.
#[derive(Clone)]
pub(crate) struct ParameterTypes {
    pub(crate) types: Vec<Type>,
    /// The types that the source inferred: if a table has changed, they would be others.
    pub(crate) inferred: Vec<Type>,
    /// Set where places of a value are parameters of their own.
    pub(crate) sharing: Option<Sharing>,
}

/// The ways that were found lately.
pub(crate) struct ParameterTypeCache(TtlCache<QueryFingerprint, ParameterTypes>);

impl Default for ParameterTypeCache {
    fn default() -> Self {
        Self(TtlCache::new(LIFETIME, MOST))
    }
}

impl ParameterTypeCache {
    /// Returns the entry for the statement of this fingerprint, if there is a recent one.
    pub(crate) fn get(&self, fingerprint: impl FnOnce() -> QueryFingerprint) -> Option<ParameterTypes> {
        // Most statements need no entry, and hashing a long text takes time.
        if self.0.is_empty() { None } else { self.0.get(&fingerprint()) }
    }

    /// Caches an entry.
    pub(crate) fn insert(&self, fingerprint: QueryFingerprint, found: ParameterTypes) {
        if found.types.len() <= MOST_TYPES {
            self.0.insert(fingerprint, found);
        }
    }
}

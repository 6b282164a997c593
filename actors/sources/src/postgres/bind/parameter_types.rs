//! How statements were prepared lately, for those that need more than their values' own types.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::bind::split_parameters::Sharing;
use crate::postgres::ttl_cache::TtlCache;

/// How long a way is remembered: what it rests on in the catalogue may change.
const LIFETIME: Duration = Duration::from_secs(30);

/// Ways of one connection that are remembered at most, and the parameters of one.
const MOST: usize = 2_048;
const MOST_TYPES: usize = 128;

/// How a statement was prepared that its values' own types did not do for.
#[derive(Clone)]
pub(crate) struct ParameterTypes {
    pub(crate) types: Vec<Type>,
    /// What the source made of them: it would be something else of a table that is another by now.
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
    /// The way of the statement of this shape, if one was found lately.
    pub(crate) fn get(&self, fingerprint: impl FnOnce() -> QueryFingerprint) -> Option<ParameterTypes> {
        // Most statements need none, and their texts may be long.
        if self.0.is_empty() { None } else { self.0.get(&fingerprint()) }
    }

    /// Remembers a way.
    pub(crate) fn insert(&self, fingerprint: QueryFingerprint, found: ParameterTypes) {
        if found.types.len() <= MOST_TYPES {
            self.0.insert(fingerprint, found);
        }
    }
}

//! The shapes of the statements that were admitted lately.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::postgres::bind::argument_types;
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::ttl_cache::TtlCache;
use crate::postgres::walls::policy::CheckPolicy;
use portico_core::call::Argument;
use portico_core::identity::AssumedIdentity;

/// How long a verdict holds. Changes of the catalogue by other sessions, such as which table an unqualified name
/// means, take effect after that time.
const LIFETIME: Duration = Duration::from_secs(30);

/// What an admitted statement can run without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExecutionHints {
    /// The statement has no side effect on its session: it needs no transaction and no cleaning.
    pub(crate) autocommit: bool,
    /// The text always has the same meaning, so that a session may keep it prepared.
    pub(crate) reusable: bool,
}

/// Verdicts of one connection that are kept at most, 16 octets each and their time.
const MOST: usize = 16_384;

/// The shapes that were admitted lately.
pub(crate) struct AdmittedStatements {
    /// By the generation that they were found in: entries of earlier generations are never returned.
    admitted: TtlCache<(u64, QueryFingerprint), ExecutionHints>,
    /// Incremented whenever all entries become invalid.
    generation: AtomicU64,
}

impl Default for AdmittedStatements {
    fn default() -> Self {
        Self { admitted: TtlCache::new(LIFETIME, MOST), generation: AtomicU64::default() }
    }
}

impl AdmittedStatements {
    /// Returns the entry of this fingerprint, if it was admitted recently.
    pub(crate) fn get(&self, fingerprint: &QueryFingerprint) -> Option<ExecutionHints> {
        self.admitted.get(&(self.generation(), *fingerprint))
    }

    /// Returns the current generation, to be passed to [`AdmittedStatements::insert`] with what is found from now
    /// on.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds an admitted statement, unless all entries became invalid since `generation`.
    pub(crate) fn insert(&self, fingerprint: QueryFingerprint, generation: u64, admission: ExecutionHints) {
        if generation == self.generation() {
            self.admitted.insert((generation, fingerprint), admission);
        }
    }

    /// Forgets everything: the catalogue may have changed.
    pub(crate) fn forget(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.admitted.clear();
    }
}

/// Returns the cache key of a verdict: text, role, default schema, policy (`guard`) and value types. A verdict on
/// an administrator's statement (`advisory`) has a key of its own.
pub(crate) fn fingerprint(
    text: &str,
    (values, default_schema): (&[Argument], Option<&str>),
    (guard, advisory): (CheckPolicy, bool),
    by: &AssumedIdentity,
) -> QueryFingerprint {
    let role = by.as_ref().map_or("", |identity| identity.role.as_str());
    let types: Vec<String> = values.iter().map(|value| format!("{:?}", argument_types::kind(value))).collect();
    let stands = |wall: bool, word: &'static str| if wall { word } else { "" };
    let (hides, identity) = (stands(guard.hides, "h"), stands(guard.identity, "i"));
    let (read_only, advisory) = (stands(guard.read_only, "r"), stands(advisory, "a"));
    let types = types.join(",");
    let schema = default_schema.unwrap_or_default();
    QueryFingerprint::new(text, &[role, schema, hides, identity, read_only, advisory, types.as_str()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_before_everything_was_forgotten_is_not_kept() {
        let memory = AdmittedStatements::default();
        let fingerprint = QueryFingerprint::new("SELECT 1", &[]);
        let before = memory.generation();
        memory.forget();
        memory.insert(fingerprint, before, ExecutionHints::default());
        assert_eq!(memory.get(&fingerprint), None);
        memory.insert(fingerprint, memory.generation(), ExecutionHints::default());
        assert_eq!(memory.get(&fingerprint), Some(ExecutionHints::default()));
    }
}

//! The shapes of the statements that were admitted lately.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::postgres::bind::argument_types;
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::ttl_cache::TtlCache;
use crate::postgres::walls::policy::CheckPolicy;
use portico_core::call::Argument;
use portico_core::identity::AssumedIdentity;

/// How long a verdict holds. What another session changes in the catalogue meanwhile, such as which
/// table a name without a schema means, is seen after that time.
const LIFETIME: Duration = Duration::from_secs(30);

/// What a statement that was admitted may do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExecutionHints {
    /// It leaves nothing behind in its session: it needs no transaction around it, and nothing is to be cleaned.
    pub(crate) autocommit: bool,
    /// Its text means the same each time, so that a session may keep what it has prepared.
    pub(crate) reusable: bool,
}

/// Verdicts of one connection that are kept at most, 16 octets each and their time.
const MOST: usize = 16_384;

/// The shapes that were admitted lately.
pub(crate) struct AdmittedStatements {
    /// By the generation that they were found in: what was found of an earlier one is found by nobody.
    admitted: TtlCache<(u64, QueryFingerprint), ExecutionHints>,
    /// Goes up whenever everything is forgotten.
    generation: AtomicU64,
}

impl Default for AdmittedStatements {
    fn default() -> Self {
        Self { admitted: TtlCache::new(LIFETIME, MOST), generation: AtomicU64::default() }
    }
}

impl AdmittedStatements {
    /// What was found of this shape, where it was admitted lately.
    pub(crate) fn get(&self, fingerprint: &QueryFingerprint) -> Option<ExecutionHints> {
        self.admitted.get(&(self.generation(), *fingerprint))
    }

    /// To be handed to [`AdmittedStatements::keep`]: what is found from now on holds for this moment.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Remembers what was admitted, unless everything was forgotten since `generation`.
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

/// By what is remembered what a text was found to be under `guard`, with values of such types. What was found of an
/// administrator's, by `advisory`, nobody else finds.
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

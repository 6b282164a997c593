//! The shapes of the statements that were admitted lately.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::postgres::bind::fingerprint::QueryFingerprint;

/// How long a verdict holds. What another session changes in the catalogue meanwhile, such as which
/// table a name without a schema means, is seen after that time.
const LIFETIME: Duration = Duration::from_secs(30);

/// What a statement that was admitted may do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Admission {
    /// It leaves nothing behind in its session: it needs no transaction around it, and nothing is to be cleaned.
    pub(crate) autocommit: bool,
    /// Its text means the same each time, so that a session may keep what it has prepared.
    pub(crate) reusable: bool,
}

/// Verdicts of one connection that are kept at most, 16 octets each and their time.
const MOST: usize = 16_384;

/// The shapes that were admitted lately. Nearly all who come only look.
#[derive(Default)]
pub(crate) struct AdmittedStatements(RwLock<Admitted>);

#[derive(Default)]
struct Admitted {
    fingerprints: HashMap<QueryFingerprint, (Instant, Admission)>,
    /// Goes up whenever everything is forgotten.
    generation: u64,
}

impl AdmittedStatements {
    /// What was found of this shape, where it was admitted lately.
    pub(crate) fn get(&self, fingerprint: &QueryFingerprint) -> Option<Admission> {
        let admitted = self.read();
        let (since, admission) = admitted.fingerprints.get(fingerprint)?;
        (since.elapsed() < LIFETIME).then_some(*admission)
    }

    /// To be handed to [`AdmittedStatements::keep`]: what is found from now on holds for this moment.
    pub(crate) fn generation(&self) -> u64 {
        self.read().generation
    }

    /// Remembers what was admitted, unless everything was forgotten since `generation`.
    pub(crate) fn keep(&self, fingerprint: QueryFingerprint, generation: u64, admission: Admission) {
        let mut admitted = self.write();
        if admitted.generation != generation {
            return;
        }
        if admitted.fingerprints.len() >= MOST {
            admitted.fingerprints.retain(|_, (since, _)| since.elapsed() < LIFETIME);
            if admitted.fingerprints.len() >= MOST {
                admitted.fingerprints.clear();
            }
        }
        admitted.fingerprints.insert(fingerprint, (Instant::now(), admission));
    }

    /// Forgets everything: the catalogue may have changed.
    pub(crate) fn forget(&self) {
        let mut admitted = self.write();
        admitted.generation += 1;
        admitted.fingerprints.clear();
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Admitted> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Admitted> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_before_everything_was_forgotten_is_not_kept() {
        let memory = AdmittedStatements::default();
        let fingerprint = QueryFingerprint::of("SELECT 1", &[]);
        let before = memory.generation();
        memory.forget();
        memory.keep(fingerprint, before, Admission::default());
        assert_eq!(memory.get(&fingerprint), None);
        memory.keep(fingerprint, memory.generation(), Admission::default());
        assert_eq!(memory.get(&fingerprint), Some(Admission::default()));
    }
}

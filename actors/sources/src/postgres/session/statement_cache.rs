//! Statements that a session keeps prepared because their texts are repeated. Only statements without side effects
//! are kept (`walls/autocommit_safety.rs`), and they are closed before a statement of any other kind runs on the session: no
//! caller can see, explain or execute what another caller has prepared.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio_postgres::Statement;

use crate::postgres::bind::fingerprint::QueryFingerprint;
use portico_core::mutex::lock;

/// Statements of one session at most, and octets of the text of one.
const MOST: usize = 32;
const LONGEST: usize = 8 * 1024;

/// How long one is kept: an object that its literals name may be renamed meanwhile.
const LIFETIME: Duration = Duration::from_secs(30);

/// The number of texts of a connection that are distinguished, eight bytes each.
const TEXTS: usize = 1_024;

/// The statements that one session keeps, the most recently used last.
#[derive(Default)]
pub(crate) struct StatementCache(Mutex<VecDeque<CachedStatement>>);

struct CachedStatement {
    fingerprint: QueryFingerprint,
    statement: Statement,
    since: Instant,
}

impl StatementCache {
    /// The statement with this fingerprint.
    pub(crate) fn get(&self, fingerprint: &QueryFingerprint) -> Option<Statement> {
        let mut kept = self.lock();
        let place = kept.iter().position(|kept| kept.fingerprint == *fingerprint)?;
        let found = kept.remove(place).filter(|kept| kept.since.elapsed() < LIFETIME)?;
        let statement = found.statement.clone();
        kept.push_back(found);
        Some(statement)
    }

    /// Keeps a statement, in place of the least recently used one.
    pub(crate) fn insert(&self, fingerprint: QueryFingerprint, text: &str, statement: &Statement) {
        if text.len() > LONGEST {
            return;
        }
        let mut kept = self.lock();
        kept.retain(|kept| kept.fingerprint != fingerprint);
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(CachedStatement { fingerprint, statement: statement.clone(), since: Instant::now() });
    }

    /// Closes this one: it no longer fits the objects that it names.
    pub(crate) fn forget(&self, fingerprint: &QueryFingerprint) {
        self.lock().retain(|kept| kept.fingerprint != *fingerprint);
    }

    /// Closes all of them. The wire library tells the server with the next message.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedStatement>> {
        lock(&self.0)
    }
}

/// Which texts came lately. Two of them may share a place, and then drive each other out.
pub(crate) struct RecentTexts(Box<[AtomicU64]>);

impl Default for RecentTexts {
    fn default() -> Self {
        Self(std::iter::repeat_with(AtomicU64::default).take(TEXTS).collect())
    }
}

impl RecentTexts {
    /// Whether the statement with this fingerprint came before; from now on it did.
    pub(crate) fn came_before(&self, fingerprint: &QueryFingerprint) -> bool {
        let number = fingerprint.number();
        let place = usize::try_from(number).unwrap_or(usize::MAX) % self.0.len();
        // A wrong answer costs at most a round trip.
        let Some(place) = self.0.get(place) else { return false };
        place.load(Ordering::Relaxed) == number || {
            place.store(number, Ordering::Relaxed);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_comes_again_is_told_from_one_that_does_not() {
        let recent = RecentTexts::default();
        let (one, other) = (QueryFingerprint::new("SELECT 1", &[]), QueryFingerprint::new("SELECT now()", &[]));
        assert!(!recent.came_before(&one));
        assert!(!recent.came_before(&other));
        assert!(recent.came_before(&other));
    }
}

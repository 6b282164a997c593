//! Whether what a call did at its source may stand. Whoever would let a failed call run again asks this.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing stands: nothing was sent that would, or the source has undone it.
const NOTHING: u8 = 0;
/// A commit was sent.
const COMMIT: u8 = 1;
/// Something was committed that no rollback undoes: before, or by a procedure that may commit by itself.
const COMMITTED: u8 = 2;

/// What may stand at the source of what a call did there, whatever the caller is answered. Drivers note it before they
/// send what may stand, so that it is right also where a call is dropped, or is answered with an error of another
/// layer. The default notes nothing, for calls that nobody asks about.
#[derive(Clone, Debug, Default)]
pub struct Effects(Option<Arc<AtomicU8>>);

impl Effects {
    /// Makes one that notes what drivers say.
    pub fn noted() -> Self {
        Self(Some(Arc::default()))
    }

    /// A commit is being sent.
    pub fn commits(&self) {
        self.note(COMMIT);
    }

    /// What is being sent may commit by itself, and fail after that.
    pub fn may_commit_itself(&self) {
        self.note(COMMITTED);
    }

    /// Returns it for one more call of the same request: what calls before it have committed stays noted.
    #[must_use]
    pub fn next(&self) -> Self {
        if let Some(noted) = &self.0 {
            let _ = noted.compare_exchange(COMMIT, COMMITTED, Ordering::AcqRel, Ordering::Acquire);
        }
        self.clone()
    }

    /// The source has said that the transaction was rolled back.
    pub fn undone(&self) {
        if let Some(noted) = &self.0 {
            let _ = noted.compare_exchange(COMMIT, NOTHING, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Returns true unless it is known that nothing stands.
    pub fn may_stand(&self) -> bool {
        self.0.as_ref().is_some_and(|noted| noted.load(Ordering::Acquire) != NOTHING)
    }

    fn note(&self, what: u8) {
        if let Some(noted) = &self.0 {
            noted.fetch_max(what, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rollback_undoes_does_not_stand() {
        let effects = Effects::noted();
        assert!(!effects.may_stand());
        effects.commits();
        assert!(effects.clone().may_stand());
        effects.undone();
        assert!(!effects.may_stand());
        // What a call before it has committed stays.
        effects.commits();
        effects.next().commits();
        effects.undone();
        assert!(effects.may_stand());
        let effects = Effects::noted();
        // What a procedure has committed is not undone with its last transaction.
        effects.may_commit_itself();
        effects.commits();
        effects.undone();
        assert!(effects.may_stand());
        let nobody = Effects::default();
        nobody.may_commit_itself();
        assert!(!nobody.may_stand());
    }
}

//! Tells whoever keeps an answer of a failure behind its first byte, which no status shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells of a failure behind the first byte, which no status shows.
#[derive(Clone, Default)]
pub(in crate::http) struct LateFailure(Arc<AtomicBool>);

impl LateFailure {
    pub(in crate::http) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(in crate::http) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

//! Taking a lock of the standard library's.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock whose holder may have panicked: what it guards is whole after each step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

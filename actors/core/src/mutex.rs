//! Locks a mutex of the standard library.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if a holder has panicked: the guarded value is consistent after each step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

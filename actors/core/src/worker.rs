//! Identifies a worker thread, so that a session is reused on the thread that drives it; elsewhere each message
//! wakes two threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(u64);

impl WorkerId {
    /// Returns the current thread. A thread that is ending gets a new number.
    pub fn current() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        thread_local! {
            static CURRENT: WorkerId = WorkerId(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        CURRENT.try_with(|id| *id).unwrap_or(Self(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_another_one() {
        let here = WorkerId::current();
        assert_eq!(here, WorkerId::current());
        let there = std::thread::spawn(WorkerId::current).join().expect("it ends");
        assert_ne!(here, there);
    }
}

//! Tells threads apart, so that what one of them drives is used there first: whoever uses it elsewhere wakes
//! two threads for each thing that is said.

use std::sync::atomic::{AtomicU64, Ordering};

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(u64);

impl WorkerId {
    /// The thread that this is called on. One that is ending counts as another one.
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

//! Bounds how much of the sources' answers is in memory at one time, for the whole process. Small rows are not
//! counted and touch no shared state.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The size in bytes up to which a row is not counted. A session has few such rows at a time.
pub const FREE: usize = 1024 * 1024;

/// The bytes that larger rows share. Clones share the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    most: usize,
    left: Arc<Semaphore>,
}

/// Reserved bytes, returned to the budget on drop.
#[derive(Debug)]
pub struct MemoryReservation {
    _octets: Option<OwnedSemaphorePermit>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

impl Budget {
    /// The default size in bytes.
    pub const DEFAULT: usize = 256 * 1024 * 1024;

    /// Makes a budget of `most` bytes.
    pub fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { most, left: Arc::new(Semaphore::new(most)) }
    }

    /// Returns the size of the budget. A larger row can never be read.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of bytes reserved now.
    pub fn lent(&self) -> usize {
        self.most - self.left.available_permits()
    }

    /// Reserves `octets` bytes. Waits, in order of arrival, until they are available.
    pub fn reserve(&self, octets: usize) -> impl Future<Output = MemoryReservation> + Send + use<> {
        let wanted = u32::try_from(octets.min(self.most)).unwrap_or(u32::MAX);
        let reserved = Arc::clone(&self.left).acquire_many_owned(wanted);
        // The semaphore is never closed.
        async move { MemoryReservation { _octets: reserved.await.ok() } }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn who_asked_first_is_served_first_and_what_is_dropped_is_given_back() {
        let budget = Budget::new(10);
        let first = budget.reserve(6).await;
        let mut large = Box::pin(budget.reserve(10));
        assert!((&mut large).now_or_never().is_none());
        let mut small = Box::pin(budget.reserve(1));
        assert!((&mut small).now_or_never().is_none(), "there is room, and it is not its turn");
        drop(first);
        let large = large.await;
        assert_eq!(budget.lent(), 10);
        drop(large);
        drop(small.await);
        let all = budget.reserve(20).await;
        assert_eq!(budget.lent(), 10);
        drop(all);
        assert_eq!(budget.lent(), 0);
    }

    #[tokio::test]
    async fn who_waits_no_more_stands_in_nobodys_way() {
        let budget = Budget::new(10);
        let held = budget.reserve(5).await;
        let mut large = Box::pin(budget.reserve(10));
        assert!((&mut large).now_or_never().is_none());
        drop(large);
        drop(budget.reserve(5).await);
        drop(held);
        assert_eq!(budget.lent(), 0);
    }
}

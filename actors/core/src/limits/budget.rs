//! Bounds how much of the sources' answers is in memory at one time, for the whole process. Small rows are not
//! counted and touch no shared state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The size in bytes up to which a row is not counted. A session has few such rows at a time.
pub const FREE: usize = 1024 * 1024;

/// The bytes that larger rows share. Clones share the same budget.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    left: Arc<Semaphore>,
    peak: AtomicUsize,
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
        Self(Arc::new(Shared { most, left: Arc::new(Semaphore::new(most)), peak: AtomicUsize::new(0) }))
    }

    /// Returns the size of the budget. A larger row can never be read.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Returns the number of bytes reserved now.
    pub fn lent(&self) -> usize {
        self.0.most - self.0.left.available_permits()
    }

    /// Returns the largest number of bytes that were reserved at one time.
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// Reserves `octets` bytes. Waits, in order of arrival, until they are available.
    pub fn reserve(&self, octets: usize) -> impl Future<Output = MemoryReservation> + Send + use<> {
        let budget = self.clone();
        async move {
            let wanted = u32::try_from(octets.min(budget.most())).unwrap_or(u32::MAX);
            // The semaphore is never closed.
            let octets = Arc::clone(&budget.0.left).acquire_many_owned(wanted).await.ok();
            budget.0.peak.fetch_max(budget.lent(), Ordering::Relaxed);
            MemoryReservation { _octets: octets }
        }
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
        assert_eq!((budget.lent(), budget.peak()), (10, 10));
        drop(large);
        drop(small.await);
        drop(Box::pin(budget.reserve(20)).await);
        assert_eq!((budget.lent(), budget.peak()), (0, 10));
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

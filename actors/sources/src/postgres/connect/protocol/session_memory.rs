//! Memory reserved for the large rows of a session: reserved where the bytes of a row are announced, released by
//! the reader of the rows. The wire library in between knows of neither.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use portico_core::budget::{Budget, FREE, MemoryReservation};
use portico_core::mutex::lock;

/// The bytes in a row's message before its values: the number of columns.
const COLUMNS: usize = 2;

/// The budget, and the reservations of one session.
#[derive(Clone, Default)]
pub(crate) struct SessionMemory {
    pub(crate) budget: Budget,
    pub(crate) lent: Arc<PendingReservations>,
}

/// Reservations of rows that were not read yet, in order of arrival.
#[derive(Default)]
pub(crate) struct PendingReservations(Mutex<VecDeque<(usize, MemoryReservation)>>);

impl PendingReservations {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(usize, MemoryReservation)>> {
        lock(&self.0)
    }

    /// A message of so many octets may be read.
    pub(crate) fn add(&self, octets: usize, loan: MemoryReservation) {
        self.lock().push_back((octets, loan));
    }

    /// Returns the reservation of the row with values of so many bytes, which the caller then owns. Rows come in
    /// order: an earlier one that is still here was dropped unread.
    pub(crate) fn take(&self, values: usize) -> Option<MemoryReservation> {
        let octets = values + COLUMNS;
        if octets <= FREE {
            return None;
        }
        let mut lent = self.lock();
        while let Some((announced, loan)) = lent.pop_front() {
            if announced == octets {
                return Some(loan);
            }
        }
        None
    }

    /// Drops all of them: their rows will not be read.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_dropped_unread_is_given_back_with_the_next_row() {
        let (budget, lent) = (Budget::new(10 * FREE), PendingReservations::default());
        for octets in [2 * FREE, 3 * FREE, 4 * FREE] {
            lent.add(octets, budget.reserve(octets).await);
        }
        assert!(lent.take(100).is_none(), "a small row was lent nothing");
        let second = lent.take(3 * FREE - COLUMNS);
        assert_eq!(budget.lent(), 7 * FREE);
        drop(second);
        assert_eq!(budget.lent(), 4 * FREE);
        lent.clear();
        assert_eq!(budget.lent(), 0);
    }
}

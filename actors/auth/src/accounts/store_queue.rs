//! The queue for the store, which runs one operation at a time: known callers go first, strangers after them in
//! turns by address. The length of the queue and the time in it are limited: beyond them the error is that the
//! store is slow.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::limits::{ClientAddress, network};
use portico_core::error::{Error, Kind, Result};
use portico_core::fair_queue::FairQueue;
use portico_core::mutex::lock;

/// The maximal number of known callers that wait.
const WAITING: usize = 1024;
/// The maximal number of strangers that wait.
const STRANGERS: usize = 64;
/// The maximal number of strangers of one address that wait.
const STRANGERS_OF_ADDRESS: usize = 16;
/// How long one waits at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// When another attempt is worth it.
const RETRY: Duration = Duration::from_secs(1);

/// The caller of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Requester {
    /// A known caller, or the service itself.
    Known,
    /// A stranger at that address.
    Stranger(ClientAddress),
}

/// The current and the waiting callers of the store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoreQueue {
    state: Arc<Mutex<StoreQueueState>>,
    patience: Duration,
}

impl Default for StoreQueue {
    fn default() -> Self {
        Self { state: Arc::default(), patience: PATIENCE }
    }
}

#[derive(Default)]
struct StoreQueueState {
    taken: bool,
    known: FairQueue<ClientAddress, oneshot::Sender<StoreSlot>>,
    strangers: FairQueue<ClientAddress, oneshot::Sender<StoreSlot>>,
}

/// The right to use the store, until it is dropped.
pub(crate) struct StoreSlot {
    queue: StoreQueue,
    /// Whether it was given to a caller.
    runs: bool,
}

impl Drop for StoreSlot {
    fn drop(&mut self) {
        if self.runs {
            self.queue.lock().pass_on(&self.queue);
        }
    }
}

impl StoreQueue {
    fn lock(&self) -> MutexGuard<'_, StoreQueueState> {
        lock(&self.state)
    }

    /// Waits for the slot.
    ///
    /// # Errors
    /// At once if too many wait: [`Kind::Busy`] for strangers, [`Kind::Unavailable`] for known callers;
    /// [`Kind::Unavailable`] if it does not come in time.
    pub(crate) async fn take(&self, requester: Requester) -> Result<StoreSlot> {
        let waiting = {
            let mut state = self.lock();
            if !state.taken {
                state.taken = true;
                return Ok(StoreSlot { queue: self.clone(), runs: true });
            }
            state.queue(requester)?
        };
        match timeout(self.patience, waiting).await {
            Ok(Ok(slot)) => Ok(slot),
            // Displaced by a caller with fewer waiting requests.
            Ok(Err(_)) => Err(crowded()),
            Err(_) => Err(slow()),
        }
    }
}

impl StoreQueueState {
    fn queue(&mut self, requester: Requester) -> Result<oneshot::Receiver<StoreSlot>> {
        for lane in [&mut self.known, &mut self.strangers] {
            drop(lane.take_if(oneshot::Sender::is_closed));
        }
        let (give, given) = oneshot::channel();
        match requester {
            Requester::Known => self.known.admit(&None, give, WAITING, false).map_err(|_| slow())?,
            Requester::Stranger(place) => {
                let full = self.strangers.len() >= STRANGERS;
                // An address with many requests makes room for one with few.
                self.strangers.admit(&place.map(network), give, STRANGERS_OF_ADDRESS, full).map_err(|_| crowded())?
            }
        };
        Ok(given)
    }

    /// Gives the slot to the next caller that still waits.
    fn pass_on(&mut self, queue: &StoreQueue) {
        while let Some(next) = self.known.pop().or_else(|| self.strangers.pop()) {
            match next.send(StoreSlot { queue: queue.clone(), runs: true }) {
                Ok(()) => return,
                Err(mut slot) => slot.runs = false,
            }
        }
        self.taken = false;
    }
}

fn crowded() -> Error {
    Error::new(Kind::Busy, "too many unauthenticated requests are waiting for the store of users and tokens")
        .retry_after(RETRY)
}

fn slow() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens is slow, and too many requests are waiting for it")
        .retry_after(RETRY)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    type Waiting = std::pin::Pin<Box<dyn Future<Output = Result<StoreSlot>>>>;

    fn waits(queue: &StoreQueue, requester: Requester) -> Waiting {
        let queue = queue.clone();
        let mut waiting: Waiting = Box::pin(async move { queue.take(requester).await });
        assert!((&mut waiting).now_or_never().is_none(), "it did not wait");
        waiting
    }

    fn refused(queue: &StoreQueue, requester: Requester) -> Error {
        queue.take(requester).now_or_never().expect("a full queue was waited for").err().expect("there was room")
    }

    #[tokio::test]
    async fn who_is_known_goes_first_and_strangers_take_turns_by_address() {
        let queue = StoreQueue::default();
        let [one, two] = ["192.0.2.1", "192.0.2.2"].map(|at| Requester::Stranger(at.parse().ok()));
        let running = queue.take(one).await.unwrap();
        let mut waiting = [one, one, two, Requester::Known].map(|requester| waits(&queue, requester));
        drop(running);
        for next in [3, 0, 2, 1] {
            let slot = (&mut waiting[next]).now_or_never().expect("it was another one's turn").unwrap();
            drop(slot);
        }
        assert!(!queue.lock().taken);
    }

    #[tokio::test]
    async fn beyond_the_bound_it_is_said_at_once_and_whoever_leaves_makes_room() {
        let queue = StoreQueue::default();
        let running = queue.take(Requester::Known).await.unwrap();
        let at = |number: u32| Requester::Stranger(Some(std::net::Ipv4Addr::from(number).into()));
        let mut pending: Vec<_> = (0..STRANGERS_OF_ADDRESS).map(|_| waits(&queue, at(1))).collect();
        assert_eq!(refused(&queue, at(1)).kind, Kind::Busy);
        pending.extend((2..).take(STRANGERS - STRANGERS_OF_ADDRESS).map(|number| waits(&queue, at(number))));
        let newcomer = waits(&queue, at(1_000));
        let displaced = (&mut pending[STRANGERS_OF_ADDRESS - 1]).now_or_never().expect("nobody made room");
        assert!(displaced.err().unwrap().get_retry_after().is_some());
        let mut known: Vec<_> = (0..WAITING).map(|_| waits(&queue, Requester::Known)).collect();
        let full = refused(&queue, Requester::Known);
        assert!(full.kind == Kind::Unavailable && full.get_retry_after().is_some());
        known.truncate(1);
        let last = waits(&queue, Requester::Known);
        drop((pending, known, running));
        drop(last.await.unwrap());
        drop(newcomer.await.unwrap());
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let queue = StoreQueue { patience: Duration::from_millis(20), ..StoreQueue::default() };
        let _running = queue.take(Requester::Known).await.unwrap();
        for requester in [Requester::Known, Requester::Stranger(None)] {
            assert_eq!(queue.take(requester).await.err().unwrap().kind, Kind::Unavailable);
        }
    }
}

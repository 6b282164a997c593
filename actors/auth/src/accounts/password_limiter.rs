//! Limits the comparisons of passwords. One takes a core and 19 MiB for tens of milliseconds: a few run at once, a
//! few more wait, and the rest are refused at once. Addresses take turns; those that have signed in before go
//! first, and names that are being guessed go last and slowly.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::accounts::attempts::{Attempt, AttemptClass, Attempts};
use crate::limits::{AuthLimits, ClientAddress, Failures};
use crate::secret::Digest;
use portico_core::error::{Error, Kind, Quota, Result};
use portico_core::fair_queue::FairQueue;
use portico_core::mutex::lock;

/// The maximal number of waiting attempts in one lane.
const WAITING: usize = 64;
/// The maximal number of waiting attempts of one address in one lane.
const WAITING_OF_ADDRESS: usize = 4;
/// How long one waits at most.
const PATIENCE: Duration = Duration::from_secs(20);
/// When a full queue is worth another attempt.
const RETRY: Duration = Duration::from_secs(2);

/// Limits how many passwords are compared at once. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PasswordLimiter {
    state: Arc<Mutex<LimiterState>>,
    patience: Duration,
}

struct LimiterState {
    attempts: Attempts,
    /// Passwords that are compared at once, at most.
    most: usize,
    running: usize,
    known: FairQueue<ClientAddress, Waiter>,
    ordinary: FairQueue<ClientAddress, Waiter>,
    /// By the name that is being guessed, in turns.
    slow: VecDeque<(Digest, FairQueue<ClientAddress, Waiter>)>,
}

struct Waiter {
    attempt: Attempt,
    start: oneshot::Sender<PasswordSlot>,
}

/// One comparison. Dropped without [`PasswordSlot::succeeded`], it counts as a failure.
pub(crate) struct PasswordSlot {
    limiter: PasswordLimiter,
    attempt: Attempt,
    /// Whether it takes a place among those that run.
    runs: bool,
}

impl PasswordSlot {
    /// The password was right.
    pub(crate) fn succeeded(self) {
        self.limiter.lock().attempts.succeeded(&self.attempt);
    }
}

impl Drop for PasswordSlot {
    fn drop(&mut self) {
        if self.runs {
            let mut state = self.limiter.lock();
            state.running -= 1;
            state.start_waiting(&self.limiter);
        }
    }
}

impl PasswordLimiter {
    /// Counts failures together with those of all other endpoints.
    pub(crate) fn new(limits: &AuthLimits, failures: Failures) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
        Self::with(limits, failures, (cores / 2).clamp(2, 8), PATIENCE)
    }

    fn with(limits: &AuthLimits, failures: Failures, most: usize, patience: Duration) -> Self {
        let state = LimiterState {
            attempts: Attempts::new(limits, failures),
            most,
            running: 0,
            known: FairQueue::default(),
            ordinary: FairQueue::default(),
            slow: VecDeque::new(),
        };
        Self { state: Arc::new(Mutex::new(state)), patience }
    }

    fn lock(&self) -> MutexGuard<'_, LimiterState> {
        lock(&self.state)
    }

    /// Waits until a password of `name` may be compared for that address.
    ///
    /// # Errors
    /// [`Kind::Busy`] if that address has failed too often, if too many wait, or if the wait takes too long.
    pub(crate) async fn acquire(&self, name: &str, from: Option<IpAddr>) -> Result<PasswordSlot> {
        let (attempt, mut started) = {
            let mut state = self.lock();
            let attempt = state.attempts.begin(name, from, Instant::now()).map_err(too_many)?;
            let started = state.queue(attempt)?;
            state.start_waiting(self);
            (attempt, started)
        };
        let slot = timeout(self.patience, async {
            loop {
                let next = if attempt.class == AttemptClass::Slow { self.next_of(&attempt) } else { self.patience };
                tokio::select! {
                    slot = &mut started => return slot,
                    // Only time makes room for the name again.
                    () = sleep(next) => self.lock().start_waiting(self),
                }
            }
        });
        match slot.await {
            Ok(Ok(slot)) => Ok(slot),
            // Displaced by a caller with fewer waiting attempts.
            Ok(Err(_)) => Err(full()),
            Err(_) => {
                started.close();
                // It may have come in the last moment.
                started.try_recv().map_err(|_| full().retry_after(self.next_of(&attempt).max(RETRY)))
            }
        }
    }

    /// When the name of a slow attempt has room again.
    fn next_of(&self, attempt: &Attempt) -> Duration {
        let reset = self.lock().attempts.room_of(&attempt.name(), Instant::now());
        reset.map_or(Duration::from_millis(10), |quota| quota.reset).max(Duration::from_millis(10))
    }

    /// Counts a client that registers itself.
    ///
    /// # Errors
    /// [`Kind::Busy`] when too many have done so from that address.
    pub(crate) fn registers(&self, from: Option<IpAddr>) -> Result<()> {
        self.lock().attempts.registers(from, Instant::now()).map_err(|quota| {
            Error::throttled("too many clients have registered themselves from this address", quota)
                .hint("try again later, or ask an administrator to register the client")
        })
    }
}

impl LimiterState {
    /// Has the attempt wait.
    fn queue(&mut self, attempt: Attempt) -> Result<oneshot::Receiver<PasswordSlot>> {
        self.forget_gone();
        let waiting = self.slow.iter().map(|(_, lane)| lane.len()).sum::<usize>();
        let (count, lane) = match attempt.class {
            AttemptClass::Known => (self.known.len(), &mut self.known),
            AttemptClass::Ordinary => (self.ordinary.len(), &mut self.ordinary),
            AttemptClass::Slow => {
                let name = attempt.name();
                let at = self.slow.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    self.slow.push_back((name, FairQueue::default()));
                    self.slow.len() - 1
                });
                (waiting, &mut self.slow[at].1)
            }
        };
        let (start, started) = oneshot::channel();
        // An address with many attempts makes room for one with few.
        let admitted = lane.admit(&attempt.place(), Waiter { attempt, start }, WAITING_OF_ADDRESS, count >= WAITING);
        if let Ok((_, Some(waiter))) | Err(waiter) = &admitted {
            self.attempts.give_back(&waiter.attempt);
        }
        self.slow.retain(|(_, lane)| !lane.is_empty());
        admitted.map(|_| started).map_err(|_| full())
    }

    /// Removes attempts whose callers have left; nothing was compared for them.
    fn forget_gone(&mut self) {
        let gone = |waiter: &Waiter| waiter.start.is_closed();
        let lanes = [&mut self.known, &mut self.ordinary].into_iter().chain(self.slow.iter_mut().map(|(_, lane)| lane));
        let left: Vec<Waiter> = lanes.flat_map(|lane| lane.take_if(gone)).collect();
        for waiter in left {
            self.attempts.give_back(&waiter.attempt);
        }
        self.slow.retain(|(_, lane)| !lane.is_empty());
    }

    /// Starts as many as may run.
    fn start_waiting(&mut self, limiter: &PasswordLimiter) {
        while self.running < self.most {
            let Some(Waiter { attempt, start }) = self.next() else { return };
            self.running += 1;
            if let Err(mut slot) = start.send(PasswordSlot { limiter: limiter.clone(), attempt, runs: true }) {
                slot.runs = false;
                self.running -= 1;
                self.attempts.give_back(&attempt);
            }
        }
    }

    fn next(&mut self) -> Option<Waiter> {
        if let Some(next) = self.known.pop().or_else(|| self.ordinary.pop()) {
            return Some(next);
        }
        for _ in 0..self.slow.len() {
            let (name, mut lane) = self.slow.pop_front()?;
            let admitted = self.attempts.admit(&name, Instant::now()).ok();
            let next = admitted.and_then(|by_name| Some((by_name, lane.pop_by_lot()?)));
            if !lane.is_empty() {
                self.slow.push_back((name, lane));
            }
            if let Some((by_name, mut next)) = next {
                next.attempt.by_name = by_name;
                return Some(next);
            }
        }
        None
    }
}

fn too_many(quota: Quota) -> Error {
    Error::throttled("too many failed attempts from this address", quota)
        .hint("wait, or sign in with a personal access token")
}

fn full() -> Error {
    Error::new(Kind::Busy, "too many sign-ins are waiting")
        .hint("try again after the given delay, or sign in with a personal access token")
        .retry_after(RETRY)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::throttle::Rate;

    fn limiter(name: u32) -> PasswordLimiter {
        let limits = AuthLimits { failures_per_name: Rate::per_minute(name), ..AuthLimits::default() };
        PasswordLimiter::with(&limits, Failures::new(&limits), 1, Duration::from_secs(60))
    }

    fn at(number: u32) -> Option<IpAddr> {
        format!("10.0.{}.{}", number / 256, number % 256).parse().ok()
    }

    /// Starts a waiting attempt.
    fn waits(
        limiter: &PasswordLimiter,
        name: &'static str,
        from: Option<IpAddr>,
    ) -> BoxFuture<'static, Result<PasswordSlot>> {
        let limiter = limiter.clone();
        let mut waiting = async move { limiter.acquire(name, from).await }.boxed();
        assert!((&mut waiting).now_or_never().is_none(), "nobody waits");
        waiting
    }

    #[tokio::test]
    async fn addresses_take_turns_and_known_ones_go_first() {
        let limiter = limiter(100);
        limiter.acquire("ann", at(9)).await.unwrap().succeeded();
        let running = limiter.acquire("x", at(0)).await.unwrap();
        let first = waits(&limiter, "a", at(1));
        let second = waits(&limiter, "b", at(1));
        let other = waits(&limiter, "c", at(2));
        let known = waits(&limiter, "ann", at(9));
        drop(running);
        let slot = known.await.unwrap();
        drop(slot);
        let slot = first.await.unwrap();
        drop(slot);
        let slot = other.await.unwrap();
        drop(slot);
        drop(second.await.unwrap());
        assert_eq!(limiter.lock().running, 0);
    }

    #[tokio::test]
    async fn a_full_queue_is_told_at_once_and_who_sends_many_makes_room() {
        let limiter = limiter(10_000);
        let running = limiter.acquire("x", at(0)).await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_OF_ADDRESS).map(|_| waits(&limiter, "flood", at(1))).collect();
        let refused =
            limiter.acquire("flood", at(1)).now_or_never().expect("a full queue was waited for").err().unwrap();
        assert!(refused.kind == Kind::Busy && refused.get_retry_after().is_some(), "{refused:?}");
        for number in 2..2 + u32::try_from(WAITING - WAITING_OF_ADDRESS).unwrap() {
            waiting.push(waits(&limiter, "y", at(number)));
        }
        let newcomer = waits(&limiter, "ann", at(1_000));
        let displaced = waiting.remove(WAITING_OF_ADDRESS - 1).now_or_never().expect("nobody made room");
        assert_eq!(displaced.err().unwrap().kind, Kind::Busy);
        assert_eq!(limiter.lock().ordinary.len(), WAITING);
        // An attempt that leaves makes room too, and is not counted if nothing was compared.
        drop(waiting);
        let next = waits(&limiter, "bob", at(1_001));
        assert_eq!(limiter.lock().ordinary.len(), 2);
        drop(running);
        drop(newcomer.await.unwrap());
        drop(next.await.unwrap());
        for _ in 0..5 {
            assert!(limiter.acquire("y", at(2)).await.is_ok(), "it was not compared before");
        }
        assert!(limiter.acquire("y", at(2)).await.is_err());
    }

    #[tokio::test]
    async fn a_name_that_is_guessed_from_everywhere_is_compared_at_its_rate_and_its_own_place_is_not_kept_waiting() {
        // Far less than it takes until the name has room again.
        let limiter = PasswordLimiter { patience: Duration::from_millis(200), ..limiter(2) };
        limiter.acquire("ann", at(9)).await.unwrap().succeeded();
        // Two at the name's rate, and the first of those that wait behind.
        for number in 10..13 {
            assert!(limiter.acquire("ann", at(number)).await.is_ok());
        }
        let mut strangers: Vec<_> = (13..40).map(|number| waits(&limiter, "ann", at(number))).collect();
        let stranger = waits(&limiter, "ann", at(50));
        assert!(limiter.acquire("ann", at(9)).now_or_never().expect("strangers kept it waiting").is_ok());
        assert!(limiter.acquire("bob", at(51)).now_or_never().expect("another name waited").is_ok());
        let refused = stranger.await.err().expect("it had no turn to come");
        assert!(refused.kind == Kind::Busy && refused.get_retry_after().is_some());
        assert!((&mut strangers[0]).now_or_never().expect("it waits for ever").is_err());
    }

    #[tokio::test]
    async fn one_place_is_bounded_under_one_name() {
        let limiter = limiter(100);
        for _ in 0..5 {
            drop(limiter.acquire("ann", at(1)).await.unwrap());
        }
        let refused = limiter.acquire("ann", at(1)).await.err().unwrap();
        assert!(refused.get_quota().is_some_and(|quota| quota.policy == "failures-by-name-and-address"));
        assert!(limiter.acquire("ann", at(2)).await.is_ok(), "nobody elsewhere is locked out");
    }
}

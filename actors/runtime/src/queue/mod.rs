//! Admission to a connection: a limited number of calls run at once, each caller's share of them is limited, a
//! limited number wait, and a call that cannot be served in time is refused at once. Waiting calls are served round
//! robin by caller: a caller with a thousand calls delays another's first one by a single turn, and a caller whose
//! calls never end leaves room for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

use portico_core::fair_queue::{FairQueue, Ticket};
use portico_core::mutex::lock;
use portico_core::worker::WorkerId;

/// Calls that have to have ended before their mean duration says anything.
const ENOUGH: u32 = 16;
/// How much of the mean duration is the last call's: one part in so many.
const WEIGHT: u32 = 8;
/// How long a waiting call may be overtaken by those waiting on the thread where a permit was returned.
const OVERTAKEN: Duration = Duration::from_millis(20);
/// The shortest delay reported to a refused caller.
const SOONEST: Duration = Duration::from_secs(1);
/// The longest delay reported to a refused caller.
const LATEST: Duration = Duration::from_secs(60);

/// The permits of one connection, and the calls waiting for them.
#[derive(Debug)]
pub struct Queue {
    permits: usize,
    /// How many of them one caller may have.
    share: usize,
    most: usize,
    state: Mutex<QueueState>,
    /// Notified when the last call has ended.
    ended: Notify,
}

#[derive(Debug)]
struct QueueState {
    free: usize,
    /// The number of permits of each caller, if any.
    running: HashMap<Arc<str>, usize>,
    /// If a permit is free, every waiter is a caller at its limit.
    turns: FairQueue<Arc<str>, Waiter>,
    /// How long a permit is held, on the average of late.
    held: Duration,
    /// How many calls that average is of, up to [`ENOUGH`].
    known: u32,
    /// Whether it lets nobody in any more.
    closed: bool,
}

/// A waiting call.
#[derive(Debug)]
struct Waiter {
    tell: oneshot::Sender<Verdict>,
    /// The thread that it waits on.
    worker: WorkerId,
    since: Instant,
}

/// The outcome of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Granted,
    /// The place was given to a caller with fewer calls.
    Displaced,
    /// The queue was closed.
    Closed,
}

/// How much there is to do, for gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Calls that may run at once.
    pub permits: usize,
    /// Calls that run.
    pub running: usize,
    /// Calls that may wait.
    pub places: usize,
    /// Calls that wait.
    pub waiting: usize,
    /// The number of callers with waiting calls.
    pub callers: usize,
}

/// Why a call is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// Every place in the queue is taken, and the caller has its part of them.
    Full,
    /// At the present pace its turn would come too late.
    TooLate,
    /// Its place in the queue was needed for a caller with fewer calls.
    Displaced,
    /// Its turn did not come in time.
    TimedOut,
    /// The queue was closed.
    Closed,
}

/// A call is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason.
    pub why: RefusalReason,
    /// When another attempt makes sense: when the calls waiting now have probably been served.
    pub retry_after: Duration,
}

impl Queue {
    /// Makes a queue in which `permits` calls run at once, at least one, and `most` more wait. One caller may have
    /// `share` of the permits at once; by default all but one, and at least one.
    pub fn new(permits: usize, share: Option<usize>, most: usize) -> Arc<Self> {
        let permits = permits.max(1);
        let share = share.unwrap_or(permits - 1).clamp(1, permits);
        let (running, turns) = (HashMap::new(), FairQueue::default());
        let state = QueueState { free: permits, running, turns, held: Duration::ZERO, known: 0, closed: false };
        Arc::new(Self { permits, share, most, state: Mutex::new(state), ended: Notify::new() })
    }

    /// Waits for a permit, at most for `patience`. Dropping the future gives up the place.
    ///
    /// # Errors
    /// No permit is available in time. Returned at once if that can be foreseen.
    pub async fn acquire(self: &Arc<Self>, caller: &str, patience: Duration) -> Result<Permit, Refused> {
        let mut waiting = match self.join(caller, patience)? {
            Ok(permit) => return Ok(permit),
            Err(waiting) => waiting,
        };
        let verdict = tokio::time::timeout(patience, &mut waiting.verdict).await;
        match verdict {
            Ok(Ok(Verdict::Granted)) => Ok(waiting.take()),
            Ok(Ok(Verdict::Displaced) | Err(_)) => {
                Err(self.lock().refused(RefusalReason::Displaced, &waiting.caller, self))
            }
            Ok(Ok(Verdict::Closed)) => Err(self.lock().refused(RefusalReason::Closed, &waiting.caller, self)),
            // If the permit was granted this very moment, the drop returns it.
            Err(_) => Err(self.lock().refused(RefusalReason::TimedOut, &waiting.caller, self)),
        }
    }

    /// Refuses every further call, and every waiting one. Running calls go on.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for waiter in std::mem::take(&mut state.turns).into_items() {
            // It may have left in this moment.
            let _ = waiter.tell.send(Verdict::Closed);
        }
    }

    /// Returns true if it lets nobody in any more.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Completes when no call runs and none waits.
    pub async fn idle(self: Arc<Self>) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // From here on no end of a call is missed.
            ended.as_mut().enable();
            if self.lock().free == self.permits {
                return;
            }
            ended.await;
        }
    }

    /// A permit of `caller` is free again.
    fn release(&self, caller: &str, state: &mut QueueState) {
        state.release(caller, self.share);
        if state.free == self.permits {
            self.ended.notify_waiters();
        }
    }

    /// How much there is to do.
    pub fn load(&self) -> Load {
        let state = self.lock();
        Load {
            permits: self.permits,
            running: self.permits - state.free,
            places: self.most,
            waiting: state.turns.len(),
            callers: state.turns.owners(),
        }
    }

    /// A permit, or a place in the queue.
    fn join(self: &Arc<Self>, caller: &str, patience: Duration) -> Result<Result<Permit, Waiting>, Refused> {
        let caller: Arc<str> = Arc::from(caller);
        let mut state = self.lock();
        if state.closed {
            return Err(state.refused(RefusalReason::Closed, &caller, self));
        }
        if state.free > 0 && state.has_room(&caller, self.share) {
            state.grant(&caller);
            return Ok(Ok(Permit::new(self, caller)));
        }
        let ahead = state.turns.ahead_of(&caller);
        // As long as fewer wait than can run at once, the estimate is too rough to refuse by it.
        if ahead >= self.permits && state.wait(ahead, self.permits).is_some_and(|wait| wait > patience) {
            return Err(state.refused(RefusalReason::TooLate, &caller, self));
        }
        let (tell, verdict) = oneshot::channel();
        let waiter = Waiter { tell, worker: WorkerId::current(), since: Instant::now() };
        let full = state.turns.len() >= self.most;
        let Ok((ticket, displaced)) = state.turns.admit(&caller, waiter, usize::MAX, full) else {
            return Err(state.refused(RefusalReason::Full, &caller, self));
        };
        if let Some(displaced) = displaced {
            // It may have left in this moment.
            let _ = displaced.tell.send(Verdict::Displaced);
        }
        drop(state);
        Ok(Err(Waiting { queue: Arc::clone(self), caller, ticket, verdict, over: false }))
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }
}

impl QueueState {
    /// How long a call waits with so many turns before its own, as far as that can be foreseen.
    fn wait(&self, ahead: usize, permits: usize) -> Option<Duration> {
        let turns = u32::try_from(ahead + 1).unwrap_or(u32::MAX);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        (self.known >= ENOUGH).then(|| self.held.saturating_mul(turns) / permits)
    }

    fn refused(&self, why: RefusalReason, caller: &Arc<str>, queue: &Queue) -> Refused {
        let wait = self.wait(self.turns.ahead_of(caller), queue.permits).unwrap_or(SOONEST);
        Refused { why, retry_after: wait.clamp(SOONEST, LATEST) }
    }

    /// Whether `caller` has less than its share.
    fn has_room(&self, caller: &str, share: usize) -> bool {
        self.running.get(caller).is_none_or(|running| *running < share)
    }

    fn grant(&mut self, caller: &Arc<str>) {
        self.free -= 1;
        *self.running.entry(Arc::clone(caller)).or_default() += 1;
    }

    /// Passes a returned permit of `caller` to the next waiting caller below its share.
    fn release(&mut self, caller: &str, share: usize) {
        self.free += 1;
        if let Some(running) = self.running.get_mut(caller) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(caller);
            }
        }
        let (worker, now) = (WorkerId::current(), Instant::now());
        while self.free > 0 {
            let running = &self.running;
            let may = |caller: &Arc<str>| running.get(caller).is_none_or(|running| *running < share);
            // On the same thread it finds the session that has just come back.
            let suits = |next: &Waiter| next.worker == worker || now.saturating_duration_since(next.since) > OVERTAKEN;
            let Some((caller, next)) = self.turns.pop_where(may, suits) else { return };
            if next.tell.send(Verdict::Granted).is_ok() {
                self.grant(&caller);
            }
        }
    }

    fn learn(&mut self, held: Duration) {
        self.known = (self.known + 1).min(ENOUGH);
        // The first ones weigh the same, or the very first would count for long.
        let weight = self.known.min(WEIGHT);
        self.held = self.held.saturating_sub(self.held / weight) + held / weight;
    }
}

/// A place in the queue, given up on drop.
struct Waiting {
    queue: Arc<Queue>,
    caller: Arc<str>,
    ticket: Ticket,
    verdict: oneshot::Receiver<Verdict>,
    over: bool,
}

impl Waiting {
    /// The permit that was granted.
    fn take(mut self) -> Permit {
        self.over = true;
        Permit::new(&self.queue, Arc::clone(&self.caller))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut state = self.queue.lock();
        // Verdicts are sent under the lock: a call that is not found any more has one.
        if state.turns.leave(&self.caller, self.ticket).is_none() && self.verdict.try_recv() == Ok(Verdict::Granted) {
            self.queue.release(&self.caller, &mut state);
        }
    }
}

/// The permission to run one call; returned on drop.
#[derive(Debug)]
pub struct Permit {
    queue: Arc<Queue>,
    caller: Arc<str>,
    since: Instant,
}

impl Permit {
    fn new(queue: &Arc<Queue>, caller: Arc<str>) -> Self {
        Self { queue: Arc::clone(queue), caller, since: Instant::now() }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.learn(self.since.elapsed());
        self.queue.release(&self.caller, &mut state);
    }
}

#[cfg(test)]
mod tests;

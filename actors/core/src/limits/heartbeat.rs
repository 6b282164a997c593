//! The heartbeat of a thread: shows that its event loop runs. A task on that loop updates it; it is read without a
//! lock, a mailbox or a disk, so that nothing can delay the reader.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use actix::ArbiterHandle;

/// The interval at which a running loop updates the heartbeat.
const EVERY: Duration = Duration::from_millis(500);
/// Stored in place of a time if the loop has ended, as it does when its thread is stopped.
const ENDED: u64 = u64::MAX;

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The heartbeat of one thread.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    thread: Arc<str>,
    /// Milliseconds after `BEGIN`.
    last: Arc<AtomicU64>,
}

impl Heartbeat {
    /// Starts to watch the thread of `arbiter`, under that name.
    pub fn start(arbiter: &ArbiterHandle, thread: impl Into<Arc<str>>) -> Self {
        let heartbeat = Self { thread: thread.into(), last: Arc::new(AtomicU64::new(now())) };
        if !arbiter.spawn(beat(End(Arc::clone(&heartbeat.last)))) {
            heartbeat.last.store(ENDED, Ordering::Relaxed);
        }
        heartbeat
    }

    /// Starts to watch the current thread. Must be called within an actix system.
    pub fn here(thread: impl Into<Arc<str>>) -> Self {
        let heartbeat = Self { thread: thread.into(), last: Arc::new(AtomicU64::new(now())) };
        actix::spawn(beat(End(Arc::clone(&heartbeat.last))));
        heartbeat
    }

    /// Returns the thread's name.
    pub fn thread(&self) -> &Arc<str> {
        &self.thread
    }

    /// Returns true if the loop has run within `limit`. A thread that has ended is not stuck.
    pub fn turns(&self, limit: Duration) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last == ENDED || u128::from(now().saturating_sub(last)) <= limit.as_millis()
    }

    /// Whether the thread has ended.
    pub fn has_ended(&self) -> bool {
        self.last.load(Ordering::Relaxed) == ENDED
    }
}

fn now() -> u64 {
    // The process ends before the milliseconds overflow.
    u64::try_from(BEGIN.elapsed().as_millis()).unwrap_or(ENDED - 1)
}

/// Records the end of a loop, however it ends.
struct End(Arc<AtomicU64>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Relaxed);
    }
}

/// Updates the heartbeat until the thread ends or no one reads it any more.
async fn beat(end: End) {
    while Arc::strong_count(&end.0) > 1 {
        end.0.store(now(), Ordering::Relaxed);
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use actix::Arbiter;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    async fn until(what: &str, met: impl Fn() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !met() {
            assert!(Instant::now() < deadline, "{what}");
            tokio::task::yield_now().await;
        }
    }

    #[actix::test]
    async fn a_thread_that_waits_for_something_does_not_turn() {
        let arbiter = Arbiter::new();
        let beat = Heartbeat::start(&arbiter.handle(), "one");
        let own = Heartbeat::here("own");
        let (free, waits) = mpsc::channel::<()>();
        arbiter.spawn(async move {
            let _ = waits.recv_timeout(DEADLINE);
        });
        until("it was not seen to be stuck", || !beat.turns(4 * EVERY)).await;
        assert!(beat.turns(DEADLINE) && !beat.has_ended());
        drop(free);
        until("it was not seen to go on", || beat.turns(EVERY)).await;
        arbiter.stop();
        until("its end was not seen", || beat.has_ended()).await;
        assert!(beat.turns(Duration::ZERO) && own.turns(DEADLINE));
        assert!(Heartbeat::start(&arbiter.handle(), "gone").turns(Duration::ZERO));
    }
}

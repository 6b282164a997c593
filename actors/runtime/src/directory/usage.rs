//! The use of a connection. One that was unused for a while becomes idle, and the next use brings it back: with the
//! states and terms of gRPC's channels
//! (<https://grpc.github.io/grpc/core/md_doc_connectivity-semantics-and-api.html>).

use portico_core::mutex::lock;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The users of a connection. It outlives an actor, and a change of the connection's settings.
pub(super) struct Usage(Mutex<UsageState>);

struct UsageState {
    /// Calls until their last row, and listeners.
    users: usize,
    /// When it was used last.
    used: Instant,
    idle: bool,
}

/// Keeps a connection from becoming idle until it is dropped.
pub struct ConnectionLease(Arc<Usage>);

impl Default for Usage {
    /// Idle: not used yet.
    fn default() -> Self {
        Self(Mutex::new(UsageState { users: 0, used: Instant::now(), idle: true }))
    }
}

impl Usage {
    /// Begins a use; not while it is idle.
    pub(super) fn begin(self: &Arc<Self>) -> Option<ConnectionLease> {
        let mut state = self.lock();
        if state.idle {
            return None;
        }
        state.users += 1;
        Some(ConnectionLease(Arc::clone(self)))
    }

    /// Ends its idleness with a use.
    pub(super) fn wake(self: &Arc<Self>) -> ConnectionLease {
        let mut state = self.lock();
        state.idle = false;
        state.users += 1;
        ConnectionLease(Arc::clone(self))
    }

    /// Makes it idle if it has not been used for so long.
    ///
    /// # Errors
    /// It has been: how long to wait until the next look is worth it.
    pub(super) fn enter_idle(&self, after: Duration) -> Result<(), Duration> {
        let mut state = self.lock();
        if state.users > 0 {
            return Err(after);
        }
        match after.saturating_sub(state.used.elapsed()) {
            Duration::ZERO => {
                state.idle = true;
                Ok(())
            }
            left => Err(left),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.lock().idle
    }

    fn lock(&self) -> MutexGuard<'_, UsageState> {
        lock(&self.0)
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.users -= 1;
        state.used = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_does_not_become_idle() {
        let usage = Arc::<Usage>::default();
        assert!(usage.is_idle() && usage.begin().is_none());
        let first = usage.wake();
        assert_eq!(usage.enter_idle(Duration::ZERO), Err(Duration::ZERO));
        let second = usage.begin().expect("it was woken");
        drop(first);
        assert!(usage.enter_idle(Duration::ZERO).is_err(), "one of two is left");
        drop(second);
        let left = usage.enter_idle(Duration::from_hours(1)).expect_err("it was used just now");
        assert!(left <= Duration::from_hours(1) && left > Duration::from_mins(50));
        assert!(!usage.is_idle());
        assert_eq!(usage.enter_idle(Duration::ZERO), Ok(()));
        assert!(usage.is_idle() && usage.begin().is_none());
    }
}

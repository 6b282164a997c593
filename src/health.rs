//! The state of the service: whether its threads run, which the watchdog and `/healthz` report, and whether it
//! would take a call, which `/readyz`, `portico health` and `portico doctor` report. This asks no actor and waits
//! for nothing, so that overload and unavailable sources cannot delay it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portico_actors::heartbeat::Heartbeat;
use rustix::io::Errno;

use crate::app::App;

/// How long a thread may be busy with one thing before it is said to be stuck.
pub const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Descriptors that a call may need: its connection, a session, a file of the source.
const DESCRIPTORS: usize = 4;

/// Why no call would be taken now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unready {
    /// The service is stopping.
    Draining,
    /// Not every connection had its first attempt.
    Starting,
    /// The store was not read yet, so that no caller is known.
    StoreUnread,
    /// The audit trail cannot be written, and calls are refused for that.
    TrailUnwritable,
    /// There are no file descriptors left.
    NoDescriptors,
    /// These threads do not turn.
    Stuck(Vec<Arc<str>>),
}

impl Unready {
    /// One word: `draining`, `starting` or `unavailable`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::Starting | Self::StoreUnread => "starting",
            Self::TrailUnwritable | Self::NoDescriptors | Self::Stuck(_) => "unavailable",
        }
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Draining => f.write_str("the service is stopping"),
            Self::Starting => f.write_str("not every connection has had its first attempt"),
            Self::StoreUnread => f.write_str("the store is away and has not been read yet: no user is known"),
            Self::TrailUnwritable => {
                f.write_str("the audit trail cannot be written, and calls are refused because of that")
            }
            Self::NoDescriptors => f.write_str("there are no file descriptors left"),
            Self::Stuck(threads) => write!(f, "threads are stuck: {}", threads.join(", ")),
        }
    }
}

impl App {
    /// Has the thread that this is called on give signs of life. Must be called within an actix system.
    pub(crate) fn attend(&self, thread: &str) {
        let beat = Heartbeat::here(thread);
        self.beats.rcu(|beats| {
            // A worker that died has a successor.
            let living = beats.iter().filter(|beat| !beat.has_ended());
            living.chain([&beat]).cloned().collect::<Vec<_>>()
        });
    }

    /// The threads that have not turned within `limit`.
    pub fn stuck(&self, limit: Duration) -> Vec<Arc<str>> {
        let (own, judge) = (self.beats.load(), self.auth.beat());
        let all = own.iter().chain(self.directory.beats()).chain([&judge]);
        all.filter(|beat| !beat.turns(limit)).map(|beat| Arc::clone(beat.thread())).collect()
    }

    /// Checks whether a call would be taken now. After every connection had its first attempt and the store was
    /// read, an unavailable connection is not the service's failure, and memory replaces the store.
    ///
    /// # Errors
    /// Why not.
    pub fn takes_calls(&self) -> Result<(), Unready> {
        let refuses = || self.audit.as_ref().is_some_and(|audit| audit.refuses());
        let stuck = self.stuck(STUCK_AFTER);
        Err(match () {
            () if self.draining() => Unready::Draining,
            () if !self.started() => Unready::Starting,
            () if !self.auth.has_read() => Unready::StoreUnread,
            () if !stuck.is_empty() => Unready::Stuck(stuck),
            () if refuses() => Unready::TrailUnwritable,
            () if !has_descriptors() => Unready::NoDescriptors,
            () => return Ok(()),
        })
    }
}

/// Whether as many descriptors are left as a call may need.
fn has_descriptors() -> bool {
    let one = |_| rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 0);
    let taken: Result<Vec<_>, _> = (0..DESCRIPTORS).map(one).collect();
    !matches!(taken, Err(Errno::MFILE | Errno::NFILE))
}

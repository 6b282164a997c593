//! `[defaults]`: defaults for every connection.

use std::time::Duration;

use portico_actors::directory::Start;

use crate::config::declared::setting::{number, word, words};
use crate::config::declared::table::settings;

/// The idle timeout in seconds of a connection that was started by its use: as long as `HikariCP` and `PgBouncer`
/// keep an unused session.
const LAZY_IDLE_TIMEOUT: u64 = 600;
const READER_TIMEOUT: u64 = 30;

settings! {
    /// What holds for each connection whose own table does not say otherwise.
    #[derive(Copy)]
    pub(in crate::config) struct Defaults {
        /// When a connection is started: "eager", with the service, or "lazy", with its first use. For hundreds
        /// of connections: lazy ones hold no session until then, and hold up no readiness. Left out, it is eager.
        start: Option<Start> = word::<Start>().shown("\"eager\"").live(),
        /// Seconds without use after which a connection lets go of its sessions and of all that it knows; the
        /// next use connects anew. 0 means never. Left out, it is 0 for eager connections and 600 for lazy ones.
        idle_timeout: Option<u64> = number(0..=86_400).shown("0").live(),
        /// How many of a connection's running calls may be one principal's, over all its tokens and endpoints.
        /// Left out, it is all but one, and at least one: whoever holds them leaves room for others.
        pool_per_principal: Option<usize> = number(1..=1000).example("9").live(),
        /// Seconds in which a reader has to take a part of its answer while the statement still runs, and a second
        /// more for each 64 KiB of the part before. Whoever is later loses its session, and the answer ends with an
        /// error. Left out, it is 30.
        reader_timeout: Option<u64> = number(1..=3600).shown("30").live(),
    }
}

words! {
    Start { "eager" => Self::Eager, "lazy" => Self::Lazy }
}

/// How a connection uses its source, after what its own table and `[defaults]` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Usage {
    /// When it is started.
    pub start: Start,
    /// How long nobody uses it until it lets go of its sessions; absent means never.
    pub idle_timeout: Option<Duration>,
    /// How many of its calls may be one principal's; absent: all but one, and at least one.
    pub pool_per_principal: Option<usize>,
    /// How long a reader may take nothing of an answer whose statement still runs.
    pub reader_timeout: Duration,
}

impl Defaults {
    /// Returns the usage where `self` takes precedence over `defaults`.
    pub(in crate::config) fn before(self, defaults: Self) -> Usage {
        let start = self.start.or(defaults.start).unwrap_or_default();
        // A connection that starts with the service stays up by default, so that its state is always known.
        let usual = if start == Start::Eager { 0 } else { LAZY_IDLE_TIMEOUT };
        let idle = self.idle_timeout.or(defaults.idle_timeout).unwrap_or(usual);
        Usage {
            start,
            idle_timeout: (idle > 0).then(|| Duration::from_secs(idle)),
            pool_per_principal: self.pool_per_principal.or(defaults.pool_per_principal),
            reader_timeout: Duration::from_secs(
                self.reader_timeout.or(defaults.reader_timeout).unwrap_or(READER_TIMEOUT),
            ),
        }
    }
}

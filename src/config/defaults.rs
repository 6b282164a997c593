//! `[defaults]`: what holds for every connection whose own table does not say otherwise.

use std::time::Duration;

use portico_actors::directory::{Connection, Start};

use super::problem::Problem;
use super::section::Section;

/// When a connection holds sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Presence {
    pub(super) start: Start,
    /// How long nobody uses it until it lets go of its sessions; `None` means never.
    pub(super) idle_timeout: Option<Duration>,
}

/// How much of a connection one principal may have, and for how long without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shares {
    /// Calls that run at once; `None` means all but one.
    pub(super) pool_per_principal: Option<usize>,
    pub(super) reader_timeout: Duration,
}

/// What `[defaults]` says, as far as it says anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defaults {
    start: Option<Start>,
    idle_timeout: Option<u64>,
    pool_per_principal: Option<u64>,
    reader_timeout: Option<u64>,
}

/// Until a connection that was started by its use is idle, in seconds: as long as `HikariCP` and
/// `PgBouncer` keep a session that nobody uses.
const LAZY_IDLE_TIMEOUT: u64 = 600;

/// Reads `[defaults]`.
pub(super) fn read(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Defaults {
    let mut section = root.section("defaults", problems);
    let presence = keys(&mut section, problems);
    let defaults = share_keys(&mut section, presence, problems);
    section.finish(problems);
    defaults
}

/// The same keys in one connection's table, which go before `defaults`.
pub(super) fn presence(section: &mut Section<'_>, defaults: Defaults, problems: &mut Vec<Problem>) -> Presence {
    let own = keys(section, problems);
    let start = own.start.or(defaults.start).unwrap_or_default();
    // Of one that starts with the service it is known at any time how it stands, unless told otherwise.
    let usual = match start {
        Start::Eager => 0,
        Start::Lazy => LAZY_IDLE_TIMEOUT,
    };
    let seconds = own.idle_timeout.or(defaults.idle_timeout).unwrap_or(usual);
    Presence { start, idle_timeout: (seconds > 0).then(|| Duration::from_secs(seconds)) }
}

fn keys(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Defaults {
    let words = [("eager", Start::Eager), ("lazy", Start::Lazy)];
    Defaults {
        start: section.word("start", &words, problems),
        idle_timeout: section.integer("idle_timeout", 0..=86_400, problems),
        ..Defaults::default()
    }
}

/// The same keys of shares in one connection's table, which go before `defaults`.
pub(super) fn shares(section: &mut Section<'_>, defaults: Defaults, problems: &mut Vec<Problem>) -> Shares {
    let own = share_keys(section, Defaults::default(), problems);
    let most = own.pool_per_principal.or(defaults.pool_per_principal);
    let seconds = own.reader_timeout.or(defaults.reader_timeout);
    Shares {
        pool_per_principal: most.and_then(|most| usize::try_from(most).ok()),
        reader_timeout: seconds.map_or(Connection::DEFAULT_READER_TIMEOUT, Duration::from_secs),
    }
}

fn share_keys(section: &mut Section<'_>, presence: Defaults, problems: &mut Vec<Problem>) -> Defaults {
    Defaults {
        pool_per_principal: section.integer("pool_per_principal", 1..=1000, problems),
        reader_timeout: section.integer("reader_timeout", 1..=3600, problems),
        ..presence
    }
}

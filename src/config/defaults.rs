//! `[defaults]`: what holds for every connection whose own table does not say otherwise.

use std::time::Duration;

use portico_actors::directory::Start;

use super::section::{Problem, Section};

/// When a connection holds sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Presence {
    pub(super) start: Start,
    /// How long nobody uses it until it lets go of its sessions; `None` means never.
    pub(super) idle_timeout: Option<Duration>,
}

/// What `[defaults]` says, as far as it says anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defaults {
    start: Option<Start>,
    idle_timeout: Option<u64>,
}

/// Until a connection that was started by its use is idle, in seconds: as long as `HikariCP` and
/// `PgBouncer` keep a session that nobody uses.
const LAZY_IDLE_TIMEOUT: u64 = 600;

/// Reads `[defaults]`.
pub(super) fn read(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Defaults {
    let mut section = root.section("defaults", problems);
    let defaults = keys(&mut section, problems);
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
    }
}

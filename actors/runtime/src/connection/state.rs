//! How a connection's source fares.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_core::error::{Error, Kind};
use portico_sources::Profile;

/// The state of a connection.
#[derive(Clone, Debug)]
pub enum ConnectionState {
    /// The first attempt is in progress.
    Connecting,
    /// The source answered when last asked.
    Up(Arc<Profile>),
    /// The source is away.
    Down {
        /// When the next attempt is made.
        until: Instant,
        /// Why the last one failed.
        why: Arc<Error>,
    },
}

impl ConnectionState {
    /// One lower-case word for listings.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Up(_) => "up",
            Self::Down { .. } => "down",
        }
    }
}

/// Returns the error for a call that was made for a connection as it is not any more, or not yet, and has not begun
/// there.
pub fn changed(name: &str) -> Error {
    Error::new(Kind::Unavailable, format!("connection {name} was changed or removed before this call began there"))
        .retry_after(Duration::from_secs(1))
        .hint("send it again: nothing of it was done there")
}

/// Returns the error for callers of an unavailable connection, with the delay until `until`. After a failed attempt
/// it includes the source's message for callers, which contains no host, no path and no secret.
pub(crate) fn unavailable(name: &str, until: Instant, why: Option<&Error>) -> Error {
    let why = why.filter(|why| why.kind != Kind::Internal);
    let reason = why.map_or("its database cannot be reached", |why| why.message.as_str());
    let hint = match why.and_then(Error::get_hint) {
        Some(remedy) => format!("{remedy}; the connection comes back by itself once that is done"),
        None => "the connection comes back by itself; try again after the given delay".to_owned(),
    };
    Error::new(Kind::Unavailable, format!("connection {name} is not available: {reason}"))
        .retry_after(until.saturating_duration_since(Instant::now()))
        .hint(hint)
}

//! How a connection's source fares.

use std::sync::Arc;
use std::time::Instant;

use portico_core::error::{Error, Kind};
use portico_sources::Profile;

/// Where a connection stands.
#[derive(Clone, Debug)]
pub enum State {
    /// The first attempt is under way.
    Connecting,
    /// The source answered when last asked.
    Up(Arc<Profile>),
    /// The source is away.
    Down {
        /// When the next attempt is made.
        until: Instant,
    },
}

impl State {
    /// One lower-case word for listings.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Up(_) => "up",
            Self::Down { .. } => "down",
        }
    }
}

/// The failure that callers of a connection that is away see, with the delay until `until`.
pub(crate) fn unavailable(name: &str, until: Instant) -> Error {
    Error::new(Kind::Unavailable, format!("connection {name} is not available: its database cannot be reached"))
        .retry_after(until.saturating_duration_since(Instant::now()))
        .hint("the connection comes back by itself; try again after the given delay")
}

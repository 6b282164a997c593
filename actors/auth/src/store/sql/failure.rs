//! That the store cannot be read or written, whichever kind of database it is in.

use std::fmt::Display;
use std::time::Duration;

use portico_core::error::{Error, Kind};

/// When a store that is away is worth another attempt.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// The store cannot be read or written; the next attempt may succeed.
pub(crate) fn unavailable() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens cannot be read or written").retry_after(RETRY)
}

/// The same for a cause, which is for the log.
pub(crate) fn broken(cause: impl Display) -> Error {
    unavailable().because(cause)
}

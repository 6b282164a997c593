//! Why a statement of the store failed, whichever kind of database it was sent to.

use std::time::Duration;

use rusqlite::ffi;
use rusqlite::types::FromSqlError;

use portico_core::error::{Error, Kind};

/// When a store that is away is worth another attempt.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum StatementError {
    /// There is no such row.
    NoRows,
    /// A name is taken.
    Taken,
    /// The rest, for the log.
    Other(Error),
}

/// What a statement or the reading of a row comes to.
pub(crate) type StatementResult<T> = std::result::Result<T, StatementError>;

impl From<rusqlite::Error> for StatementError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRows,
            error if is_taken(&error) => Self::Taken,
            error => Self::Other(unavailable().because(error)),
        }
    }
}

impl From<FromSqlError> for StatementError {
    fn from(error: FromSqlError) -> Self {
        Self::Other(unavailable().because(error))
    }
}

/// Of a row that may be missing.
pub(crate) trait Optional<T> {
    /// `None` when there is no such row.
    fn optional(self) -> StatementResult<Option<T>>;
}

impl<T> Optional<T> for StatementResult<T> {
    fn optional(self) -> StatementResult<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(StatementError::NoRows) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The store's own words for a failure that is no answer.
pub(crate) fn broken(failure: impl Into<StatementError>) -> Error {
    match failure.into() {
        StatementError::Other(error) => error,
        StatementError::NoRows => unavailable().because("a row is missing"),
        StatementError::Taken => unavailable().because("a name is taken"),
    }
}

/// The store cannot be read or written; the next attempt may succeed.
pub(crate) fn unavailable() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens cannot be read or written").retry_after(RETRY)
}

/// Whether `error` says that a name is taken.
fn is_taken(error: &rusqlite::Error) -> bool {
    let taken = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];
    error.sqlite_error().is_some_and(|error| taken.contains(&error.extended_code))
}

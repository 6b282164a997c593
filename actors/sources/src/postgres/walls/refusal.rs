//! Errors for what may not be used on a connection.

use crate::postgres::failure;
use portico_core::error::Error;

/// The refusal of something that may not be used on this connection.
pub(crate) fn refused(what: &str) -> Error {
    Error::forbidden(format!("{what} is not available on this connection"))
        .sqlstate("42501")
        .hint("write the statement with tables and functions that this connection shows; an administrator can offer the rest as a procedure or a tool")
        .judged()
}

/// Returns the error for objects that are hidden or do not exist, if the statement does not name them.
pub(crate) fn by_number() -> Error {
    refused("something that this statement uses by a number or an operator, and not by its name,")
}

/// The refusal of a statement that is not known to read alone.
pub(crate) fn writes() -> Error {
    Error::forbidden("this access is read-only, and the statement is not one that only reads")
        .sqlstate(failure::READ_ONLY)
        .hint("use SELECT, VALUES, TABLE, SHOW, or EXPLAIN of one of these")
        .judged()
}

/// Returns the source's error for a relation that does not exist.
pub(crate) fn no_such(name: &str) -> Error {
    Error::not_found(format!("relation \"{name}\" does not exist")).sqlstate("42P01").judged()
}

/// Why a statement may not run.
pub(crate) struct Refusal {
    pub(crate) error: Error,
    /// Whether the server refuses it, because of its content or because the server cannot be asked.
    pub(crate) by_server: bool,
}

impl Refusal {
    pub(crate) fn of_server(error: Error) -> Self {
        Self { error, by_server: true }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, by_server: false }
    }
}

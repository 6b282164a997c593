//! SQLite's errors in our words: result code to kind and SQLSTATE, with the place in the
//! statement. Paths stay in the cause.

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::sqlite::advice::advise;
use crate::sqlite::session::cancel_flag::CancelFlag;
use portico_core::error::{Error, Kind};
use portico_sql::Statement;

/// Translates `error` of a job that `cancel` cancels, and of its statement where a caller wrote one.
pub(crate) fn translate(error: &rusqlite::Error, statement: Option<&Statement>, cancel: &CancelFlag) -> Error {
    let failure = told(error, statement, cancel);
    match statement {
        Some(statement) => advise(failure, statement),
        None => failure,
    }
}

fn told(error: &rusqlite::Error, statement: Option<&Statement>, cancel: &CancelFlag) -> Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => match cancel.verdict() {
            Some(verdict) => verdict,
            None => engine(*code, message.as_deref().unwrap_or("SQLite gave no message")),
        },
        rusqlite::Error::SqlInputError { error, msg, offset, sql } => {
            let failure = engine(*error, msg);
            let before = usize::try_from(*offset).ok().and_then(|offset| sql.get(..offset));
            match (statement, before) {
                (Some(statement), Some(before)) => {
                    failure.position(statement.original_position(before.chars().count() + 1))
                }
                _ => failure,
            }
        }
        rusqlite::Error::MultipleStatement => several(),
        other => Error::internal(other),
    }
}

/// More than one statement where one was expected.
pub(crate) fn several() -> Error {
    Error::invalid("a call runs one statement, and the text holds several")
}

/// A write where only reading is allowed.
pub(crate) fn read_only() -> Error {
    Error::forbidden("this call may only read: the connection, the credential or the tool is read-only")
        .sqlstate("25006")
}

/// BEGIN, COMMIT and their kin.
pub(crate) fn transaction() -> Error {
    Error::invalid("BEGIN, COMMIT, ROLLBACK and SAVEPOINT are not for callers: each call is a transaction of its own")
        .hint("leave them out; what a call changes is committed when it succeeds and undone when it fails")
}

/// A statement that would outlive its call in the session.
pub(crate) fn session(what: &str) -> Error {
    Error::invalid(format!("{what} would stay in the session, which is shared: each call starts afresh"))
}

/// A table or view that does not exist for its caller.
pub(crate) fn no_table(name: &str) -> Error {
    Error::not_found(format!("no such table: {name}")).sqlstate("42P01")
}

/// Returns the error for something that could reveal hidden objects.
pub(crate) fn unavailable_here(what: &str) -> Error {
    Error::forbidden(format!("{what} is not available on this connection"))
        .sqlstate("42501")
        .hint("part of the database is not exposed here: name tables that are, and use the metadata tools")
}

/// Returns the error for something that reaches beyond the call's own data.
pub(crate) fn outside(what: &str) -> Error {
    Error::forbidden(format!("{what} is not allowed on this connection")).sqlstate("42501")
}

fn engine(code: ffi::Error, message: &str) -> Error {
    match code.code {
        ErrorCode::ConstraintViolation => constraint(code.extended_code, message),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Error::new(Kind::Conflict, "another transaction holds the database").sqlstate("40001").because(message)
        }
        ErrorCode::OperationInterrupted => {
            Error::new(Kind::Abandoned, "the statement was interrupted").sqlstate("57014").because(message)
        }
        ErrorCode::ReadOnly => match code.extended_code {
            // The file, not the statement, prevents writing (rescode.html).
            ffi::SQLITE_READONLY_RECOVERY
            | ffi::SQLITE_READONLY_CANTLOCK
            | ffi::SQLITE_READONLY_ROLLBACK
            | ffi::SQLITE_READONLY_DBMOVED
            | ffi::SQLITE_READONLY_CANTINIT
            | ffi::SQLITE_READONLY_DIRECTORY => unavailable(message),
            _ => read_only().because(message),
        },
        ErrorCode::AuthorizationForStatementDenied | ErrorCode::PermissionDenied => {
            Error::forbidden("the statement does something that is not allowed on this connection")
                .sqlstate("42501")
                .because(message)
        }
        ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::CannotOpen
        | ErrorCode::SystemIoFailure
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::NoLargeFileSupport => unavailable(message),
        ErrorCode::DiskFull => {
            Error::new(Kind::Unavailable, "the database's disk is full").sqlstate("53100").because(message)
        }
        ErrorCode::OutOfMemory => {
            Error::new(Kind::TooLarge, "the statement needs more memory than it may have").sqlstate("53200")
        }
        ErrorCode::TooBig => Error::new(Kind::TooLarge, message).sqlstate("54000"),
        ErrorCode::TypeMismatch => Error::new(Kind::Rejected, message).sqlstate("42804"),
        ErrorCode::Unknown | ErrorCode::SchemaChanged | ErrorCode::NotFound => generic(message),
        _ => Error::internal(message),
    }
}

fn unavailable(cause: &str) -> Error {
    Error::new(Kind::Unavailable, "the database file cannot be read or written").sqlstate("58030").because(cause)
}

fn constraint(extended: i32, message: &str) -> Error {
    let sqlstate = match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => "23505",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "23502",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "23503",
        ffi::SQLITE_CONSTRAINT_CHECK => "23514",
        // RAISE in a trigger.
        ffi::SQLITE_CONSTRAINT_TRIGGER => "P0001",
        // A value of the wrong class in a STRICT table.
        ffi::SQLITE_CONSTRAINT_DATATYPE => "42804",
        _ => "23000",
    };
    Error::new(Kind::Conflict, message).sqlstate(sqlstate)
}

/// Maps `SQLITE_ERROR`, where only the message distinguishes causes, to SQLSTATEs as PostgreSQL uses them.
fn generic(message: &str) -> Error {
    let starts = |words: &str| message.starts_with(words);
    if starts("no such table") || starts("no such view") {
        return Error::not_found(message).sqlstate("42P01");
    }
    if message.starts_with("unable to identify the object to be reindexed") {
        return Error::not_found("the table, index or collation to be reindexed does not exist").sqlstate("42P01");
    }
    if message.ends_with("may not be modified") {
        // The schema's own table, and the tables behind virtual ones.
        return Error::forbidden(message).sqlstate("42501");
    }
    let sqlstate = if starts("no such column") || message.contains("has no column named") {
        "42703"
    } else if starts("no such function") || starts("wrong number of arguments to function") {
        "42883"
    } else if starts("ambiguous column name") {
        "42702"
    } else if starts("no such index") || starts("no such trigger") || starts("no such collation") {
        "42704"
    } else if message.contains("already exists") || starts("there is already") {
        "42P07"
    } else if starts("malformed JSON") || starts("integer overflow") {
        "22000"
    } else {
        "42601"
    };
    Error::new(Kind::Rejected, message).sqlstate(sqlstate)
}

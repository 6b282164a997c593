//! What the source or the network said, in the house's own kinds. The one place that reads
//! SQLSTATEs.

use std::error::Error as StdError;

use tokio_postgres::error::{DbError, ErrorPosition};

use crate::error::{Error, Kind};
use crate::sql::Statement;
use crate::trace::TraceParent;

/// `query_canceled`: a statement timeout, a cancel request of ours, or an administrator's.
pub(super) const CANCELLED: &str = "57014";
/// `invalid_transaction_termination`: a procedure with COMMIT or ROLLBACK inside a transaction.
pub(super) const ENDS_TRANSACTION: &str = "2D000";
/// `read_only_sql_transaction`.
const READ_ONLY: &str = "25006";

/// The kind of a failure by its SQLSTATE (PostgreSQL, appendix A).
pub(super) fn kind(sqlstate: &str) -> Kind {
    match sqlstate {
        "40001" | "40P01" => Kind::Conflict,
        CANCELLED => Kind::TimedOut,
        "53300" => Kind::Unavailable,
        "42501" | READ_ONLY => Kind::Forbidden,
        "42P01" | "3F000" | "42883" | "3D000" => Kind::NotFound,
        // A violation of the protocol, such as a wrong number of parameters: the statement's fault.
        "08P01" => Kind::Rejected,
        _ if sqlstate.starts_with("23") => Kind::Conflict,
        _ if sqlstate.starts_with("08") || sqlstate.starts_with("57P0") => Kind::Unavailable,
        _ => Kind::Rejected,
    }
}

/// Whether the source ended the statement because somebody asked it to, or its time was up.
pub(super) fn is_cancelled(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code() == CANCELLED)
}

/// The words for a source that cannot be reached or has gone; they name no host.
pub(super) fn unavailable(cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unavailable, "the source is unavailable").because(cause)
}

/// A failed attempt to connect: the caller learns that the source is away, the log learns why.
pub(super) fn connecting(error: &tokio_postgres::Error) -> Error {
    unavailable(chain(error))
}

/// A failed statement. `shift` is how many characters stand in front of the statement's own text
/// in what was sent.
pub(super) fn statement(error: &tokio_postgres::Error, statement: Option<&Statement>, shift: usize) -> Error {
    let Some(source) = error.as_db_error() else {
        return if error.is_closed() || is_input_output(error) {
            unavailable(chain(error))
        } else {
            Error::internal(chain(error))
        };
    };
    let sqlstate = source.code().code();
    let kind = kind(sqlstate);
    if kind == Kind::Unavailable {
        return unavailable(chain(error)).sqlstate(sqlstate);
    }
    let mut failure = Error::new(kind, source.message()).sqlstate(sqlstate);
    if let Some(detail) = source.detail() {
        failure = failure.detail(detail);
    }
    if let Some(hint) = source.hint() {
        failure = failure.hint(hint);
    } else if sqlstate == READ_ONLY {
        failure = failure.hint("this access is read-only; nothing was changed");
    }
    match (position(source, shift), statement) {
        (Some(position), Some(statement)) => {
            let position = TraceParent::position_without_comment(&statement.text, position);
            failure.position(statement.original_position(position))
        }
        _ => failure,
    }
}

/// The number of the parameter whose value the source refused, counted from 1.
pub(super) fn refused_parameter(error: &tokio_postgres::Error) -> Option<usize> {
    let context = error.as_db_error()?.where_()?;
    let digits = context.split('$').nth(1)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    context.contains("portal").then(|| digits.get(..end)?.parse().ok())?
}

fn position(source: &DbError, shift: usize) -> Option<usize> {
    match source.position()? {
        ErrorPosition::Original(position) => {
            usize::try_from(*position).ok()?.checked_sub(shift).filter(|position| *position > 0)
        }
        // Inside a function's own text, which the caller did not write.
        ErrorPosition::Internal { .. } => None,
    }
}

fn is_input_output(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(<dyn StdError>::is::<std::io::Error>)
}

fn chain(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_have_the_kinds_of_the_contract() {
        let cases = [
            ("23505", Kind::Conflict),
            ("40001", Kind::Conflict),
            ("57014", Kind::TimedOut),
            ("57P01", Kind::Unavailable),
            ("08006", Kind::Unavailable),
            ("08P01", Kind::Rejected),
            ("53300", Kind::Unavailable),
            ("25006", Kind::Forbidden),
            ("42501", Kind::Forbidden),
            ("42P01", Kind::NotFound),
            ("42703", Kind::Rejected),
            ("22012", Kind::Rejected),
            ("P0001", Kind::Rejected),
        ];
        for (sqlstate, expected) in cases {
            assert_eq!(kind(sqlstate), expected, "{sqlstate}");
        }
    }
}

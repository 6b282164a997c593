//! Maps errors of the source and of the network to our own kinds: SQLSTATEs to `Kind`.

use std::error::Error as StdError;
use std::time::Duration;

use tokio_postgres::error::{DbError, ErrorPosition, Severity, SqlState};

use crate::postgres::connect::protocol::messages::TOO_LARGE;
use crate::postgres::execute::sent_text::SentText;
use portico_core::error::{Error, Kind, Missing, Site};
use portico_core::trace::TraceParent;
use portico_sql::Statement;

/// `query_canceled`: by the statement timeout, by our own cancel request, or by an administrator.
pub(crate) const CANCELLED: &str = "57014";
/// `invalid_transaction_termination`: a procedure with COMMIT or ROLLBACK inside a transaction.
pub(crate) const ENDS_TRANSACTION: &str = "2D000";
/// `read_only_sql_transaction`.
pub(crate) const READ_ONLY: &str = "25006";
/// `too_many_connections`.
pub(crate) const TOO_MANY: &str = "53300";

/// The kind of a failure by its SQLSTATE (PostgreSQL, appendix A).
pub(crate) fn kind(sqlstate: &str) -> Kind {
    match sqlstate {
        "40001" | "40P01" => Kind::Conflict,
        CANCELLED => Kind::TimedOut,
        TOO_MANY => Kind::Unavailable,
        "42501" | READ_ONLY => Kind::Forbidden,
        "42P01" | "3F000" | "3D000" => Kind::NotFound,
        // A protocol violation, such as a wrong number of parameters, is caused by the statement.
        "08P01" => Kind::Rejected,
        _ if sqlstate.starts_with("23") => Kind::Conflict,
        _ if sqlstate.starts_with("08") || sqlstate.starts_with("57P0") => Kind::Unavailable,
        _ => Kind::Rejected,
    }
}

/// Returns true if the source cancelled the statement, on request or because of its timeout.
pub(crate) fn is_cancelled(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code() == CANCELLED)
}

/// Returns true if the source says with this error that it undoes the transaction. A fatal one may come at any time,
/// and that a message is too large is only said by our side of the wire.
pub(crate) fn is_undone(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|source| !is_fatal(source) && !is_too_large(source))
}

/// Returns true if the error ended its session.
fn is_fatal(source: &DbError) -> bool {
    matches!(source.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
}

/// The words for a source that cannot be reached or has gone; they name no host.
pub(crate) fn unavailable(cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unavailable, "the source is unavailable").because(cause)
}

/// A failed attempt to connect: the caller learns that the source is away, the log learns why.
pub(crate) fn connecting(error: &tokio_postgres::Error) -> Error {
    unavailable(chain(error))
}

/// Returns the error of a failed statement, of which `sent` was sent.
pub(crate) fn statement(error: &tokio_postgres::Error, statement: Option<&Statement>, sent: &SentText) -> Error {
    let Some(source) = error.as_db_error() else {
        return if error.is_closed() || is_input_output(error) {
            unavailable(chain(error))
        } else {
            Error::internal(chain(error))
        };
    };
    let sqlstate = source.code().code();
    if is_standby(source) {
        return Error::new(Kind::Forbidden, "the server is a standby, where nothing can be written")
            .sqlstate(READ_ONLY)
            .hint("this connection has to lead to the primary; an administrator can write target_session_attrs=read-write into its URL");
    }
    if is_too_large(source) {
        let failure = Error::new(Kind::TooLarge, source.message()).sqlstate(sqlstate);
        return failure.hint(source.hint().unwrap_or("ask for less at once"));
    }
    // A pooler has one SQLSTATE for everything that ends a session; the severity distinguishes them.
    let fatal = is_fatal(source);
    let kind = match kind(sqlstate) {
        // A caller may raise any SQLSTATE, and the loss of a foreign server is not that of the source.
        Kind::Unavailable if !fatal => Kind::Rejected,
        _ if is_out_of_reach(source) => Kind::Rejected,
        kind => kind,
    };
    if fatal && matches!(kind, Kind::Unavailable | Kind::Rejected) {
        let failure = unavailable(chain(error)).sqlstate(sqlstate);
        return if sqlstate == TOO_MANY { failure.retry_after(Duration::from_secs(1)) } else { failure };
    }
    let failure = Error::new(kind, source.message()).sqlstate(sqlstate).at(site(source));
    let mut failure = failure.with(source.detail(), Error::detail).with(violated_check(source), Error::missing);
    if let Some(hint) = source.hint() {
        failure = failure.hint(hint);
    } else if sqlstate.starts_with("53") && sqlstate != TOO_MANY {
        failure = failure.hint("the source ran out of a resource for this statement; narrow it, or try again later");
    } else if is_raised(source) {
        // The SQLSTATE was chosen by the routine's author, and says nothing about the call.
    } else if sqlstate == ENDS_TRANSACTION {
        failure = failure.hint(
            "a procedure that commits by itself has to be called alone, and not behind a pooler in transaction mode",
        );
    } else if sqlstate == READ_ONLY {
        failure = failure.hint("this access is read-only; nothing was changed");
    }
    match (position(source, sent), statement) {
        (Some(position), Some(statement)) => {
            let position = TraceParent::position_without_comment(&statement.text, position);
            failure.position(statement.original_position(position))
        }
        _ => failure,
    }
}

/// Returns the error of a failed catalogue query of our own. What can happen to any statement is reported as such;
/// anything else is an internal error.
pub(crate) fn of_own(error: &tokio_postgres::Error) -> Error {
    let failure = statement(error, None, &SentText::SAME);
    match failure.kind {
        Kind::Unavailable | Kind::TimedOut | Kind::Abandoned | Kind::Busy | Kind::TooLarge => failure,
        _ => Error::internal(chain(error)),
    }
}

/// Whether a message of the source was refused while it was read, for its size.
fn is_too_large(source: &DbError) -> bool {
    source.routine() == Some(TOO_LARGE) && *source.code() == SqlState::PROGRAM_LIMIT_EXCEEDED
}

/// Returns true if a writing transaction was refused because the server is a standby. There is no SQLSTATE for
/// that: it is recognised by the routine in the server's code, since the text is in the server's language.
fn is_standby(source: &DbError) -> bool {
    *source.code() == SqlState::FEATURE_NOT_SUPPORTED && source.routine() == Some("call_bool_check_hook")
}

/// Returns true if a table exists but is not listed in the FROM clause. The SQLSTATE is that of a missing table;
/// the routine in the server's code distinguishes them.
fn is_out_of_reach(source: &DbError) -> bool {
    *source.code() == SqlState::UNDEFINED_TABLE && source.routine() == Some("errorMissingRTE")
}

/// Where it arose. Without a context it is not said from within a function or a trigger.
fn site(source: &DbError) -> Site {
    let relation = source.schema().zip(source.table());
    Site {
        within: source.where_().is_some(),
        raised: is_raised(source),
        relation: relation.map(|(schema, table)| (schema.to_owned(), table.to_owned())),
    }
}

/// The check of a table that is violated.
fn violated_check(source: &DbError) -> Option<Missing> {
    if *source.code() != SqlState::CHECK_VIOLATION {
        return None;
    }
    let [schema, table, check] = [source.schema()?, source.table()?, source.constraint()?].map(str::to_owned);
    Some(Missing::Rule { schema, table, check })
}

/// Whether a routine's author wrote the failure, by RAISE or ASSERT.
fn is_raised(source: &DbError) -> bool {
    matches!(source.routine(), Some("exec_stmt_raise" | "exec_stmt_assert"))
}

/// Returns the number of the parameter whose value the source refused, counted from 1.
pub(crate) fn refused_parameter(error: &tokio_postgres::Error) -> Option<usize> {
    error.as_db_error()?.where_().filter(|context| context.contains("portal")).and_then(parameter)
}

/// Returns the number of the parameter of `text` in a position that takes no value, counted from 1.
pub(crate) fn misplaced_parameter(error: &tokio_postgres::Error, text: &str) -> Option<usize> {
    let source = error.as_db_error()?;
    let number = parameter(source.message())?;
    let stands = || match source.position()? {
        ErrorPosition::Original(position) => {
            let behind = text.chars().skip(usize::try_from(*position).ok()?.checked_sub(1)?);
            Some(behind.take(number.to_string().len() + 1).eq(format!("${number}").chars()))
        }
        ErrorPosition::Internal { .. } => None,
    };
    match *source.code() {
        SqlState::SYNTAX_ERROR => stands()?.then_some(number),
        SqlState::UNDEFINED_PARAMETER => Some(number),
        _ => None,
    }
}

/// The number of the first parameter that the source speaks of. The words are in its own language.
pub(crate) fn parameter(words: &str) -> Option<usize> {
    let (_, digits) = words.split_once('$')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// Where in the statement it arose.
fn position(source: &DbError, sent: &SentText) -> Option<usize> {
    match source.position()? {
        ErrorPosition::Original(position) => sent.original_position(usize::try_from(*position).ok()?),
        // Inside a function's own text, which the caller did not write.
        ErrorPosition::Internal { .. } => None,
    }
}

fn is_input_output(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(<dyn StdError>::is::<std::io::Error>)
}

/// Returns the text of an error and its causes; for the log.
pub(crate) fn chain(error: &tokio_postgres::Error) -> String {
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
            // Said of operators and of arguments' types too; `execute/procedure.rs` looks for routines itself.
            ("42883", Kind::Rejected),
            ("22012", Kind::Rejected),
            ("P0001", Kind::Rejected),
        ];
        for (sqlstate, expected) in cases {
            assert_eq!(kind(sqlstate), expected, "{sqlstate}");
        }
    }
}

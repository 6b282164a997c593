//! Failures on their way through the engine and out of it.

use std::{fmt, io};

use arrow_schema::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::plan::labels;
use portico_core::error::{Error, Kind};

/// How the engine begins to say that it has no such function.
const NO_FUNCTION: &str = "Invalid function '";

/// A failure of ours, as the engine carries it.
#[derive(Debug)]
struct Carried(Error);

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Carried {}

/// `error` for the engine to carry.
pub(crate) fn carried(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(Carried(error)))
}

/// The failure of a source, with its connection's name.
pub(crate) fn of_connection(name: &str, mut error: Error) -> Error {
    // A position is one of a text that the caller has never seen.
    error = error.without_position();
    if error.kind != Kind::Internal && !error.message.contains(name) {
        error.message = format!("connection {name}: {}", error.message);
    }
    error
}

/// Whether the engine had no memory left, or none on the disk, for the statement.
pub(crate) fn is_memory_exhausted(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// What a failure of the engine means for the caller.
pub(crate) fn engine_error(error: DataFusionError) -> Error {
    if let Some(carried) = find(&error) {
        return carried.again();
    }
    let rejected =
        |state: &str, message: String| Error::new(Kind::Rejected, labels::without_marks(&message)).sqlstate(state);
    match error.find_root() {
        DataFusionError::ResourcesExhausted(cause) => {
            let message = "the statement needs more memory than it may have";
            Error::new(Kind::TooLarge, message).sqlstate("53200").because(cause).hint(
                "narrow it with WHERE so that each source sends fewer rows, or aggregate before joining; an \
                 administrator can raise federation.statement_memory",
            )
        }
        DataFusionError::IoError(cause) => of_folder(cause),
        DataFusionError::SQL(cause, _) => rejected("42601", cause.to_string()),
        DataFusionError::SchemaError(cause, _) => match &**cause {
            SchemaError::FieldNotFound { .. } => rejected("42703", cause.to_string()),
            SchemaError::AmbiguousReference { .. } => rejected("42702", cause.to_string()),
            SchemaError::DuplicateQualifiedField { .. } | SchemaError::DuplicateUnqualifiedField { .. } => {
                rejected("42701", cause.to_string())
            }
        },
        DataFusionError::NotImplemented(what) => {
            rejected("0A000", format!("statements over several connections cannot do this: {what}"))
        }
        DataFusionError::ArrowError(cause, _) => match &**cause {
            ArrowError::DivideByZero => rejected("22012", "division by zero".to_owned()),
            ArrowError::ArithmeticOverflow(what) => rejected("22003", what.clone()),
            // Its words for a number that has no place in another type.
            ArrowError::CastError(what) if what.starts_with("Can't cast value") => rejected("22003", what.clone()),
            ArrowError::CastError(what) | ArrowError::ParseError(what) => rejected("22P02", what.clone()),
            ArrowError::ComputeError(what) | ArrowError::InvalidArgumentError(what) => rejected("22000", what.clone()),
            ArrowError::IoError(_, cause) => of_folder(cause),
            other => Error::internal(other),
        },
        DataFusionError::Plan(what) if what.starts_with(NO_FUNCTION) => {
            let name = what.strip_prefix(NO_FUNCTION).and_then(|rest| rest.split('\'').next()).unwrap_or_default();
            rejected("42883", format!("function {name} is not there over several connections"))
                .hint("call it on the table's own connection, or in a view there")
        }
        DataFusionError::Plan(what) | DataFusionError::Configuration(what) => rejected("42000", what.clone()),
        DataFusionError::Execution(what) => rejected("22000", what.clone()),
        DataFusionError::Diagnostic(..) | DataFusionError::Context(..) => rejected("42000", error.strip_backtrace()),
        other => Error::internal(other),
    }
}

/// The engine reads and writes nothing but what does not fit into the memory.
fn of_folder(cause: &io::Error) -> Error {
    match cause.kind() {
        // Its own bound is of the kind that has no name.
        io::ErrorKind::Other | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = "the statement needs more room on the disk than there is for it";
            Error::new(Kind::TooLarge, message).sqlstate("53100").because(cause).hint(
                "narrow it with WHERE so that each source sends fewer rows, or aggregate before joining; an \
                 administrator can raise federation.spill_limit, or make room where federation.spill_dir is",
            )
        }
        _ => Error::internal(cause),
    }
}

/// The failure of ours that is somewhere within.
fn find(error: &DataFusionError) -> Option<&Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(Carried(error)) = error.downcast_ref() {
            return Some(error);
        }
        if let Some(DataFusionError::External(inner)) = error.downcast_ref()
            && let Some(Carried(error)) = inner.downcast_ref()
        {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

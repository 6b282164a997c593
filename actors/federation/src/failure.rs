//! Translates errors on their way through the engine and out of it.

use std::io;

use arrow_schema::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use crate::engine_words::{self, rejected};
use crate::external_error::find;
use crate::functions::types::categories::type_name;
use crate::plan::columns::labels;
use portico_core::error::{Error, Kind};
use portico_core::near;
use portico_sources::digest::quoted;

/// Names in a hint at most.
const MOST_NAMES: usize = 20;

/// The start of the engine's message for an unknown function.
const NO_FUNCTION: &str = "Invalid function '";

/// How it calls the type of intervals.
const INTERVAL: &str = "Interval(MonthDayNano)";

/// The start of its message for nested aggregates.
const NESTED: &str = "Aggregate function calls cannot ";

/// The start of its message for an unknown table in front of a column: it looked for a column of that name first.
const NO_FIELD: &str = "Cannot access field at argument";

/// The failure of a source, with its connection's name.
pub(crate) fn of_connection(name: &str, mut error: Error) -> Error {
    // A position is one of a text that the caller has never seen.
    error = error.without_position();
    if error.kind != Kind::Internal && !error.message.contains(&format!("connection {name}")) {
        error.message = format!("connection {name}: {}", error.message);
    }
    error
}

/// Returns true if the engine ran out of memory, or of disk space, for the statement.
pub(crate) fn is_memory_exhausted(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// Whether the engine has made a plan that does not sort as it must.
pub(crate) fn is_unsound(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(what) if what.contains(UNSOUND))
}

/// Translates an error of the engine's rules: when they decompose a subquery, they may lose columns.
pub(crate) fn rule_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SchemaError(cause, _) if matches!(**cause, SchemaError::FieldNotFound { .. }) => not_run(),
        _ => engine_error(error),
    }
}

fn not_run() -> Error {
    let message = "a subquery that refers to the outer query, other than by equality, or IN with a query \
                   outside of a condition, is not supported over several connections";
    rejected("0A000", message.to_owned())
        .hint("join its table, and group the rows, or number them with row_number() and keep the first")
}

/// Translates an error of the engine for the caller.
pub(crate) fn engine_error(error: DataFusionError) -> Error {
    if let Some(ours) = find(&error) {
        return ours.again();
    }
    match error.find_root() {
        other if other.to_string().contains(INTERVAL) => {
            let message = "an interval is not supported at this place over several connections";
            rejected("42883", message.to_owned()).hint(
                "extract(epoch FROM (a - b)) is the number of seconds between two times, which avg and sum take too; a \
                 time can be moved by a literal interval, or by (n || ' days')::interval, and a - b be compared with a literal one",
            )
        }
        DataFusionError::ResourcesExhausted(cause) => {
            let message = "the statement needs more memory than it may have";
            Error::new(Kind::TooLarge, message).sqlstate("53200").because(cause).hint(
                "narrow it with WHERE so that each source sends fewer rows, or aggregate before joining; an \
                 administrator can raise federation.statement_memory",
            )
        }
        DataFusionError::IoError(cause) => of_folder(cause),
        DataFusionError::SQL(cause, _) => engine_words::syntax(&cause.to_string()),
        DataFusionError::SchemaError(cause, _) => schema_error(cause),
        DataFusionError::NotImplemented(what) if NOT_RUN.iter().any(|begin| what.starts_with(begin)) => not_run(),
        DataFusionError::NotImplemented(what) => engine_words::not_implemented(what),
        DataFusionError::ArrowError(cause, _) => arrow_error(cause),
        // The engine does not treat a query as recursive that reads its rows elsewhere than in FROM.
        DataFusionError::Internal(what) if what.contains("Unexpected empty work table") => {
            rejected("42P19", "a recursive query must not be read within a subquery of its own".to_owned())
                .because(what)
                .hint("join it in FROM")
        }
        DataFusionError::Execution(what) if what.starts_with("Scalar subquery returned more") => several_rows(),
        DataFusionError::Plan(what) => plan_error(what),
        DataFusionError::Configuration(what) => rejected("42000", what.clone()),
        DataFusionError::Execution(what) if what.starts_with(NO_FIELD) => {
            rejected("42702", "the name of a table is also that of a column of a subquery".to_owned())
                .hint("give the table another alias")
        }
        DataFusionError::Execution(what) => rejected("22000", what.clone()),
        DataFusionError::Diagnostic(..) | DataFusionError::Context(..) => rejected("42000", error.strip_backtrace()),
        other => Error::internal(other),
    }
}

/// Translates a planning error, by its message.
fn plan_error(what: &str) -> Error {
    match () {
        () if what.starts_with(NO_FUNCTION) => {
            let name = what.strip_prefix(NO_FUNCTION).and_then(|rest| rest.split('\'').next()).unwrap_or_default();
            engine_words::no_function(name)
        }
        () if let Some(message) = no_operator(what) => {
            let is_of_boolean = message.contains(" boolean");
            let hint = if is_of_boolean { "compare a boolean with true or false" } else { "cast one of them" };
            rejected("42883", message).hint(hint)
        }
        () if what.contains(UNSOUND) => {
            rejected("0A000", "this order of rows is not supported over several connections".to_owned())
                .because(what)
                .hint("order by fewer columns, and leave out those that are selected twice or are always the same")
        }
        () if what.starts_with("Cannot project plan column") => {
            let message = "a column of a recursive query has a different type in its later rows than in its first ones";
            rejected("42804", message.to_owned()).because(what).hint("CAST the column to one type in both queries")
        }
        () if let Some(name) = no_signature(what) => {
            rejected("42883", format!("function {name} does not take values of these types"))
                .because(what)
                .hint("CAST its arguments, such as CAST(… AS numeric)")
        }
        () if what.starts_with("Incompatible inputs for Union") => {
            rejected("42804", "the columns of a set operation are of types that cannot be matched".to_owned())
                .because(what)
                .hint("CAST the columns of both queries to one type")
        }
        () if what.starts_with("Inconsistent data type across values list") => {
            rejected("42804", "a column of VALUES has types that cannot be matched".to_owned())
                .because(what)
                .hint("CAST its values to one type")
        }
        () if what.starts_with("Cannot create filter with non-boolean predicate") => {
            rejected("42804", "argument of WHERE must be type boolean".to_owned())
                .because(what)
                .hint("compare the value with something, such as … = true")
        }
        () if CORRELATED.iter().any(|begin| what.starts_with(begin)) => not_run(),
        () if what.starts_with(NESTED) => {
            let message = what.split_once(':').map_or(what, |(message, _)| message);
            rejected("42803", message.to_lowercase()).hint("compute the inner one in a subquery")
        }
        () if what.contains("unique expression names") => rejected("42701", what.to_owned()).hint(SAME_NAME),
        () if what.contains(SEVERAL_ROWS) => {
            let message = "a subquery that is used as a value, and refers to the outer query, may have several rows";
            rejected("21000", message.to_owned()).hint("write max(…) around what it selects, or LEFT JOIN its table")
        }
        () if let Some(column) = not_grouped(what) => {
            let message =
                format!("column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function");
            rejected("42803", message).hint("add it to GROUP BY, or write max(…) around it")
        }
        () => engine_words::number(what).unwrap_or_else(|| rejected("42000", what.to_owned())),
    }
}

fn arrow_error(cause: &ArrowError) -> Error {
    match cause {
        ArrowError::DivideByZero => rejected("22012", "division by zero".to_owned()),
        ArrowError::ArithmeticOverflow(what) => rejected("22003", what.clone()),
        // The message for a number out of range of another type.
        ArrowError::CastError(what) if what.starts_with("Can't cast value") => rejected("22003", what.clone()),
        ArrowError::CastError(what) | ArrowError::ParseError(what) => rejected("22P02", no_value(what)),
        ArrowError::ComputeError(what) | ArrowError::InvalidArgumentError(what) => rejected("22000", what.clone()),
        ArrowError::IoError(_, cause) => of_folder(cause),
        other => Error::internal(other),
    }
}

fn schema_error(cause: &SchemaError) -> Error {
    match cause {
        SchemaError::FieldNotFound { field, valid_fields } => no_column(field, valid_fields),
        SchemaError::AmbiguousReference { field } => engine_words::ambiguous(labels::shown(&field.name)),
        SchemaError::DuplicateQualifiedField { .. } | SchemaError::DuplicateUnqualifiedField { .. } => {
            rejected("42701", cause.to_string()).hint(SAME_NAME)
        }
    }
}

/// The hint if the engine confuses two values, because it names a cast after its operand.
const SAME_NAME: &str =
    "compute one of the two in a subquery, under a name of its own: here a cast has the name of what it casts";

/// The column that is neither grouped nor aggregated.
fn not_grouped(what: &str) -> Option<&str> {
    if let Some((_, rest)) = what.split_once("clause references: ") {
        return rest.split_once(" must appear in the GROUP BY").map(|(expression, _)| expression);
    }
    let (_, rest) = what.split_once("While expanding wildcard, column \"")?;
    rest.split_once('"').map(|(column, _)| column)
}

/// The engine's message if it has itself made a plan that is not sorted as required.
pub(crate) const UNSOUND: &str = "does not satisfy order requirements";

/// The start of its messages for a subquery, or a reference from it to the outer query, that it cannot plan.
const NOT_RUN: [&str; 5] = [
    "Physical plan does not support undecorrelated Subquery",
    "Physical plan does not support logical expression Exists",
    "Physical plan does not support logical expression InSubquery",
    "Physical plan does not support logical expression ScalarSubquery",
    "Physical plan does not support logical expression OuterReferenceColumn",
];

/// Its message for a scalar subquery that may return several rows.
pub(crate) const SEVERAL_ROWS: &str = "must be aggregated to return at most one row";

/// The start of its messages for a scalar subquery in an unsupported place.
const CORRELATED: [&str; 2] = ["Correlated scalar subquery can only", "Correlated scalar subquery in"];

/// Returns the function that has no signature for its arguments.
fn no_signature(what: &str) -> Option<&str> {
    if let Some((_, call)) = what.split_once("No function matches the given name and argument types '") {
        return call.split_once('(').map(|(name, _)| name);
    }
    if let Some((_, call)) = what.split_once("Failed to coerce arguments to satisfy a call to '") {
        return call.split_once('\'').map(|(name, _)| name);
    }
    let (before, _) = what.split_once("' failed to match any signature")?;
    before.rsplit_once("Function '").map(|(_, name)| name)
}

/// A subquery that is a value has several rows.
pub(crate) fn several_rows() -> Error {
    rejected("21000", "more than one row returned by a subquery used as an expression".to_owned())
        .hint("write max(…) around what it selects, or LIMIT 1 behind an ORDER BY")
}

fn no_column(column: &Column, there: &[Column]) -> Error {
    if let Some(error) = engine_words::no_function_without_brackets(&column.name).filter(|_| column.relation.is_none())
    {
        return error;
    }
    let error = rejected("42703", format!("column {} does not exist", column.flat_name()));
    let mut names: Vec<&str> = there.iter().map(|column| labels::shown(&column.name)).collect();
    names.sort_unstable();
    names.dedup();
    let near: Vec<_> = near::nearest(&column.name, names.iter().copied()).into_iter().map(quoted).collect();
    let names: Vec<_> = names.into_iter().take(MOST_NAMES).map(quoted).collect();
    match near::did_you_mean(&near) {
        Some(hint) => error.hint(hint),
        None if names.is_empty() => error,
        None => error.hint(format!("there are {}", names.join(", "))),
    }
}

/// Translates its message for a text that is not a value of a type, into PostgreSQL's words.
fn no_value(what: &str) -> String {
    let said = || {
        let (text, type_) = what.strip_prefix("Cannot cast string '")?.rsplit_once("' to value of ")?;
        let type_ = type_.strip_suffix(" type")?.parse().ok()?;
        Some(format!("invalid input syntax for type {}: \"{text}\"", type_name(&type_)))
    };
    said().unwrap_or_else(|| what.to_owned())
}

/// Translates its message for an operator that does not exist for two types, into PostgreSQL's words.
fn no_operator(what: &str) -> Option<String> {
    let expression = ["operation ", "comparison operation "]
        .iter()
        .find_map(|of| what.strip_prefix("Cannot infer common argument type for ")?.strip_prefix(of));
    let expression = match expression {
        Some(expression) => expression,
        None => what.strip_prefix("Cannot coerce arithmetic expression ")?.split_once(" to valid types")?.0,
    };
    // The names of some types have blanks.
    expression.match_indices(' ').find_map(|(at, _)| {
        let (operator, right) = expression.get(at + 1..)?.split_once(' ')?;
        let (left, right) = (expression.get(..at)?.parse().ok()?, right.parse().ok()?);
        Some(format!("operator does not exist: {} {operator} {}", type_name(&left), type_name(&right)))
    })
}

/// Returns an I/O error: the engine only reads and writes spilled rows.
fn of_folder(cause: &io::Error) -> Error {
    match cause.kind() {
        // The engine's own limit has the kind `Other`.
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

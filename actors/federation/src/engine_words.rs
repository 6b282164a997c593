//! What the engine's own words mean for the caller, where they name what it has not, or speak of its insides.

use crate::plan::columns::labels;
use portico_core::error::{Error, Kind};

/// What to do with what only a table's own connection can do.
const ELSEWHERE: &str = "use it on the table's own connection, or in a view there";

/// Names that PostgreSQL takes for functions without brackets, and the engine for columns.
const FUNCTIONS_WITHOUT_BRACKETS: [&str; 9] = [
    "current_catalog",
    "current_role",
    "current_schema",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// What functions of other databases are called here.
const FUNCTIONS: [(&str, &str); 12] = [
    ("array_agg", "string_agg(value, ', ')"),
    ("charindex", "strpos(text, part)"),
    ("curdate", "current_date"),
    ("getdate", "now()"),
    ("group_concat", "string_agg(value, ', ')"),
    ("iif", "CASE WHEN … THEN … ELSE … END"),
    ("ifnull", "coalesce(a, b)"),
    ("instr", "strpos(text, part)"),
    ("isnull", "coalesce(a, b)"),
    ("len", "length(text)"),
    ("nvl", "coalesce(a, b)"),
    ("strftime", "to_char(time, 'YYYY-MM-DD')"),
];

/// A function that is not there.
pub(crate) fn no_function(name: &str) -> Error {
    let error = unavailable("42883", &format!("function {name}"));
    match FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, instead)) => error.hint(format!("write {instead}; else call it on the table's own connection")),
        None => error.hint("call it on the table's own connection, or in a view there"),
    }
}

/// A column that is not there, and is none: a function that is called without brackets.
pub(crate) fn no_function_without_brackets(name: &str) -> Option<Error> {
    let is_function = FUNCTIONS_WITHOUT_BRACKETS.contains(&name);
    is_function.then(|| match name {
        "localtimestamp" | "current_timestamp" => unavailable("0A000", name).hint("write now()"),
        _ => unavailable("0A000", name).hint(ELSEWHERE),
    })
}

/// What the engine has no plan for, in its words.
pub(crate) fn not_implemented(what: &str) -> Error {
    let behind = |begin: &str| what.strip_prefix(begin);
    match () {
        () if let Some(rest) = behind("Operator ") => {
            let operator = rest.split(' ').next().unwrap_or_default();
            unavailable("0A000", &format!("operator {operator}")).hint(ELSEWHERE)
        }
        () if what.starts_with("Binary operator '") => {
            unavailable("0A000", "an operator of this statement").because(what).hint(ELSEWHERE)
        }
        () if let Some(type_) = behind("Unsupported SQL type ") => {
            unavailable("0A000", &format!("type {}", type_.to_lowercase())).hint("leave the cast out, or write ::text")
        }
        () if what.starts_with("Could not plan array literal") => {
            unavailable("0A000", "an array").hint("write IN (…) for = ANY (ARRAY[…])")
        }
        () if what.starts_with("FETCH clause") => {
            unavailable("0A000", "FETCH FIRST").hint("write LIMIT; WITH TIES is not known here")
        }
        () if what.starts_with("Unsupported LIMIT expression") => {
            unavailable("0A000", "a query as LIMIT").hint("give the number, or a parameter")
        }
        () => rejected("0A000", format!("statements over several connections cannot do this: {what}")),
    }
}

/// What the engine's parser says, in PostgreSQL's words as far as they go.
pub(crate) fn syntax(what: &str) -> Error {
    let expected = what.strip_prefix("sql parser error: ").unwrap_or(what);
    let (expected, place) = expected.rsplit_once(" at Line: ").unwrap_or((expected, ""));
    let place = place.split_once(", Column: ").map(|(line, column)| format!(" (line {line}, column {column})"));
    let expected = match expected.split_once(", found: ") {
        Some((wanted, found)) => {
            let wanted = wanted.strip_prefix("Expected").unwrap_or(wanted).trim_start_matches([':', ' ']);
            let found = if found == "EOF" { "the end".to_owned() } else { format!("\"{found}\"") };
            format!("{wanted} is expected, and there is {found}")
        }
        None => expected.to_owned(),
    };
    rejected("42601", format!("syntax error: {expected}{}", place.unwrap_or_default()))
}

/// What the engine says of a plan, where it is about a number in the text.
pub(crate) fn number(what: &str) -> Option<Error> {
    if what.starts_with("Expected LIMIT to be an integer") || what.starts_with("Expected OFFSET to be an integer") {
        let clause = if what.contains("OFFSET") { "OFFSET" } else { "LIMIT" };
        return Some(rejected("42804", format!("argument of {clause} must be a whole number")));
    }
    let (position, _) = what.strip_prefix("Cannot find column with position ")?.split_once(' ')?;
    Some(rejected("42P10", format!("position {position} is not in select list")))
}

/// A name that several columns have.
pub(crate) fn ambiguous(name: &str) -> Error {
    rejected("42702", format!("column reference \"{name}\" is ambiguous"))
        .hint(format!("write the table or its alias in front: table.{name}"))
}

fn unavailable(state: &str, what: &str) -> Error {
    rejected(state, format!("{what} is not supported over several connections"))
}

/// The error of a statement that cannot be run, without the marks that our names carry within the engine.
pub(crate) fn rejected(state: &str, message: String) -> Error {
    Error::new(Kind::Rejected, labels::without_marks(&message)).sqlstate(state)
}

//! Adds hints that say what to write instead, if the source's message alone does not. Failures are recognised by
//! SQLSTATE (PostgreSQL, appendix A), since the message may be in any language and mostly only what it quotes is
//! read. Two hints need English words: `grant` looks for " schema ", " function " and " procedure ", `operator` for
//! the name `round`.

mod operators;
mod other_dialects;

use self::operators::operator;
use self::other_dialects::{COMMANDS, FUNCTIONS, NEAR_WORDS, TYPES, WORDS};
use crate::statements::foreign::Words;
use portico_core::error::{Error, Missing};
use portico_sql::{Class, Dialect, Statement};

/// How values are given.
const PLACEHOLDERS: &str = "in the place of a value write @name and give it in parameters: {\"name\": value}; or @1, @2 and a \
    list: [value, value]";

/// How dates are written, whatever `DateStyle` is.
const DATES: &str = "a date as 'YYYY-MM-DD', a moment as 'YYYY-MM-DD HH:MM:SS'";

/// Adds a hint on how to correct a value that a procedure was given.
pub(crate) fn advise_value(failure: Error, routine: Option<&str>) -> Error {
    match failure.get_sqlstate() {
        Some("22007" | "22008") => failure.hint(format!("write {DATES}")),
        _ if routine == Some(READS_LABEL) => unreadable(failure, routine),
        _ => failure,
    }
}

/// Adds a hint on how to correct `statement` to `failure`. `routine` is the function in the server's code that
/// reported it.
pub(crate) fn advise(failure: Error, statement: &Statement, routine: Option<&str>) -> Error {
    let Some(sqlstate) = failure.get_sqlstate().map(str::to_owned) else { return failure };
    let words = || Words::new(&statement.text, Dialect::POSTGRESQL);
    if matches!(sqlstate.as_str(), "42601" | "42703" | "42704" | "42P01")
        && let Some(hint) = words().habit(COMMANDS)
    {
        return failure.hint(hint);
    }
    match sqlstate.as_str() {
        "25001" => failure.hint(
            "each call is a transaction of its own: such a command has to be given to the database itself; CREATE INDEX \
             runs here without CONCURRENTLY",
        ),
        // An unknown column may be an argument of an unknown function: DATEADD(day, …).
        // A part of a composite value: its type stands at the end.
        "42703" if routine == Some("unknown_attribute") && failure.message.contains(" type ") => {
            let of = failure.message.rsplit(' ').next().unwrap_or_default().to_owned();
            let given = quoted(&failure.message).unwrap_or_default().to_owned();
            failure.missing(Missing::Label { of, given })
        }
        "42703" => match words().function(FUNCTIONS) {
            Some(hint) => failure.hint(hint),
            None => match column(&failure.message) {
                Some(missing) => failure.missing(missing),
                None => failure,
            },
        },
        "42702" => match quoted(&failure.message).map(str::to_owned) {
            Some(name) => failure.missing(Missing::Ambiguous(name)),
            None => failure,
        },
        "42883" => match words().function(FUNCTIONS).or_else(|| operator(&failure.message)) {
            Some(hint) => failure.hint(hint),
            None => match routine_name(&failure.message) {
                Some(name) => failure.missing(Missing::Routine(name)),
                None => failure,
            },
        },
        "42601" => match syntax(&words(), quoted(&failure.message)) {
            Some(hint) => failure.hint(hint),
            // A reserved word, or a name with a blank in it.
            None => match quoted(&failure.message).map(str::to_owned) {
                Some(word) => failure.missing(Missing::Quotes(word)),
                None => failure,
            },
        },
        "42704" if routine == Some("typenameType") => match quoted(&failure.message).map(str::to_owned) {
            Some(name) => match TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                Some((_, instead)) => failure.hint(format!("the type is called {instead} here")),
                None => failure.missing(Missing::Type(name)),
            },
            None => failure,
        },
        "42P10" if routine == Some("infer_arbiter_indexes") => failure.missing(Missing::UniqueKey),
        "42P02" => failure.hint(PLACEHOLDERS),
        // What the server says of it leads to a number that the sequence gives again.
        "428C9" => match quoted(&failure.message).map(str::to_owned) {
            Some(column) => failure.hint(format!("leave {column} out: the database makes its value")),
            None => failure,
        },
        "42803" if routine == Some("check_agg_arguments") => {
            failure.hint("aggregate what a subquery has aggregated: SELECT max(n) FROM (SELECT count(*) AS n …) AS q")
        }
        "42803" if routine == Some("check_agg_arguments_walker") => {
            failure.hint("aggregate what a subquery has numbered: SELECT sum(n) FROM (SELECT row_number() OVER (…) AS n …) AS q")
        }
        "42803" => match quoted(&failure.message).map(str::to_owned) {
            Some(column) => failure.hint(format!("add {column} to GROUP BY, or aggregate it: max({column})")),
            None => failure.hint("a condition on an aggregate stands in HAVING, behind GROUP BY"),
        },
        "42P01" if quoted(&failure.message).is_some_and(|name| name.eq_ignore_ascii_case("dual")) => {
            failure.hint("leave FROM dual out")
        }
        // Of a table that is there and not listed.
        "42P01" if failure.get_hint().is_none() && routine == Some("errorMissingRTE") => {
            failure.hint(
                "list the table in FROM or JOIN, or use the alias that it has there; a part of a column is (column).part, \
                 and of JSON column ->> 'part'",
            )
        }
        "22P02" => unreadable(failure, routine),
        "22007" | "22008" => {
            failure.hint(format!("write {DATES}; to_date(text, 'DD/MM/YYYY') reads another form"))
        }
        "22012" => failure.hint("a / NULLIF(b, 0) is NULL where b is 0"),
        "21000" if matches!(routine, Some("ExecOnConflictUpdate" | "ExecMergeMatched")) => {
            failure.hint("two of the new rows have one key: keep one of them, as SELECT DISTINCT ON (key) does")
        }
        "21000" => failure.hint("use IN in the place of =, or LIMIT 1 in the subquery"),
        "42501" if failure.message.starts_with("must be ") => {
            failure.hint("the role of this connection needs to own the object: an administrator of the database does it")
        }
        // A policy of row level security.
        "42501" if routine == Some("ExecWithCheckOptions") => {
            failure.hint("the table takes rows that its policies allow, and no others: give other values")
        }
        "42501" if failure.get_hint().is_none() => {
            let right = grant(&failure.message, statement.class);
            let table = failure.message.split_once(" table ").map(|(_, table)| Missing::Readable(table.to_owned()));
            failure
                .hint(format!("an administrator of the database can GRANT {right} TO the role of this connection"))
                .with(table.filter(|_| statement.class == Class::Select), Error::missing)
        }
        "23502" => match quoted(&failure.message).map(str::to_owned) {
            Some(column) => failure.hint(format!("give a value for {column}, which must not be NULL")),
            None => failure,
        },
        "23505" => match failure.get_detail().and_then(key).map(str::to_owned) {
            Some(key) if statement.class == Class::Insert => failure
                .hint(format!("use another value, or ON CONFLICT ({key}) DO UPDATE SET …, or ON CONFLICT DO NOTHING")),
            Some(key) => failure.hint(format!("another row has this value of {key}: use another one")),
            None => failure,
        },
        _ => failure,
    }
}

/// The server's routine that reads labels of enums.
pub(crate) const READS_LABEL: &str = "enum_in";

/// Adds a hint for a text that is not a valid value of the required type.
pub(crate) fn unreadable(failure: Error, routine: Option<&str>) -> Error {
    match routine {
        Some(READS_LABEL) => match failure.message.rsplit_once(": ") {
            Some((before, given)) => {
                let of = before.rsplit(' ').next().unwrap_or_default().to_owned();
                let given = given.trim_matches(['"', '„', '“', '”', '«', '»', ' ']).to_owned();
                failure.missing(Missing::Label { of, given })
            }
            None => failure,
        },
        Some(routine) if routine == "array_in" || routine.starts_with("ReadArray") => {
            failure.hint("an array is written '{a,b}'; value = ANY(an_array) asks for one of its elements")
        }
        Some("record_in") => {
            failure.hint("a value of a composite type is written ROW(a, b), with all its fields in their order")
        }
        Some("json_errsave_error" | "report_parse_error" | "report_invalid_token") => failure
            .hint("a text in JSON has double quotes of its own: '\"dark\"'; to_jsonb(value::text) makes it of a text"),
        _ => failure.hint(
            "a value of that type is expected here: a number without quotes or other signs, true or false, JSON, a \
             UUID",
        ),
    }
}

/// The column that a message is about: `"name"`, or `table.name` without quotes.
fn column(message: &str) -> Option<Missing> {
    if let Some(name) = quoted(message) {
        return Some(Missing::Column { of: None, name: name.to_owned() });
    }
    let (of, name) = message.split(' ').find_map(|word| word.rsplit_once('.').filter(|(_, name)| !name.is_empty()))?;
    Some(Missing::Column { of: Some(of.to_owned()), name: name.to_owned() })
}

/// Returns the function that a message is about; it precedes the types of its arguments.
fn routine_name(message: &str) -> Option<String> {
    let (before, _) = message.split_once('(')?;
    before.rsplit(' ').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The first piece of `message` in double quotes.
fn quoted(message: &str) -> Option<&str> {
    message.split('"').nth(1).filter(|piece| !piece.is_empty())
}

/// Returns a hint with the missing privilege: the object is the last word of the message.
fn grant(message: &str, class: Class) -> String {
    // A name may have blanks in it, which only English words tell from what stands before.
    let named = [" table ", " view ", " sequence "].into_iter().find_map(|kind| message.split_once(kind));
    let object = named.map_or_else(|| message.rsplit(' ').next().unwrap_or_default(), |(_, name)| name);
    let object = crate::digest::quoted(object);
    if message.contains(" schema ") {
        let right = if class == Class::Ddl { "USAGE, CREATE" } else { "USAGE" };
        return format!("{right} ON SCHEMA {object}");
    }
    let right = match class {
        Class::Insert => "INSERT",
        Class::Update => "UPDATE, DELETE",
        Class::Call => return format!("EXECUTE ON ROUTINE {object}"),
        _ if message.contains(" function ") || message.contains(" procedure ") => {
            return format!("EXECUTE ON ROUTINE {object}");
        }
        _ => "SELECT",
    };
    format!("{right} ON {object}")
}

/// The columns in `Key (a, b)=(1, 2) …`.
fn key(detail: &str) -> Option<&str> {
    let (columns, _) = detail.split_once(")=(")?;
    // Expressions have brackets of their own, and names in quotes may have anything.
    columns.split_once('(').map(|(_, columns)| columns).filter(|columns| !columns.contains(['(', ')']))
}

/// Returns a hint for a statement that cannot be parsed.
fn syntax(words: &Words<'_>, near: Option<&str>) -> Option<String> {
    let backtick = || {
        let has = words.behind("SELECT").any(|token| words.text(token).contains('`'));
        has.then(|| "names stand in double quotes, or bare, not in backticks".to_owned())
    };
    let interval = || {
        let mut behind = words.behind("INTERVAL");
        let (number, unit) = (words.text(behind.next()?), words.text(behind.next()?));
        number.parse::<u32>().ok().map(|number| format!("write interval '{number} {}'", unit.to_lowercase()))
    };
    let placeholder = || words.has_mark().then(|| PLACEHOLDERS.to_owned());
    words
        .top()
        .or_else(|| words.limit_pair())
        .or_else(backtick)
        .or_else(interval)
        .or_else(|| words.word(WORDS))
        .or_else(|| words.word_near(near?, NEAR_WORDS))
        .or_else(|| words.function(FUNCTIONS))
        .or_else(placeholder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_core::error::Kind;

    fn advised(sqlstate: &str, message: &str, text: &str, routine: Option<&str>) -> Error {
        let failure = Error::new(Kind::Rejected, message).sqlstate(sqlstate);
        advise(failure, &Statement::unread(text), routine)
    }

    #[test]
    fn a_failure_says_what_to_write_instead() {
        for (sqlstate, message, text, words) in [
            ("42883", "function ifnull(integer) does not exist", "SELECT IFNULL(a, 0) FROM t", "COALESCE"),
            ("42703", "column \"day\" does not exist", "SELECT DATEADD(day, 7, a) FROM t", "interval '7 days'"),
            ("42601", "syntax error at or near \"5\"", "SELECT TOP 5 a FROM t", "LIMIT 5"),
            ("42601", "LIMIT #,# syntax is not supported", "SELECT a FROM t LIMIT 10, 5", "LIMIT 5 OFFSET 10"),
            ("42601", "syntax error at or near \"`\"", "SELECT `a` FROM t", "double quotes"),
            ("42601", "syntax error at or near \"7\"", "SELECT now() - INTERVAL 7 DAY", "interval '7 day'"),
            ("42883", "operator does not exist: text + unknown", "SELECT a + 'b'", "||"),
            ("42883", "operator does not exist: integer ~~ unknown", "SELECT a LIKE 'b'", "::text LIKE"),
            ("42883", "operator does not exist: boolean = integer", "SELECT a = 1", "true or false"),
            ("42883", "operator does not exist: character varying ~~ integer", "SELECT a LIKE 5", "pattern::text"),
            ("42883", "operator does not exist: integer == integer", "SELECT a == 5", "one = compares"),
            ("42883", "operator does not exist: integer || integer", "SELECT a || b", "::text ||"),
            ("42883", "operator does not exist: jsonb > integer", "SELECT a -> 'b' > 3", "->> 'key')::integer"),
            ("42883", "operator does not exist: date > integer", "SELECT d > 2024-01-01", "single quotes"),
            ("42883", "operator does not exist: date < interval", "SELECT d < $1 + interval '1 day'", "value::date +"),
            ("42883", "operator does not exist: point = point", "SELECT a = b", ""),
            ("42883", "operator does not exist: character varying = integer", "SELECT a = 1", "is character varying"),
            ("42883", "function round(double precision, integer) does not exist", "SELECT round(a, 2)", "numeric"),
            ("42803", "column \"c.name\" must appear in the GROUP BY clause", "", "add c.name to GROUP BY"),
            ("42803", "aggregate functions are not allowed in WHERE", "", "HAVING"),
            ("22012", "division by zero", "", "NULLIF"),
            ("22008", "date/time field value out of range", "", "YYYY-MM-DD"),
        ] {
            let hint = advised(sqlstate, message, text, None).get_hint().unwrap_or_default().to_owned();
            assert!(hint.contains(words), "{message}: {hint}");
        }
    }

    #[test]
    fn what_is_missing_is_told_in_any_language() {
        for (sqlstate, message, routine, expected) in [
            ("42703", "column \"nme\" does not exist", None, Missing::Column { of: None, name: "nme".to_owned() }),
            (
                "42703",
                "Spalte o.nme existiert nicht",
                None,
                Missing::Column { of: Some("o".to_owned()), name: "nme".to_owned() },
            ),
            ("42702", "column reference \"id\" is ambiguous", None, Missing::Ambiguous("id".to_owned())),
            (
                "42883",
                "Funktion app.wieght_of(integer, text) existiert nicht",
                None,
                Missing::Routine("app.wieght_of".to_owned()),
            ),
            (
                "22P02",
                "invalid input value for enum order_status: \"shiped\"",
                Some("enum_in"),
                Missing::Label { of: "order_status".to_owned(), given: "shiped".to_owned() },
            ),
        ] {
            assert_eq!(advised(sqlstate, message, "SELECT 1", routine).get_missing(), Some(&expected), "{message}");
        }
        assert_eq!(key("Key (a, b)=(1, 2) already exists."), Some("a, b"));
    }
}

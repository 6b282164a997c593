//! Adds hints that say what to write instead, if SQLite's message alone does not.

use crate::statements::foreign::{Foreign, Words};
use portico_core::error::{Error, Missing};
use portico_sql::{Dialect, Kind, Statement};

/// Functions of other databases, and what SQLite has instead.
const FUNCTIONS: &[Foreign] = &[
    ("AGE", "julianday(a) - julianday(b), which is the number of days"),
    ("ANY", "IN (SELECT value FROM json_each(list))"),
    ("ARRAY_AGG", "json_group_array(value)"),
    ("BOOL_AND", "min(condition)"),
    ("BOOL_OR", "max(condition)"),
    ("CHARINDEX", "instr(text, part)"),
    ("CONVERT", "CAST(value AS type)"),
    ("CURDATE", "date('now')"),
    ("DATEADD", "date(a_date, '+7 days')"),
    ("DATEDIFF", "julianday(a) - julianday(b), which is the number of days"),
    ("DATEPART", "CAST(strftime('%Y', a_date) AS INTEGER)"),
    ("DATE_FORMAT", "strftime('%Y-%m-%d', a_date)"),
    ("DATE_PART", "CAST(strftime('%Y', a_date) AS INTEGER)"),
    ("DATE_TRUNC", "date(a_date, 'start of month')"),
    ("EXTRACT", "CAST(strftime('%Y', a_date) AS INTEGER)"),
    ("FROM_UNIXTIME", "datetime(seconds, 'unixepoch')"),
    ("GEN_RANDOM_UUID", "lower(hex(randomblob(16)))"),
    ("GENERATE_SERIES", "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10) SELECT n FROM n"),
    ("GETDATE", "datetime('now')"),
    ("GREATEST", "max(a, b)"),
    ("ISNULL", "ifnull(a, b)"),
    ("JSON_AGG", "json_group_array(value)"),
    ("LEAST", "min(a, b)"),
    ("LEFT", "substr(text, 1, n)"),
    ("LEN", "length(text)"),
    ("LISTAGG", "group_concat(value, ', ')"),
    ("MONTH", "CAST(strftime('%m', a_date) AS INTEGER)"),
    ("NOW", "datetime('now')"),
    ("NVL", "ifnull(a, b)"),
    ("POSITION", "instr(text, part)"),
    ("RAND", "random()"),
    ("REGEXP", "LIKE or GLOB"),
    ("REGEXP_REPLACE", "replace(text, part, other)"),
    ("RIGHT", "substr(text, -n)"),
    ("SPLIT_PART", "substr(text, 1, instr(text, ',') - 1)"),
    ("STDDEV", "sqrt(avg(value * value) - avg(value) * avg(value))"),
    ("STRPOS", "instr(text, part)"),
    ("STR_TO_DATE", "date(text)"),
    ("TO_CHAR", "strftime('%Y-%m', a_date)"),
    ("TO_DATE", "date(text)"),
    ("TO_TIMESTAMP", "datetime(seconds, 'unixepoch')"),
    ("UNNEST", "json_each(list)"),
    ("YEAR", "CAST(strftime('%Y', a_date) AS INTEGER)"),
];
/// Words of other databases that are not functions.
const WORDS: &[Foreign] = &[
    ("::", "CAST(value AS type)"),
    ("ILIKE", "LIKE, which does not tell small letters from capitals"),
    ("INTERVAL", "date(a_date, '+7 days')"),
    ("LATERAL", "a subquery in the SELECT list"),
    ("SIMILAR", "LIKE or GLOB"),
];

/// Types in front of a text, which are taken for columns.
const TYPES: &[Foreign] = &[
    ("DATE", "'2026-01-31' alone"),
    ("INTERVAL", "date(a_date, '+7 days')"),
    ("TIMESTAMP", "'2026-01-31 12:00:00' alone"),
];

/// Commands of other programs.
const COMMANDS: &[Foreign] = &[
    ("DESC", DESCRIBING),
    ("DESCRIBE", DESCRIBING),
    ("SHOW", "SELECT name FROM pragma_table_list lists tables"),
    ("USE", "there is one schema, main"),
];
const DESCRIBING: &str = "SELECT name, type FROM pragma_table_info('…') lists columns";

/// What to write for a type in front of a text.
fn type_in_front(words: &Words<'_>) -> Option<String> {
    let is_in_front = |(word, _): &&Foreign| words.behind(word).next().is_some_and(|next| next.kind == Kind::Text);
    let (known, instead) = TYPES.iter().find(is_in_front)?;
    Some(format!("no type stands in front of a text here, as {known} does: write {instead}"))
}

/// Adds a hint on how to correct `statement` to `failure`.
pub(crate) fn advise(failure: Error, statement: &Statement) -> Error {
    let Some(sqlstate) = failure.get_sqlstate() else { return failure };
    let words = || Words::new(&statement.text, Dialect::SQLITE);
    if matches!(sqlstate, "42601" | "42703" | "42P01")
        && let Some(hint) = words().habit(COMMANDS)
    {
        return failure.hint(hint);
    }
    match sqlstate {
        "42703" => match words().function(FUNCTIONS).or_else(|| type_in_front(&words())) {
            Some(hint) => failure.hint(hint),
            None => match column(&failure.message) {
                Some(missing) => failure.missing(missing),
                None => failure,
            },
        },
        "42702" => match failure.message.rsplit_once(": ").map(|(_, name)| name.to_owned()) {
            Some(name) => failure.missing(Missing::Ambiguous(name)),
            None => failure,
        },
        "42883" | "42601" if failure.get_hint().is_none() => {
            let words = words();
            let hint = words.top().or_else(|| words.word(WORDS)).or_else(|| words.function(FUNCTIONS));
            match hint.or_else(|| type_in_front(&words)) {
                Some(hint) => failure.hint(hint),
                None => match failure.message.as_str() {
                    message if message.contains("misuse of aggregate") => {
                        failure.hint("a condition on an aggregate stands in HAVING, behind GROUP BY")
                    }
                    _ => failure,
                },
            }
        }
        "23502" => match failure.message.rsplit_once('.').map(|(_, column)| column.to_owned()) {
            Some(column) => failure.hint(format!("give a value for {column}, which must not be NULL")),
            None => failure,
        },
        "23505" => failure.hint("use another value, or ON CONFLICT (…) DO UPDATE SET …, or ON CONFLICT DO NOTHING"),
        _ => failure,
    }
}

/// Returns the column that a message is about: `no such column: o.name`, `table orders has no column named name`.
fn column(message: &str) -> Option<Missing> {
    let name = message.split_once("no such column: ").or_else(|| message.split_once(" has no column named "))?.1.trim();
    // The text after it is a hint of its own.
    let name = name.split(" - ").next().unwrap_or(name);
    let (of, name) = name.rsplit_once('.').map_or((None, name), |(of, name)| (Some(of.to_owned()), name));
    Some(Missing::Column { of, name: name.trim_matches('"').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_core::error::Kind;

    fn advised(sqlstate: &str, message: &str, text: &str) -> Error {
        advise(Error::new(Kind::Rejected, message).sqlstate(sqlstate), &Statement::unread(text))
    }

    #[test]
    fn a_failure_says_what_to_write_instead() {
        for (sqlstate, message, text, words) in [
            ("42883", "no such function: TO_CHAR", "SELECT to_char(a, 'YYYY') FROM t", "strftime"),
            ("42601", "unrecognized token: \":\"", "SELECT a::text FROM t", "CAST"),
            ("42601", "near \"ILIKE\": syntax error", "SELECT a FROM t WHERE a ILIKE 'x'", "LIKE"),
            ("42601", "near \"5\": syntax error", "SELECT TOP 5 a FROM t", "LIMIT 5"),
            ("42601", "near \"FROM\": syntax error", "SELECT extract(year FROM a) FROM t", "strftime"),
            ("42601", "misuse of aggregate: count()", "SELECT 1 FROM t WHERE count(*) > 1", "HAVING"),
            ("42703", "no such column: DATE", "SELECT * FROM t WHERE a > DATE '2026-01-01'", "'2026-01-31' alone"),
            ("23502", "NOT NULL constraint failed: customers.name", "", "give a value for name"),
        ] {
            let hint = advised(sqlstate, message, text).get_hint().unwrap_or_default().to_owned();
            assert!(hint.contains(words), "{message}: {hint}");
        }
        let missing = |message: &str| advised("42703", message, "SELECT 1").get_missing().cloned();
        let column =
            |of: Option<&str>, name: &str| Some(Missing::Column { of: of.map(str::to_owned), name: name.to_owned() });
        assert_eq!(missing("no such column: o.nme"), column(Some("o"), "nme"));
        assert_eq!(missing("table orders has no column named nme"), column(None, "nme"));
        assert_eq!(
            missing("no such column: \"x\" - should this be a string literal in single-quotes?"),
            column(None, "x")
        );
    }
}

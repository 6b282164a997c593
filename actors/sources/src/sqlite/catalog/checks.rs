//! Checks in a stored CREATE TABLE statement that list the values which a column may have.

use portico_sql::{Dialect, Kind, Token, tokens};
use serde_json::Value;

/// Each column that a `CHECK (column IN (…))` speaks of, which may let NULL pass too, with its values as a JSON array.
pub(crate) fn listed_values(sql: &str) -> Vec<(String, String)> {
    let all: Vec<Token> = tokens(sql, Dialect::SQLITE).into_iter().filter(|token| token.kind != Kind::Blank).collect();
    let checks = all.iter().enumerate().filter(|(_, token)| token.is_word(sql, "CHECK"));
    let listed = checks.filter_map(|(at, _)| {
        let (column, values) = list(sql, all.get(at + 1..)?)?;
        Some((column, serde_json::to_string(&values).ok()?))
    });
    listed.collect()
}

/// Returns the column and the values of a condition in parentheses, if it is such a list and nothing more.
fn list(sql: &str, tokens: &[Token]) -> Option<(String, Vec<Value>)> {
    let mut rest = tokens.iter().copied().peekable();
    let is = |token: Option<Token>, kind: Kind| token.is_some_and(|token| token.kind == kind);
    is(rest.next(), Kind::Open).then_some(())?;
    let mut column = rest.next()?.name(sql)?.into_owned();
    if rest.next_if(|token| token.is_word(sql, "IS")).is_some() {
        (rest.next()?.is_word(sql, "NULL") && rest.next()?.is_word(sql, "OR")).then_some(())?;
        let again = rest.next()?.name(sql)?.into_owned();
        again.eq_ignore_ascii_case(&column).then_some(())?;
        column = again;
    }
    rest.next()?.is_word(sql, "IN").then_some(())?;
    is(rest.next(), Kind::Open).then_some(())?;
    let mut values = Vec::new();
    loop {
        let value = rest.next()?;
        values.push(match value.kind {
            Kind::Text => Value::from(value.name(sql)?),
            Kind::Number => Value::Number(serde_json::from_str(value.text(sql)).ok()?),
            _ => return None,
        });
        match rest.next()?.kind {
            Kind::Comma => {}
            Kind::Close => break,
            _ => return None,
        }
    }
    is(rest.next(), Kind::Close).then_some((column, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_values_is_read_and_nothing_else_is_one() {
        let listed = listed_values(
            "CREATE TABLE t (
                state TEXT NOT NULL CHECK (state IN ('open', 'it''s')), -- CHECK (a IN (1))
                \"Prio\" INTEGER CHECK(\"Prio\" IS NULL OR \"Prio\" IN (1, 2)),
                a INT CHECK (a > 0), b INT CHECK (b IN (SELECT 1)), c INT CHECK (c IN (1) AND c > 0),
                d INT CHECK (d IN (1, -2)), e TEXT DEFAULT 'CHECK (e IN (1))',
                kind TEXT, CHECK (kind in ('x')), CHECK (lower(kind) IN ('y')))",
        );
        let expected = [("state", r#"["open","it's"]"#), ("Prio", "[1,2]"), ("kind", r#"["x"]"#)];
        assert_eq!(listed, expected.map(|(column, values)| (column.to_owned(), values.to_owned())));
        for sql in ["", "CHECK", "CHECK (", "CHECK (a IN", "CHECK (a IN (", "CHECK (a IN (1", "CHECK (a IN (1)"] {
            assert_eq!(listed_values(sql), [], "{sql}");
        }
    }
}

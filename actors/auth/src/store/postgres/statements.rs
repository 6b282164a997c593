//! Statements of the store in PostgreSQL: its own placeholders and values.

use rusqlite::types::Value;

use crate::store::sql::failure::broken;
use crate::store::sql::params::Params;
use portico_core::error::Result;
use portico_sources::postgres::blocking;

pub(crate) fn ours(value: blocking::Value) -> Value {
    match value {
        blocking::Value::Null => Value::Null,
        blocking::Value::Integer(value) => Value::Integer(value),
        blocking::Value::Text(value) => Value::Text(value),
        blocking::Value::Octets(value) => Value::Blob(value),
    }
}

/// `sql` with PostgreSQL's placeholders, and the values in their order. Texts in quotation marks are
/// left alone.
pub(crate) fn numbered(sql: &str, params: Params<'_>) -> Result<(String, Vec<blocking::Value>)> {
    let mut text = String::with_capacity(sql.len() + 8);
    let mut letters = sql.char_indices().peekable();
    let mut in_quotes = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => in_quotes = !in_quotes,
            // A cast.
            ':' if letters.next_if(|(_, next)| *next == ':').is_some() => text.push(':'),
            '?' if !in_quotes => {
                text.push('$');
                continue;
            }
            ':' if !in_quotes && letters.peek().is_some_and(|(_, next)| next.is_ascii_lowercase()) => {
                while letters.next_if(|(_, next)| next.is_ascii_alphanumeric() || *next == '_').is_some() {}
                let end = letters.peek().map_or(sql.len(), |(end, _)| *end);
                let name = sql.get(at..end).unwrap_or_default();
                let number = params.iter().position(|(known, _)| *known == Some(name));
                let number = number.ok_or_else(|| broken(format!("{name} has no value")))?;
                text.push_str(&format!("${}", number + 1));
                continue;
            }
            _ => {}
        }
        text.push(letter);
    }
    let values = params.into_iter().map(|(_, value)| theirs(value)).collect::<Result<_>>()?;
    Ok((text, values))
}

fn theirs(value: Value) -> Result<blocking::Value> {
    Ok(match value {
        Value::Null => blocking::Value::Null,
        Value::Integer(value) => blocking::Value::Integer(value),
        Value::Text(value) => blocking::Value::Text(value),
        Value::Blob(value) => blocking::Value::Octets(value),
        Value::Real(_) => return Err(broken("the store has no fractions")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_and_texts_left_alone() {
        let params = || vec![(Some(":id"), Value::Integer(7)), (Some(":now_at"), Value::Null)];
        let (sql, values) =
            numbered("SET a = :now_at, b = 'it''s :id?' WHERE id=:id AND c::text = :id", params()).unwrap();
        assert_eq!(sql, "SET a = $2, b = 'it''s :id?' WHERE id=$1 AND c::text = $1");
        assert_eq!(values, [blocking::Value::Integer(7), blocking::Value::Null]);
        let (sql, _) = numbered("a = ?1 AND b > ?2 OR c = ?1", vec![(None, Value::Null), (None, Value::Null)]).unwrap();
        assert_eq!(sql, "a = $1 AND b > $2 OR c = $1");
        assert!(numbered("a = :unknown", params()).is_err());
    }
}

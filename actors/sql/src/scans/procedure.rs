//! Parses the name of a procedure that is given in a field of its own, outside of any statement.

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens;
use crate::lexing::token::{Kind, identifier};
use portico_core::error::{Error, Result};

/// Longer names exist nowhere.
const MAX_BYTES: usize = 1_024;

/// Returns the parts of `procedure`, `schema.procedure` or `connection.schema.procedure`, each of them plain,
/// `"quoted"` or `[quoted]`. Plain parts keep their capitals: look for the exact name first, then for its folded
/// form.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is not a name of one to three parts.
pub fn procedure_name(name: &str) -> Result<Vec<String>> {
    let wrong = || {
        Error::invalid("procedure must be a name such as procedure, schema.procedure or connection.schema.procedure")
            .hint("write a name with blanks or signs in it in double quotes, as in schema.\"My Procedure\"")
    };
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_BYTES || name.contains('\0') {
        return Err(wrong());
    }
    let mut parts = Vec::new();
    for (index, token) in tokens(name, Dialect::POSTGRESQL).into_iter().enumerate() {
        let text = token.text(name);
        match (index % 2, token.kind) {
            (0, Kind::Word) => parts.push(text.to_owned()),
            (0, Kind::Name) if closed(text) => parts.push(identifier(text).into_owned()),
            (1, Kind::Dot) if index < 5 => {}
            _ => return Err(wrong()),
        }
    }
    let complete = name.ends_with(|last: char| last != '.') || name.ends_with('"');
    if !complete || parts.len() > 3 || parts.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok(parts)
}

/// Whether a quoted name has its closing quote, and no escapes that only the source understands.
fn closed(name: &str) -> bool {
    // The text between the quotes may contain quotes in pairs only.
    let ends = |quote: char| {
        let inner = name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inner.is_some_and(|inner| inner.matches(quote).count() % 2 == 0)
    };
    ends('"') || ends('`') || (name.starts_with('[') && name.ends_with(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_to_three_parts_in_any_quotes() {
        for (name, parts) in [
            ("refresh", vec!["refresh"]),
            ("Public.GetOrders", vec!["Public", "GetOrders"]),
            (" a.b.c ", vec!["a", "b", "c"]),
            ("\"a\".\"b\".c", vec!["a", "b", "c"]),
            ("[a].[b]", vec!["a", "b"]),
            ("[a b].[c.d]", vec!["a b", "c.d"]),
            ("[a]]b]", vec!["a]b"]),
            ("\"a\"\"b\"", vec!["a\"b"]),
            ("Größe.x", vec!["Größe", "x"]),
        ] {
            assert_eq!(procedure_name(name).unwrap(), parts, "{name}");
        }
    }

    #[test]
    fn anything_else_is_refused_by_the_fields_name() {
        for name in [
            "", " ", ".", "a.", ".a", "a..b", "a.b.c.d", "a b", "a()", "a;b", "\"a", "\"\"", "[]", "[a", "a.[b", "1a",
            "a--b", "'a'", "a\0b", "@a", "a. b", "\"a\"\"", "u&\"a\"",
        ] {
            let error = procedure_name(name).unwrap_err();
            assert_eq!(error.kind, portico_core::error::Kind::Invalid, "{name}");
            assert!(error.message.contains("procedure"), "{name}");
        }
        assert!(procedure_name(&"a".repeat(2_000)).is_err());
    }
}

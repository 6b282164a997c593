//! Recognises names that every dialect reads alike, quoted or not.

use std::borrow::Cow;

use squawk_syntax::quote::quote_quoted_ident;

/// Words that `SQLite` alone does not accept as a name (tokens of its parser without a fallback), and three words
/// that start something else where a table may be.
const RESERVED: [&str; 16] = [
    "add",
    "alter",
    "autoincrement",
    "commit",
    "delete",
    "drop",
    "escape",
    "index",
    "insert",
    "nothing",
    "pivot",
    "set",
    "transaction",
    "unnest",
    "unpivot",
    "update",
];

/// Returns true if `text` is a lower-case name that needs no quotes in any position: it is not a keyword with a
/// meaning where a name is allowed.
pub fn is_plain_name(text: &str) -> bool {
    let letter = |octet: u8| octet.is_ascii_lowercase() || octet == b'_';
    text.bytes().next().is_some_and(letter)
        && text.bytes().all(|octet| letter(octet) || octet.is_ascii_digit())
        && quote_quoted_ident(text) == text
        && !RESERVED.contains(&text)
}

/// A name as it must stand in a statement.
pub fn quoted(name: &str) -> Cow<'_, str> {
    if is_plain_name(name) { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

#[cfg(test)]
mod tests {
    use crate::{is_plain_name, quoted};

    #[test]
    fn a_plain_name_is_no_keyword() {
        for name in ["orders", "_1", "by_region", "name", "main", "type", "x9"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in
            ["", "1a", "Orders", "a-b", "a b", "é", "order", "select", "left", "values", "time", "insert", "user"]
        {
            assert!(!is_plain_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_stays_within_its_quotes() {
        assert_eq!(quoted("orders").as_ref(), "orders");
        assert_eq!(quoted("order").as_ref(), "\"order\"");
        assert_eq!(quoted("a\"B").as_ref(), "\"a\"\"B\"");
    }
}

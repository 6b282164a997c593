//! Names that are read alike by every dialect, in quotes or without.

use squawk_syntax::quote::quote_quoted_ident;

/// What `SQLite` alone does not take for a name (its parser's tokens that fall back to none), and three words that begin
/// something else where a table may stand.
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

/// Whether `text` is a name in small letters that needs no quotes anywhere: it is no keyword that stands for something
/// where a name may stand.
pub fn is_plain_name(text: &str) -> bool {
    let letter = |octet: u8| octet.is_ascii_lowercase() || octet == b'_';
    text.bytes().next().is_some_and(letter)
        && text.bytes().all(|octet| letter(octet) || octet.is_ascii_digit())
        && quote_quoted_ident(text) == text
        && !RESERVED.contains(&text)
}

#[cfg(test)]
mod tests {
    use crate::is_plain_name;

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
}

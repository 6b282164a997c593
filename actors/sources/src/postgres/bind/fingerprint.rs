//! The fingerprint of a statement, a cache key for what was found out about it: its text with plain literals
//! masked. Only a text that cannot be read in two ways is masked; any other is kept in full. A literal stays if the
//! grammar itself depends on its value.

use std::hash::Hasher;

use portico_core::keyed::KeyedHash;
use portico_sql::closing_quote;
use tokio_postgres::types::Oid;

/// The fingerprint by which the verdict on a statement is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueryFingerprint(KeyedHash);

impl QueryFingerprint {
    /// The shape of `text`, where `terms` say all else that decides about it.
    pub(crate) fn new(text: &str, terms: &[&str]) -> Self {
        let masked = masked(text.as_bytes());
        Self::hashed(terms, |hasher| {
            hasher.write_u8(masked.is_some().into());
            hasher.write(masked.as_deref().unwrap_or(text.as_bytes()));
        })
    }

    /// Makes a fingerprint in which every character counts: `terms` and the types of the values.
    pub(crate) fn exact(terms: &[&str], types: impl Iterator<Item = Oid>) -> Self {
        Self::hashed(terms, |hasher| types.for_each(|type_| hasher.write_u32(type_)))
    }

    /// Returns a number for use in a hash table; different fingerprints may share it.
    pub(crate) const fn number(&self) -> u64 {
        self.0.number()
    }

    fn hashed(terms: &[&str], rest: impl FnOnce(&mut dyn Hasher)) -> Self {
        Self(KeyedHash::new(|hasher| {
            for term in terms {
                hasher.write_usize(term.len());
                hasher.write(term.as_bytes());
            }
            rest(hasher);
        }))
    }
}

/// Words behind which the grammar itself looks into a literal: the character that escapes in names, and a precision
/// that decides which type is meant.
const LOOKED_INTO: [&[u8]; 2] = [b"UESCAPE", b"FLOAT"];
/// Words behind which a number may be the place of a column.
const PLACES: [&[u8]; 3] = [b"DISTINCT", b"GROUP", b"ORDER"];
/// Words behind which it is a value even then.
const VALUES: [&[u8]; 5] = [b"AND", b"BETWEEN", b"LIMIT", b"OFFSET", b"OR"];

/// The token in front, ignoring white space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A sign or a word behind which a number is a value.
    Value,
    Other,
}

/// Returns the text with a mark in place of each plain literal. Returns `None` if comments, escapes or other quotes
/// make the end of a literal ambiguous, or if the grammar depends on literals.
fn masked(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut at, mut names_places, mut in_front) = (0, false, Before::Other);
    while let Some(&byte) = text.get(at) {
        let next = text.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
        let continues = before.is_some_and(|before| is_name(before) || before == b'$');
        let mut now = Before::Other;
        let start = at;
        match byte {
            b'\\' | b'\0' => return None,
            b'-' if next == Some(b'-') => return None,
            b'/' if next == Some(b'*') => return None,
            // `$1` is a parameter; anything else a quote.
            b'$' if !next.is_some_and(|next| next.is_ascii_digit()) || continues => return None,
            // U&"…"
            b'"' if before == Some(b'&') => return None,
            b'"' => at = closing_quote(text, at, b'"')?,
            b'\'' => {
                at = closing_quote(text, at, b'\'')?;
                // A literal with a prefix is of a kind of its own: E'', B'', U&''.
                if continues || before == Some(b'&') {
                    return None;
                }
                out.extend_from_slice(b"'?'");
                in_front = now;
                continue;
            }
            b'0'..=b'9' if !continues && before != Some(b'.') => {
                at = text.iter().skip(at).position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |n| at + n);
                let is_whole = !text.get(at).is_some_and(|after| is_name(*after) || *after == b'.');
                let is_value = is_whole && (!names_places || in_front == Before::Value);
                if let Some(width) = width(text.get(start..at)?).filter(|_| is_value) {
                    out.extend_from_slice(width);
                    in_front = now;
                    continue;
                }
            }
            byte if is_name(byte) && !continues => {
                at = text.iter().skip(at).position(|byte| !is_name(*byte)).map_or(text.len(), |n| at + n);
                let word = text.get(start..at)?;
                let is = |words: &[&[u8]]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
                if is(&LOOKED_INTO) {
                    return None;
                }
                names_places |= is(&PLACES);
                now = if is(&VALUES) { Before::Value } else { Before::Other };
            }
            byte => {
                at += 1;
                if b"=<>+-*/%!~|^".contains(&byte) {
                    now = Before::Value;
                } else if byte.is_ascii_whitespace() {
                    now = in_front;
                }
            }
        }
        in_front = now;
        out.extend_from_slice(text.get(start..at)?);
    }
    Some(out)
}

/// Returns the mark for a whole number: its width decides its type, and so which functions are called. Returns
/// `None` at the limits, where a sign in front decides the width.
fn width(digits: &[u8]) -> Option<&'static [u8]> {
    const FOUR: u128 = i32::MAX as u128;
    const EIGHT: u128 = i64::MAX as u128;
    match std::str::from_utf8(digits).ok()?.parse::<u128>() {
        Ok(0..=FOUR) => Some(b"?4"),
        Ok(value) if value == FOUR + 1 || value == EIGHT + 1 => None,
        Ok(0..=EIGHT) => Some(b"?8"),
        _ => Some(b"?n"),
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_literals_are_taken_out() {
        let masked = |text: &str| masked(text.as_bytes()).map(|masked| String::from_utf8(masked).unwrap());
        for (text, expected) in [
            ("SELECT 1, 'a''b' FROM t WHERE x = $1", Some("SELECT ?4, '?' FROM t WHERE x = $1")),
            ("SELECT 3000000000, 99999999999999999999", Some("SELECT ?8, ?n")),
            ("SELECT 1.5, 1e3, 0x1F, 1_000, a1, \"x 1\"", Some("SELECT 1.5, 1e3, 0x1F, 1_000, a1, \"x 1\"")),
            ("SELECT \"a'b\", 'x'", Some("SELECT \"a'b\", '?'")),
            // The server finds the width behind the sign.
            ("SELECT -2147483647, -2147483648, -2147483649", Some("SELECT -?4, -2147483648, -?8")),
            ("SELECT 9223372036854775807, 9223372036854775808", Some("SELECT ?8, 9223372036854775808")),
            // Numbers of columns, whose types matter.
            ("SELECT 1 FROM t WHERE a = 2 ORDER BY 3, 4", Some("SELECT ?4 FROM t WHERE a = ?4 ORDER BY 3, 4")),
            (
                "SELECT a FROM t group by 1 having a > 2 limit 3",
                Some("SELECT a FROM t group by 1 having a > ?4 limit ?4"),
            ),
            ("SELECT DISTINCT ON (1) a", Some("SELECT DISTINCT ON (1) a")),
            ("SELECT x::float(1)", None),
            ("SELECT x::Float  (53)", None),
            ("SELECT * FROM U&\"a#0061\" UESCAPE '#'", None),
            ("SELECT * FROM a UESCAPE '#'", None),
            ("SELECT U&\"a\"", None),
            ("SELECT 'a' -- b", None),
            ("SELECT 1 /* 2 */", None),
            ("SELECT E'a'", None),
            ("SELECT U&'a'", None),
            ("SELECT $$a$$", None),
            ("SELECT $a$a$a$", None),
            ("SELECT '\\'", None),
            ("SELECT 'open", None),
            ("SELECT \"open", None),
        ] {
            assert_eq!(masked(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn terms_and_texts_do_not_run_into_each_other() {
        assert_ne!(QueryFingerprint::new("c", &["a", "b"]), QueryFingerprint::new("c", &["ab", ""]));
        assert_eq!(QueryFingerprint::new("SELECT 1", &["a"]), QueryFingerprint::new("SELECT 2", &["a"]));
        assert_ne!(QueryFingerprint::new("SELECT 1", &["a"]), QueryFingerprint::new("SELECT 1", &["b"]));
    }
}

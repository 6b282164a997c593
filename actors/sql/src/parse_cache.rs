//! Statements that were understood lately. Another one of the same text but for its plain literals, each as long as in
//! the first, is understood alike, and everything in it stands in the same place.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use portico_core::error::Result;
use portico_core::keyed::KeyedHash;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::dialect::Dialect;
use crate::lexing::placeholder::ParameterNames;
use crate::lexing::token::{closing_quote, continues_word};
use crate::parsed::names::Naming;
use crate::rewrite;
use crate::statement::{self, Statement};

/// Octets that are kept for all statements together, about.
const MOST_OCTETS: u64 = 4 << 20;
/// Octets that a statement is kept with beside its text and its names, about.
const OCTETS: usize = 512;
/// How statements begin of which no literal decides what they do: that of `EXPLAIN (ANALYZE 0)` does.
const VERBS: [&str; 8] = ["DELETE", "INSERT", "MERGE", "SELECT", "TABLE", "UPDATE", "VALUES", "WITH"];
/// Octets of a text that is worth remembering: longer ones are written by programs, each but once.
const LONGEST: usize = 4 << 10;

static UNDERSTOOD: LazyLock<Cache<KeyedHash, Arc<Understood>, Octets>> = LazyLock::new(|| {
    let statements = usize::try_from(MOST_OCTETS).unwrap_or(usize::MAX) / (2 * OCTETS);
    Cache::with_weighter(statements, MOST_OCTETS, Octets)
});

/// A statement, and where it stood in its text.
struct Understood {
    statement: Statement,
    range: Range<usize>,
}

#[derive(Clone)]
struct Octets;

impl Weighter<KeyedHash, Arc<Understood>> for Octets {
    fn weight(&self, _: &KeyedHash, understood: &Arc<Understood>) -> u64 {
        let Statement { text, names, edits, .. } = &understood.statement;
        (OCTETS + text.len() + 64 * (2 * names.len() + edits.len())) as u64
    }
}

/// The only statement of `text`, where one like it was understood lately on the same `connection`.
pub fn recall(text: &str, dialect: Dialect, connection: &str, given: &ParameterNames) -> Option<Statement> {
    let known = UNDERSTOOD.get(&key(text, dialect, connection, given)?)?;
    let mut statement = known.statement.clone();
    statement.text = rewrite::apply(text, known.range.clone(), 0, &statement.edits).0;
    Some(statement)
}

/// [`statements`](crate::statements) where the names of the values are known that are `given` for its placeholders, without
/// `@`: in `id<@most` PostgreSQL has an operator `<@`, unless there is a value for `@most`. [`recall`] finds what was read
/// here.
///
/// # Errors
/// As [`statements`](crate::statements).
pub fn statements_with(
    text: &str,
    dialect: Dialect,
    naming: Naming<'_>,
    given: &ParameterNames,
) -> Result<Vec<Statement>> {
    let read = statement::read(text, dialect, Some(naming), given)?;
    if let ([statement], Some(range)) = (&*read.statements, read.alone)
        && VERBS.contains(&statement.verb.as_str())
        && let Some(key) = key(text, dialect, naming.connection, given)
    {
        UNDERSTOOD.insert(key, Arc::new(Understood { statement: statement.clone(), range }));
    }
    Ok(read.statements)
}

fn key(text: &str, dialect: Dialect, connection: &str, given: &ParameterNames) -> Option<KeyedHash> {
    (text.len() <= LONGEST).then(|| {
        let mut given: Vec<&str> = given.iter().map(String::as_str).collect();
        given.sort_unstable();
        KeyedHash::new(|hasher| {
            dialect.hash(hasher);
            hasher.write_usize(given.len());
            for part in [connection].into_iter().chain(given) {
                hasher.write_usize(part.len());
                hasher.write(part.as_bytes());
            }
            hasher.write(&masked(text.as_bytes(), dialect).unwrap_or(Cow::Borrowed(text.as_bytes())));
        })
    })
}

/// `text` with one digit in the place of each of its numbers', and one letter in the place of each of its literals';
/// `None` where somebody could take one of these for anything else.
fn masked(text: &[u8], dialect: Dialect) -> Option<Cow<'_, [u8]>> {
    // Names in quotes, comments, arrays and parameters are left alone, and with them all of the text.
    let other = |byte: &u8| b"\"`[$\\".contains(byte) || (*byte == b'\'' && dialect.mixes_quotes);
    if text.iter().any(other) || text.windows(2).any(|two| matches!(two, b"--" | b"/*")) {
        return None;
    }
    let mut masked = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(start) = text.iter().skip(at).position(|byte| matches!(byte, b'\'' | b'0'..=b'9')) {
        let start = at + start;
        let before = start.checked_sub(1).and_then(|before| text.get(before)).copied();
        let goes_on = |byte: u8| continues_word(byte) || byte == b'.';
        if text[start] == b'\'' {
            // With a letter in front it is of a kind of its own: E'', B'', U&''.
            if before.is_some_and(|before| continues_word(before) || before == b'&') {
                return None;
            }
            at = closing_quote(text, start, b'\'')?;
            let is_letter = |octet: &&mut u8| octet.is_ascii() && **octet != b'\'';
            masked.to_mut()[start..at].iter_mut().filter(is_letter).for_each(|octet| *octet = b'a');
            continue;
        }
        at =
            text.iter().skip(start).position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |length| start + length);
        let is_more = |before: u8| goes_on(before) || b"@:?#".contains(&before);
        if !text.get(at).copied().is_some_and(goes_on) && !before.is_some_and(is_more) {
            masked.to_mut()[start..at].fill(b'1');
        }
    }
    Some(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_literals_alone_are_taken_out() {
        for (text, expected) in [
            ("SELECT a1 FROM t WHERE b = 4711", Some("SELECT a1 FROM t WHERE b = 1111")),
            ("SELECT 20,-3 LIMIT (5)", Some("SELECT 11,-1 LIMIT (1)")),
            ("SELECT 2.5, 1e9, 0x12, @2, :3, 7ä", Some("SELECT 2.5, 1e9, 0x12, @2, :3, 7ä")),
            ("SELECT 'it''s 7ä', 7, ''", Some("SELECT 'aa''aaaä', 1, ''")),
            ("SELECT E'7', 7", None),
            ("SELECT U&'7', 7", None),
            ("SELECT 'open", None),
            ("SELECT '7\0'", None),
            ("SELECT 7 -- 7", None),
            ("SELECT a[7]", None),
            ("SELECT \"a\", 7", None),
        ] {
            let masked = masked(text.as_bytes(), Dialect::POSTGRESQL);
            assert_eq!(masked.as_deref(), expected.map(str::as_bytes), "{text}");
        }
        assert_eq!(masked(b"SELECT 'a'", Dialect::SQLITE), None);
    }

    #[test]
    fn what_a_literal_decides_about_is_not_remembered() {
        let recalled = |one: &str, other: &str| {
            let (naming, given) = (Naming { connection: "here", others: &[] }, ParameterNames::new());
            statements_with(one, Dialect::POSTGRESQL, naming, &given).unwrap();
            recall(other, Dialect::POSTGRESQL, "here", &given)
        };
        let one = "DELETE FROM t WHERE a = 12 AND b = 'x'";
        let other = "DELETE FROM t WHERE a = 34 AND b = 'y'";
        assert_eq!(recalled(one, other).map(|statement| statement.text).as_deref(), Some(other));
        for (one, other) in [
            ("EXPLAIN (ANALYZE 0) DELETE FROM t", "EXPLAIN (ANALYZE 1) DELETE FROM t"),
            ("EXPLAIN (ANALYZE 'off') DELETE FROM t", "EXPLAIN (ANALYZE 'yes') DELETE FROM t"),
            ("1 FROM t", "2 FROM t"),
        ] {
            assert_eq!(recalled(one, other), None, "{other}");
        }
    }
}

//! Statements that were understood lately. Another one of the same text but for the digits of its numbers is understood
//! alike, and everything in it stands in the same place.

use std::borrow::Cow;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use portico_core::error::Result;
use portico_core::keyed::KeyedHash;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::dialect::Dialect;
use crate::lexing::placeholder::Given;
use crate::lexing::token::continues_word;
use crate::parsed::names::Naming;
use crate::rewrite;
use crate::statement::{self, Statement};

/// Octets that are kept for all statements together, about.
const MOST_OCTETS: u64 = 4 << 20;
/// Octets that a statement is kept with beside its text and its names, about.
const OCTETS: usize = 512;
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
pub fn recall(text: &str, dialect: Dialect, connection: &str, given: &Given) -> Option<Statement> {
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
pub fn statements_with(text: &str, dialect: Dialect, naming: Naming<'_>, given: &Given) -> Result<Vec<Statement>> {
    let read = statement::read(text, dialect, Some(naming), given)?;
    if let ([statement], Some(range)) = (&*read.statements, read.alone)
        && let Some(key) = key(text, dialect, naming.connection, given)
    {
        UNDERSTOOD.insert(key, Arc::new(Understood { statement: statement.clone(), range }));
    }
    Ok(read.statements)
}

fn key(text: &str, dialect: Dialect, connection: &str, given: &Given) -> Option<KeyedHash> {
    (text.len() <= LONGEST).then(|| {
        let mut given: Vec<&str> = given.iter().map(String::as_str).collect();
        given.sort_unstable();
        KeyedHash::of(|hasher| {
            hasher.write_usize(given.len());
            for part in [dialect.name, connection].into_iter().chain(given) {
                hasher.write_usize(part.len());
                hasher.write(part.as_bytes());
            }
            hasher.write(&without_numbers(text));
        })
    })
}

/// `text` with a 1 in the place of each digit of its numbers, where nobody can take these for anything else.
fn without_numbers(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    // What quotes, comments, arrays and parameters hold is left alone, and with it all of the text.
    let is_plain = |byte: &u8| !b"'\"`[$\\".contains(byte);
    let comments = |two: &[u8]| matches!(two, b"--" | b"/*");
    if !bytes.iter().all(is_plain) || bytes.windows(2).any(comments) {
        return Cow::Borrowed(bytes);
    }
    let mut masked = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(start) = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|found| at + found) {
        let length = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
        at = start + length;
        let goes_on = |byte: &u8| continues_word(*byte) || *byte == b'.';
        let begun = start.checked_sub(1).and_then(|before| bytes.get(before));
        if !bytes.get(at).is_some_and(goes_on) && !begun.is_some_and(|byte| goes_on(byte) || b"@:?#".contains(byte)) {
            masked.to_mut()[start..at].fill(b'1');
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_alone_are_taken_out() {
        for (text, masked) in [
            ("SELECT a1 FROM t WHERE b = 4711", "SELECT a1 FROM t WHERE b = 1111"),
            ("SELECT 20,-3 LIMIT (5)", "SELECT 11,-1 LIMIT (1)"),
            ("SELECT 2.5, 1e9, 0x12, @2, :3, 7ä", "SELECT 2.5, 1e9, 0x12, @2, :3, 7ä"),
            ("SELECT '7', 7", "SELECT '7', 7"),
            ("SELECT 7 -- 7", "SELECT 7 -- 7"),
            ("SELECT a[7]", "SELECT a[7]"),
        ] {
            assert_eq!(std::str::from_utf8(&without_numbers(text)).unwrap(), masked);
        }
    }
}

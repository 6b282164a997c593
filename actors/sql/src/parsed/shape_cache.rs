//! Cache of the parser's results. Statements have the same tree if they differ only in literals, quoted names,
//! comments and the length of blanks: the parser sees nothing else (`mask.rs`), and cached results refer to words
//! by number. What literals mean is decided elsewhere.

use std::hash::Hasher;
use std::sync::{Arc, LazyLock};

use portico_core::keyed::KeyedHash;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::mask::mask;
use super::names::NameReference;
use super::tree::{self, Facts};
use crate::dialect::Dialect;
use crate::lexing::token::{Kind, Token, words};

/// Octets that are kept for all shapes together, about.
const MOST_OCTETS: u64 = 4 << 20;
/// Octets that a shape's key is kept with beside its references, about.
const OCTETS: usize = 128;
/// Tokens of a statement that is worth remembering: longer ones are written by programs, each but once.
const MOST_TOKENS: usize = 8_192;

static READ: LazyLock<Cache<KeyedHash, Option<Arc<Facts>>, Octets>> = LazyLock::new(|| {
    let shapes = usize::try_from(MOST_OCTETS).unwrap_or(usize::MAX) / (2 * OCTETS);
    Cache::with_weighter(shapes, MOST_OCTETS, Octets)
});

#[derive(Clone)]
struct Octets;

impl Weighter<KeyedHash, Option<Arc<Facts>>> for Octets {
    fn weight(&self, _: &KeyedHash, facts: &Option<Arc<Facts>>) -> u64 {
        let references = facts.as_ref().map_or(0, |facts| facts.references.len());
        (OCTETS + references * size_of::<NameReference>()) as u64
    }
}

/// Returns the parser's result for a statement by its `tokens`; `None` if the parser does not understand all of it.
/// It is given the shape, so that the result holds for every statement of this shape.
pub(crate) fn facts(text: &str, tokens: &[Token], dialect: Dialect) -> Option<Arc<Facts>> {
    let (shape, tokens) = shape(text, tokens);
    if tokens.len() > MOST_TOKENS {
        return parsed(&shape, &tokens, dialect);
    }
    let key = key(&shape, &tokens, dialect);
    if let Some(facts) = READ.get(&key) {
        return facts;
    }
    let facts = parsed(&shape, &tokens, dialect);
    READ.insert(key, facts.clone());
    facts
}

fn parsed(text: &str, tokens: &[Token], dialect: Dialect) -> Option<Arc<Facts>> {
    let start = tokens.first().map_or(0, |first| first.start);
    tree::read(&mask(text, tokens, dialect), &words(tokens), start).map(Arc::new)
}

/// Returns the cache key of a shape.
fn key(shape: &str, tokens: &[Token], dialect: Dialect) -> KeyedHash {
    KeyedHash::new(|hasher| {
        hasher.write_u8(u8::from(dialect.named_parameters) | u8::from(dialect.replaces) << 1);
        // The end of a token and its kind do not follow from the text alone: both in one number, since each number
        // is one call.
        for token in tokens {
            hasher.write_usize(token.end << u8::BITS | usize::from(token.kind as u8));
        }
        hasher.write(shape.as_bytes());
    })
}

/// A statement of the same words with the same literal in the place of each, one name for all that are in quotes,
/// and blanks of one character: as long as each is one to the parser.
fn shape(text: &str, tokens: &[Token]) -> (String, Vec<Token>) {
    let (mut shape, mut shaped) = (String::with_capacity(text.len()), Vec::with_capacity(tokens.len()));
    for (at, token) in tokens.iter().enumerate() {
        let own = token.text(text);
        let alone = |other: Option<&Token>| {
            other.is_none_or(|other| {
                matches!(
                    other.kind,
                    Kind::Blank | Kind::Open | Kind::Close | Kind::Comma | Kind::Semicolon | Kind::Operator
                )
            })
        };
        let start = shape.len();
        shape.push_str(match token.kind {
            Kind::Blank => " ",
            // Shorter ones are open or empty, and shown as something else.
            Kind::Text if own.len() > 1 => "'a'",
            Kind::Name if own.len() > 2 => "\"a\"",
            Kind::Number
                if own.bytes().all(|digit| digit.is_ascii_digit())
                    && alone(at.checked_sub(1).and_then(|before| tokens.get(before)))
                    && alone(tokens.get(at + 1)) =>
            {
                "1"
            }
            _ => own,
        });
        shaped.push(Token { start, end: shape.len(), ..*token });
    }
    (shape, shaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexing::lexer;

    fn shape_of(text: &str) -> String {
        shape(text, &lexer::tokens(text, Dialect::POSTGRESQL)).0
    }

    #[test]
    fn literals_names_in_quotes_and_blanks_make_no_difference() {
        for (one, other) in [
            ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t  WHERE b =   2345"),
            ("SELECT 'a'", "SELECT 'b'' c'"),
            ("SELECT \"a\"/* b */, 1", "SELECT \"b c\" , 2"),
        ] {
            assert_eq!(shape_of(one), shape_of(other), "{one}");
        }
        for (one, other) in [
            ("SELECT a", "SELECT b"),
            ("SELECT 1", "SELECT 1.5"),
            ("SELECT a.b", "SELECT a . b"),
            ("SELECT a-b", "SELECT a - b"),
            ("SELECT 1", "SELECT '1'"),
            ("SELECT \"\"", "SELECT \"a\""),
        ] {
            assert_ne!(shape_of(one), shape_of(other), "{one}");
        }
    }

    #[test]
    fn what_one_statement_makes_of_its_shape_is_true_of_another() {
        let read = |text: &str| facts(text, &lexer::tokens(text, Dialect::POSTGRESQL), Dialect::POSTGRESQL);
        for (one, other) in [
            ("SELECT f(\"\") FROM t", "SELECT f(\"a\") FROM t"),
            ("SELECT f('') FROM t", "SELECT f('a') FROM t"),
            ("SELECT f([]) FROM t", "SELECT f([a]) FROM t"),
        ] {
            let first = read(one);
            assert!(read(other).is_some(), "{other}, behind {one}: {first:?}");
        }
    }
}

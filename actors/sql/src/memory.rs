//! What the parser said of statements lately. The tree of a statement is that of every other one with the same
//! words but for literals, names in quotes, comments and the length of blanks: the parser is shown nothing else
//! (`mask.rs`), and what is remembered names words by their number. What literals mean is decided elsewhere.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::dialect::Dialect;
use super::mask::mask;
use super::names::Mention;
use super::token::{Kind, Token};
use super::tree::{self, Facts};

/// Octets that are kept for all shapes together, about.
const MOST_OCTETS: u64 = 4 << 20;
/// Octets that a shape is kept with beside its mentions, about.
const OCTETS: usize = 128;
/// Words of a statement that is worth remembering: longer ones are written by programs, each but once.
const MOST_WORDS: usize = 4_096;

/// Keys of this process. Nobody who does not know them can find two statements with one number (`SipHash`).
static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

static READ: LazyLock<Cache<Shape, Option<Arc<Facts>>, Octets>> = LazyLock::new(|| {
    let shapes = usize::try_from(MOST_OCTETS).unwrap_or(usize::MAX) / (2 * OCTETS);
    Cache::with_weighter(shapes, MOST_OCTETS, Octets)
});

/// The words of a statement that the parser distinguishes, and its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape([u64; 2]);

#[derive(Clone)]
struct Octets;

impl Weighter<Shape, Option<Arc<Facts>>> for Octets {
    fn weight(&self, _: &Shape, facts: &Option<Arc<Facts>>) -> u64 {
        let mentions = facts.as_ref().map_or(0, |facts| facts.mentions.len());
        (OCTETS + mentions * size_of::<Mention>()) as u64
    }
}

/// What the parser says of a statement, whose `words` are its `tokens` without blanks; `None` where it does not
/// understand all of it.
pub(super) fn facts(text: &str, tokens: &[Token], words: &[Token], dialect: Dialect) -> Option<Arc<Facts>> {
    if words.len() > MOST_WORDS {
        return parsed(text, tokens, words, dialect);
    }
    let shape = Shape::of(text, tokens, dialect);
    if let Some(facts) = READ.get(&shape) {
        return facts;
    }
    let facts = parsed(text, tokens, words, dialect);
    READ.insert(shape, facts.clone());
    facts
}

/// The same without memory.
pub(super) fn parsed(text: &str, tokens: &[Token], words: &[Token], dialect: Dialect) -> Option<Arc<Facts>> {
    let start = tokens.first().map_or(0, |first| first.start);
    tree::read(&mask(text, tokens, dialect), words, start).map(Arc::new)
}

impl Shape {
    fn of(text: &str, tokens: &[Token], dialect: Dialect) -> Self {
        let octets = signs(text, tokens);
        Self(KEYS.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            hasher.write_u8(u8::from(dialect.named_parameters) | u8::from(dialect.replaces) << 1);
            hasher.write(&octets);
            hasher.finish()
        }))
    }
}

/// What decides what `mask` makes of the tokens, but for lengths that the parser passes over.
fn signs(text: &str, tokens: &[Token]) -> Vec<u8> {
    let mut signs = Vec::with_capacity(text.len() + 2 * tokens.len());
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
        let is_plain = match token.kind {
            Kind::Blank => true,
            // Shorter ones are open, and shown as something else.
            Kind::Text | Kind::Name => own.len() > 1,
            Kind::Number => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                own.bytes().all(|digit| digit.is_ascii_digit()) && alone(before) && alone(tokens.get(at + 1))
            }
            _ => false,
        };
        // No octet of UTF-8: it cannot be taken for one of a word.
        signs.push(0xf8 | u8::from(is_plain));
        signs.push(token.kind as u8);
        if !is_plain {
            signs.extend_from_slice(own.as_bytes());
        }
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer;
    use crate::token::words;

    fn signs_of(text: &str) -> Vec<u8> {
        signs(text, &lexer::tokens(text, Dialect::POSTGRESQL))
    }

    #[test]
    fn literals_names_in_quotes_and_blanks_make_no_difference() {
        for (one, other) in [
            ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t  WHERE b =   2345"),
            ("SELECT 'a'", "SELECT 'b'' c'"),
            ("SELECT \"a\"/* b */, 1", "SELECT \"b c\" , 2"),
        ] {
            assert_eq!(signs_of(one), signs_of(other), "{one}");
        }
        for (one, other) in [
            ("SELECT a", "SELECT b"),
            ("SELECT 1", "SELECT 1.5"),
            ("SELECT a.b", "SELECT a . b"),
            ("SELECT a-b", "SELECT a - b"),
            ("SELECT 1", "SELECT '1'"),
        ] {
            assert_ne!(signs_of(one), signs_of(other), "{one}");
        }
    }

    #[test]
    fn what_is_remembered_names_the_words_of_the_new_text() {
        let (one, other) =
            ("SELECT f('a') FROM a.\"b\" WHERE x = 1", "SELECT f('long text') FROM a.\"c d\" WHERE x = 234");
        for text in [one, other] {
            let tokens = lexer::tokens(text, Dialect::POSTGRESQL);
            let words = words(&tokens);
            let kept = facts(text, &tokens, &words, Dialect::POSTGRESQL).expect("it is understood");
            let fresh = parsed(text, &tokens, &words, Dialect::POSTGRESQL).expect("it is understood");
            assert_eq!(kept, fresh);
        }
    }
}

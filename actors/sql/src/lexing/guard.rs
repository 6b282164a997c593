//! Bounds on what is parsed at all. The parser is recursive: deep nesting would overflow the
//! stack and end the process, so nesting is counted here, from the tokens, before the parse.
//!
//! Measured on a thread of 2 MiB in a debug build: the parser dies at 1,350 nested
//! `= ANY (SELECT …)`, 1,850 nested subqueries, 3,400 nested arrays, 2,700 chained BETWEENs,
//! 6,000 prefix operators, and the tree at 21,000 chained left-associative operators. Nested
//! calls and subqueries cost time with the square of their depth.

use super::token::{Kind, Token, is_operator};
use portico_core::error::{Error, Kind as Failure, Result};

/// Bytes of one text.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Tokens of one text, blanks not counted.
pub(crate) const MAX_TOKENS: usize = 400_000;
/// Characters that the source may read more than once, all times together: it reads 10,000,000 in about 35 ms.
const MAX_STEPS: usize = 10_000_000;
/// Statements of one text.
pub(crate) const MAX_STATEMENTS: usize = 1_000;
/// Brackets and CASEs inside each other.
pub(crate) const MAX_DEPTH: usize = 128;
/// Tokens of one statement that is parsed; a longer one is only scanned.
const PARSED_TOKENS: usize = 50_000;
/// Tokens between a statement's start and any place in it that the parser may recurse over; a
/// longer chain is only scanned.
const PARSED_CHAIN: usize = 1_000;

/// Refuses a text that cannot be sent to a source.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.len() > MAX_BYTES {
        return Err(too_large(format!("query is longer than {MAX_BYTES} bytes")));
    }
    if text.contains('\0') {
        return Err(Error::invalid("query contains a NUL character"));
    }
    Ok(())
}

/// Refuses more tokens than are worth reading, and signs that a source would read for too long.
pub(crate) fn admit_tokens(text: &str, tokens: &[Token]) -> Result<()> {
    let count = tokens.iter().filter(|token| token.kind != Kind::Blank).count();
    if count > MAX_TOKENS {
        return Err(too_large(format!("query has more than {MAX_TOKENS} words and signs")));
    }
    admit_signs(text, tokens)
}

/// Refuses long runs of operator characters. PostgreSQL reads the rest of a run again at each operator and each comment
/// in it (rules `operator` and `xcstart` of its `scan.l`), and checks neither timeouts nor cancel requests meanwhile.
fn admit_signs(text: &str, tokens: &[Token]) -> Result<()> {
    let mut steps = 0;
    let mut read = |start: usize| {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let most = MAX_STEPS.saturating_sub(steps).saturating_add(1);
        steps += rest.iter().take(most).take_while(|octet| is_operator(**octet) || **octet == b'`').count();
        steps <= MAX_STEPS
    };
    let is_read = tokens.iter().all(|token| match token.kind {
        // A run of signs may be as many operators.
        Kind::Operator => (token.start..token.end).all(&mut read),
        // The usual words, which hold no sign.
        Kind::Word | Kind::Number | Kind::Text => true,
        Kind::Open | Kind::Close | Kind::Comma | Kind::Dot | Kind::Semicolon => true,
        Kind::Name if token.text(text).ends_with('"') => true,
        // A comment, closed or not, or a token that only looks like a name here.
        _ => token.text(text).match_indices(['/', '`']).all(|(at, _)| read(token.start + at)),
    });
    if is_read {
        return Ok(());
    }
    Err(Error::invalid("query: its runs of operators and comments would take the source too long to read")
        .hint("write blanks between them"))
}

/// Refuses more statements than one call may run.
pub(crate) fn admit_statements(count: usize) -> Result<()> {
    if count > MAX_STATEMENTS {
        return Err(too_large(format!("query has more than {MAX_STATEMENTS} statements")));
    }
    Ok(())
}

fn too_large(message: String) -> Error {
    Error::new(Failure::TooLarge, message)
}

/// Whether one statement is safe to parse; long ones that nest no deeper than usual are not
/// refused, but only scanned.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when it nests deeper than [`MAX_DEPTH`].
pub(crate) fn parses(text: &str, tokens: &[Token]) -> Result<bool> {
    let mut nesting = Nesting::default();
    for token in tokens.iter().filter(|token| token.kind != Kind::Blank) {
        nesting.pass(*token, text);
        if nesting.outer.len() > MAX_DEPTH {
            return Err(Error::invalid(format!("query nests deeper than {MAX_DEPTH} levels")));
        }
    }
    Ok(nesting.tokens <= PARSED_TOKENS && nesting.longest <= PARSED_CHAIN)
}

/// Returns the error for a statement over several connections that is too long to be parsed.
pub(crate) fn too_long() -> Error {
    too_large(format!(
        "query: a statement over several connections has at most {PARSED_TOKENS} words and signs, \
         and {PARSED_CHAIN} in one chain of operators or set operations"
    ))
    .hint("write IN (…) in place of a chain of OR, or divide the statement")
}

/// One open bracket or CASE.
#[derive(Clone, Copy, Default)]
struct Level {
    bracket: u8,
    /// Tokens since the parser last came back to this level.
    run: usize,
    /// Operators and clauses of the element, which the tree may nest even so.
    element: usize,
    /// Set operations, which go on over commas.
    sets: usize,
}

impl Level {
    const fn weight(self) -> usize {
        self.run + self.element + self.sets
    }
}

#[derive(Default)]
struct Nesting {
    outer: Vec<Level>,
    here: Level,
    /// The weight of the outer levels.
    below: usize,
    tokens: usize,
    longest: usize,
    after_dot: bool,
}

/// Words at which the parser returns to the clause's own level, or nests at most once.
const TURNS: &[&str] = &[
    "AND",
    "BETWEEN",
    "ELSE",
    "FROM",
    "GROUP",
    "HAVING",
    "JOIN",
    "LIMIT",
    "ON",
    "OR",
    "ORDER",
    "RETURNING",
    "SET",
    "THEN",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
];
const SET_OPERATIONS: &[&str] = &["UNION", "INTERSECT", "EXCEPT"];
const CASE: u8 = b'c';

impl Nesting {
    fn pass(&mut self, token: Token, text: &str) {
        // The parser reads a run of operator characters one by one.
        let length = if token.kind == Kind::Operator { token.end - token.start } else { 1 };
        self.tokens += length;
        self.here.run += length;
        let keyword = token.kind == Kind::Word && !self.after_dot;
        self.after_dot = token.kind == Kind::Dot;
        match token.kind {
            Kind::Open => self.enter(if token.text(text) == "[" { b'[' } else { b'(' }),
            Kind::Close => self.leave(if token.text(text) == "]" { b'[' } else { b'(' }),
            // In a body of statements each one begins anew.
            Kind::Comma | Kind::Semicolon => {
                self.here.run = 0;
                self.here.element = 0;
            }
            Kind::Word if !keyword => {}
            Kind::Word if token.is_word(text, "CASE") => self.enter(CASE),
            Kind::Word if token.is_word(text, "END") => self.leave(CASE),
            Kind::Word if token.is_any(text, SET_OPERATIONS) => {
                self.here.sets += 1;
                self.here.run = 0;
            }
            Kind::Word if token.is_any(text, TURNS) => {
                self.here.element += 1;
                self.here.run = 0;
            }
            _ => {}
        }
        self.longest = self.longest.max(self.below + self.here.weight());
    }

    fn enter(&mut self, bracket: u8) {
        self.below += self.here.weight();
        self.outer.push(std::mem::replace(&mut self.here, Level { bracket, ..Level::default() }));
    }

    /// Ends the innermost level of this kind, with all levels open in it. A CASE ends only if it is the innermost;
    /// a closing token that matches no level ends nothing.
    fn leave(&mut self, bracket: u8) {
        let mut open = std::iter::once(&self.here).chain(self.outer.iter().rev()).map(|level| level.bracket);
        let levels = if bracket == CASE {
            usize::from(self.here.bracket == CASE)
        } else {
            open.position(|other| other == bracket).map_or(0, |inner| inner + 1)
        };
        for _ in 0..levels {
            if let Some(outer) = self.outer.pop() {
                self.below -= outer.weight();
                self.here = outer;
            }
        }
    }
}

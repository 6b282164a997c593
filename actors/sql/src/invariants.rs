//! Invariants that hold for every text, in one function, so that the property tests and the fuzz target
//! (`fuzz/fuzz_targets/sql.rs`) assert the same. Compiled only for these.

use crate::lexing::lexer::{tokens, tokens_at_source};
use crate::lexing::token::{Kind, Token, words};
use crate::lexing::{guard, split};
use crate::parsed::{mask, shape, shape_cache, tree};
use crate::statement::reading;
use crate::{Class, Redact, procedure_name, redacted};
use crate::{Dialect, Naming, Statement, catalogs, statements};
use portico_core::error::Kind as Failure;

/// The connection that every text is read for, and two others.
pub const NAMING: Naming<'static> = Naming { connection: "sales", others: &["crm", "Billing"] };

/// Runs `text` through every entry point, in both dialects.
///
/// # Panics
/// If an invariant does not hold; the message says which.
pub fn check(text: &str) {
    let found = catalogs(text).err();
    assert!(found.is_none_or(|error| error.kind != Failure::Internal), "the names of {text:?} are our own fault");
    let named = procedure_name(text).err();
    assert!(named.is_none_or(|error| error.kind == Failure::Invalid), "a procedure's name {text:?}");
    for dialect in [Dialect::POSTGRESQL, Dialect::SQLITE] {
        check_in(text, dialect);
    }
}

/// [`check`] in one dialect.
pub fn check_in(text: &str, dialect: Dialect) {
    let words = tokens(text, dialect);
    cover(text, &words, dialect);
    for redact in [Redact::Literals, Redact::Secrets] {
        let _ = redacted(text, &[dialect], redact);
    }
    let all = match statements(text, dialect, NAMING) {
        Ok(all) => all,
        Err(error) => {
            assert_ne!(error.kind, Failure::Internal, "{text:?} is refused as our own fault");
            return;
        }
    };
    let parts = split::split(text, &words, dialect);
    assert_eq!(parts.len(), all.len(), "each part of {text:?} is one statement");
    left_out(text, &parts, dialect);
    let own: Vec<&str> = parts.iter().map(|part| source(text, part)).collect();
    joined(&own, dialect, tokens);
    let written: Vec<&str> = all.iter().map(|statement| statement.text.as_str()).collect();
    joined(&written, dialect, tokens_at_source);
    for (part, statement) in parts.iter().zip(&all) {
        rewritten(text, part, statement, dialect);
        remembered(text, part, dialect);
        positions(text, statement);
        harmless(statement, dialect);
    }
}

/// The tokens cover the text without a gap, and the mask has its length.
fn cover(text: &str, words: &[Token], dialect: Dialect) {
    let mut at = 0;
    for word in words {
        assert!(word.start == at && word.end > at, "a gap at {at} of {text:?}");
        at = word.end;
    }
    assert_eq!(at, text.len(), "the tokens of {text:?} end early");
    assert_eq!(mask::mask(text, words, dialect).len(), text.len(), "the mask of {text:?}");
}

fn source<'a>(text: &'a str, part: &[Token]) -> &'a str {
    let range = part.first().map_or(0, |first| first.start)..part.last().map_or(0, |last| last.end);
    text.get(range).unwrap_or_default()
}

/// Asserts that the text before, between and after the statements has no meaning: what follows would be read alike
/// without it.
fn left_out(text: &str, parts: &[&[Token]], dialect: Dialect) {
    let mut at = 0;
    let ends = parts.iter().map(|part| (part.first(), part.last())).chain([(None, None)]);
    for (first, last) in ends {
        let gap = text.get(at..first.map_or(text.len(), |first| first.start)).unwrap_or_default();
        at = last.map_or(text.len(), |last| last.end);
        let behind = format!("{gap}\nbehind");
        let words = tokens_at_source(&behind, dialect);
        let blank =
            words.iter().all(|word| matches!(word.kind, Kind::Blank | Kind::Semicolon) || word.start > gap.len());
        // A comment of SQLite's may run to the end of the text.
        let open = dialect == Dialect::SQLITE && last.is_none();
        let closed = open || words.last().is_some_and(|word| word.text(&behind) == "behind");
        assert!(blank && closed, "{gap:?} is left out of {text:?}");
    }
}

/// Statements that are joined are split at the same places again.
fn joined(parts: &[&str], dialect: Dialect, tokens: fn(&str, Dialect) -> Vec<Token>) {
    // A comment behind a statement ends with its line.
    let text = parts.join("\n;");
    let words = tokens(&text, dialect);
    let again: Vec<&str> = split::split(&text, &words, dialect).iter().map(|part| source(&text, part)).collect();
    assert_eq!(again, parts, "split, joined and split again");
}

/// Returns the words and comments of a text, without white space.
fn seen(words: &[Token], text: &str) -> Vec<Token> {
    words.iter().copied().filter(|word| word.kind != Kind::Blank || word.is_comment(text)).collect()
}

/// Asserts that the statement for the source equals the caller's, token for token and node for node, except for the
/// connection's name, the placeholders and the quotes; and that its class is the same.
fn rewritten(text: &str, part: &[Token], statement: &Statement, dialect: Dialect) {
    let mut edits = statement.edits.iter().peekable();
    let mut removed = Vec::new();
    let mut expected = Vec::new();
    for word in seen(part, text) {
        match edits.next_if(|edit| edit.range == word.range()) {
            Some(edit) if edit.replacement.trim().is_empty() => removed.push(word.start),
            Some(edit) => {
                let is_numbered = word.kind == Kind::Placeholder && dialect.mark.is_some();
                let kind = if is_numbered { Kind::Parameter } else { word.kind };
                expected.push((kind, edit.replacement.trim()));
            }
            None => expected.push((word.kind, word.text(text))),
        }
    }
    assert_eq!(edits.next(), None, "an edit of {text:?} that replaces no word");

    let new = statement.text.as_str();
    let (mut whole, mut at) = (String::new(), part.first().map_or(0, |first| first.start));
    for edit in &statement.edits {
        whole.push_str(text.get(at..edit.range.start).unwrap_or_default());
        whole.push_str(&edit.replacement);
        at = edit.range.end;
    }
    whole.push_str(text.get(at..part.last().map_or(at, |last| last.end)).unwrap_or_default());
    assert_eq!(new, whole, "what is sent of {text:?}");
    let words = tokens_at_source(new, dialect);
    let actual: Vec<_> = seen(&words, new).into_iter().map(|word| (word.kind, word.text(new))).collect();
    assert_eq!(actual, expected, "the words of {text:?} as {new:?}");

    let before: Vec<Token> = part.iter().copied().filter(|word| word.kind != Kind::Blank).collect();
    let after: Vec<Token> = words.iter().copied().filter(|word| word.kind != Kind::Blank).collect();
    // A text that is too long to be parsed may be short enough without its connection.
    if guard::parses(text, &before).unwrap_or(false) != guard::parses(new, &after).unwrap_or(false) {
        return;
    }
    if let Ok(reading) = reading(new, &words, &after, dialect) {
        let now = (reading.class, reading.returns_rows);
        assert_eq!(now, (statement.class, statement.returns_rows), "the class of {text:?} as {new:?}");
    }
    if guard::parses(text, &before).unwrap_or(false) {
        let start = part.first().map_or(0, |first| first.start);
        let old = shape::shape(&mask::mask(text, part, dialect), part, |at| removed.contains(&(start + at)));
        let new = shape::shape(&mask::mask(new, &words, dialect), &words, |_| false);
        assert_eq!(new, old, "the tree of {text:?} as {:?}", statement.text);
    }
}

/// Asserts that the cached facts of a statement are those that the parser returns.
fn remembered(text: &str, part: &[Token], dialect: Dialect) {
    let text = source(text, part);
    let tokens = tokens(text, dialect);
    let words = words(&tokens);
    if !guard::parses(text, &words).unwrap_or(false) {
        return;
    }
    let fresh = tree::read(&mask::mask(text, &tokens, dialect), &words, 0);
    assert_eq!(shape_cache::facts(text, &tokens, dialect).as_deref(), fresh.as_ref(), "what is remembered of {text:?}");
}

/// Positions go back to the caller's text in order, and to the same character where it was kept.
fn positions(text: &str, statement: &Statement) {
    let old: Vec<(usize, char)> = text.char_indices().collect();
    let mut last = 1;
    for (index, character) in statement.text.chars().enumerate() {
        let position = statement.original_position(index + 1);
        assert!(position >= last, "positions of {text:?} go back from {last} to {position}");
        last = position;
        let Some((at, own)) = position.checked_sub(1).and_then(|position| old.get(position)) else {
            panic!("position {position} is not in {text:?}");
        };
        let edited = statement.edits.partition_point(|edit| edit.range.end <= *at);
        let edited = statement.edits.get(edited).is_some_and(|edit| edit.range.contains(at));
        assert!(edited || *own == character, "position {} of {:?} in {text:?}", index + 1, statement.text);
    }
}

/// Asserts that a read-only class contains no writing node; EXPLAIN may contain one, which it does not run.
fn harmless(statement: &Statement, dialect: Dialect) {
    let text = statement.text.as_str();
    let words = tokens_at_source(text, dialect);
    let first = words.iter().find(|word| !matches!(word.kind, Kind::Blank | Kind::Open));
    if statement.class != Class::Select || first.is_none_or(|first| first.is_word(text, "EXPLAIN")) {
        return;
    }
    let words: Vec<Token> = words.into_iter().filter(|word| word.kind != Kind::Blank).collect();
    if let Ok(true) = guard::parses(text, &words) {
        let all = tokens_at_source(text, dialect);
        assert!(!shape::writes(&mask::mask(text, &all, dialect), &all), "{text:?} is classed as only reading");
    }
    let verbs = words.windows(3).any(|three| {
        let [open, verb, next] = three else { return false };
        let inserts = verb.is_any(text, &["INSERT", "MERGE"]) && next.is_word(text, "INTO");
        open.kind == Kind::Open && (inserts || (verb.is_word(text, "DELETE") && next.is_word(text, "FROM")))
    });
    assert!(!verbs, "{text:?} is classed as only reading");
}

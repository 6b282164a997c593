//! Makes the text that the parser is given instead of a statement: the same bytes where it understands them, a
//! filler of equal length elsewhere. So its ranges are those of the original, and it cannot read a literal in
//! another way. If it should do so all the same, [`super::tree`] discards its result.

use crate::dialect::Dialect;
use crate::lexing::token::{Kind, Token, continues_word};

/// The statement in the parser's words, of exactly the same length in bytes.
pub(crate) fn mask(text: &str, tokens: &[Token], dialect: Dialect) -> String {
    let start = tokens.first().map_or(0, |token| token.start);
    let end = tokens.last().map_or(start, |token| token.end);
    let mut masked = String::with_capacity(end - start);
    for token in tokens {
        let original = token.text(text);
        match token.kind {
            Kind::Blank => repeat(&mut masked, ' ', original.len()),
            Kind::Text => quote(&mut masked, '\'', original.len()),
            Kind::Name => name(&mut masked, original),
            Kind::Word => word(&mut masked, original),
            // It may open a dollar quote to the parser, and does so nowhere where we see it alone.
            Kind::Other if original == "$" => masked.push('\\'),
            Kind::Placeholder => parameter(&mut masked, original.len()),
            Kind::Parameter if dialect.named_parameters => parameter(&mut masked, original.len()),
            _ => masked.push_str(original),
        }
    }
    if dialect.replaces {
        conform(&mut masked, text, tokens, start);
    }
    masked
}

fn repeat(masked: &mut String, filler: char, count: usize) {
    masked.extend(std::iter::repeat_n(filler, count));
}

/// An unterminated literal of one byte is not a literal; a number replaces it.
fn quote(masked: &mut String, mark: char, length: usize) {
    if length < 2 {
        repeat(masked, '0', length);
    } else {
        masked.push(mark);
        repeat(masked, 'a', length - 2);
        masked.push(mark);
    }
}

/// Masks a name. The parser only has to see that a name is there; the name itself is read from the original.
fn name(masked: &mut String, original: &str) {
    if masked.ends_with('"') && original.len() > 1 {
        // Two names in quotes would be one.
        repeat(masked, 'a', original.len() - 1);
        masked.push(' ');
    } else {
        quote(masked, '"', original.len());
    }
}

/// Masks a word. A single letter becomes `a`: another one could be the prefix of a literal, as in `E'…'`. A `$` at the
/// end becomes a space: it could open a literal.
fn word(masked: &mut String, original: &str) {
    let kept = original.trim_end_matches('$');
    masked.push_str(if kept.len() == 1 { "a" } else { kept });
    repeat(masked, ' ', original.len() - kept.len());
}

fn parameter(masked: &mut String, length: usize) {
    let glued = masked.as_bytes().last().is_some_and(|byte| continues_word(*byte));
    if length > 1 && glued {
        masked.push(' ');
    } else if length > 1 {
        masked.push('$');
    }
    repeat(masked, '0', length.max(1) - usize::from(length > 1));
}

/// Words that may follow IS in every dialect.
const AFTER_IS: &[&str] = &["DISTINCT", "DOCUMENT", "FALSE", "JSON", "NORMALIZED", "NULL", "TRUE", "UNKNOWN"];
/// SQLite's own ways to match a text.
const MATCHES: &[&str] = &["GLOB", "MATCH", "REGEXP"];

/// SQLite's INSERT OR … and REPLACE, its operators, and EXPLAIN QUERY PLAN, in words that the parser knows.
fn conform(masked: &mut String, text: &str, tokens: &[Token], start: usize) {
    let words: Vec<&Token> = tokens.iter().filter(|token| token.kind != Kind::Blank).collect();
    for (index, token) in words.iter().enumerate() {
        let follower = |ahead: usize| words.get(index + ahead).copied();
        let says = |ahead: usize, word: &str| follower(ahead).is_some_and(|token| token.is_word(text, word));
        let action =
            index.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|token| token.is_word(text, "OR"));
        if token.is_word(text, "REPLACE") && says(1, "INTO") && !action {
            masked.replace_range(token.start - start..token.end - start, "INSERT ");
        }
        let mut show = |token: &Token, shown: &str| {
            let range = token.start - start..token.end - start;
            let shown = format!("{shown:<width$}", width = range.len());
            masked.replace_range(range, &shown);
        };
        let is_value = |token: &&Token| matches!(token.kind, Kind::Text | Kind::Placeholder | Kind::Parameter);
        if token.is_any(text, MATCHES) && index > 0 && follower(1).as_ref().is_some_and(is_value) {
            show(token, "LIKE");
        } else if token.kind == Kind::Operator && token.text(text) == "==" {
            show(token, "=");
        } else if token.is_word(text, "IS") && index > 0 {
            let negated = follower(1).filter(|next| next.is_word(text, "NOT"));
            let operand = follower(1 + usize::from(negated.is_some()));
            if operand.is_some_and(|operand| !operand.is_any(text, AFTER_IS)) {
                show(token, "=");
                if let Some(negated) = negated {
                    show(negated, "");
                }
            }
        } else if index == 0 && token.is_word(text, "EXPLAIN") && says(1, "QUERY") && says(2, "PLAN") {
            for word in follower(1).into_iter().chain(follower(2)) {
                show(word, "");
            }
        }
        let writes = token.is_any(text, &["INSERT", "UPDATE"]);
        if let (true, true, Some(action)) = (writes, says(1, "OR"), follower(2)) {
            let range = token.end - start..action.end - start;
            let blanks = " ".repeat(range.len());
            masked.replace_range(range, &blanks);
        }
    }
}

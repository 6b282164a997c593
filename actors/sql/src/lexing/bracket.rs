//! Decides whether `[` quotes a name, as clients of such services write, or opens a subscript, an array or the
//! bounds of a type. Its position in the grammar decides (`grammar_position.rs`), not the white space in front of it.

use super::blank;
use super::grammar_position::{Clause, Context, Opened, Previous, among};
use super::token::{Kind, Token, begins_word, continues_word, identifier};
use crate::dialect::Dialect;
use crate::rewrite::Edit;

/// Tokens that may follow a column label, besides a comma, a `)` and the end.
const AFTER_LABEL: &[&str] = &[
    "EXCEPT",
    "FETCH",
    "FOR",
    "FROM",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "INTO",
    "LIMIT",
    "OFFSET",
    "ORDER",
    "UNION",
    "WHERE",
    "WINDOW",
];

/// Returns the end of the quoted name that the `[` at `start` opens; `None` if it does not quote a name.
pub(crate) fn name_end(context: &Context, text: &str, start: usize) -> Option<usize> {
    if context.dialect.bracket_names {
        // In this dialect a bracket has no other meaning, and its end cannot be escaped.
        return Some(text.get(start..)?.find(']').map_or(text.len(), |found| start + found + 1));
    }
    // In `a[[b]]` the second `]` ends the subscript.
    let inside = context.opened_by();
    let end = closing(text, start, !matches!(inside, Opened::Array | Opened::Subscript))?;
    let inner = text.get(start + 1..end - 1)?;
    if inner.is_empty() {
        return None;
    }
    let is_alias = || context.clause() == Clause::Relations;
    let is_defined = || context.clause() == Clause::Command;
    let is_label = || context.clause() == Clause::Targets && ends_target(text, end);
    let quotes = match context.previous() {
        Previous::Dot | Previous::TypeStart | Previous::Keyword => true,
        Previous::Array => false,
        // Inside an array constructor a bracket right after `[` or `,` is a nested array.
        Previous::Start if inside == Opened::Array => {
            !matches!(text.as_bytes().get(context.end().wrapping_sub(1)), Some(b'[' | b','))
        }
        Previous::Start => true,
        // To the source a subscript is legal behind it, but where something is listed or defined.
        Previous::Name => reads_as_name(inner) && (is_alias() || is_defined()),
        Previous::Subscripted => reads_as_name(inner) && is_alias(),
        // A text that quotes names with brackets means a label here.
        Previous::BracketedName => reads_as_name(inner) && (is_alias() || is_defined() || is_label()),
        Previous::Value | Previous::Type => reads_as_name(inner) && (is_alias() || is_label()),
    };
    quotes.then_some(end)
}

/// Whether an item of a list of targets may end at `at`.
fn ends_target(text: &str, at: usize) -> bool {
    let rest = blank::behind(text, at, Dialect::POSTGRESQL);
    let word = rest.bytes().position(|byte| !continues_word(byte)).unwrap_or(rest.len());
    rest.is_empty() || rest.starts_with([',', ')', ';']) || among(AFTER_LABEL, rest.get(..word).unwrap_or_default())
}

/// Puts every `[x]` and `` `x` `` into the double quotes of the standard.
pub(crate) fn requote(text: &str, words: &[Token], edits: &mut Vec<Edit>) {
    let is_foreign = |token: &&Token| {
        let name = token.text(text);
        // What is open to the end is for the source to refuse.
        token.kind == Kind::Name
            && (name.starts_with('[') || (name.len() > 2 && name.starts_with('`') && name.ends_with('`')))
    };
    let mut last = None;
    for token in words.iter().filter(is_foreign) {
        let quoted = identifier(token.text(text)).replace('"', "\"\"");
        // Next to another quote, or to the `&` of U&, it would be read together with that.
        let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).copied();
        let glued = matches!(byte(token.start.checked_sub(1)), Some(b'"' | b'&')) || last == Some(token.start);
        let before = if glued { " " } else { "" };
        let after = if byte(Some(token.end)) == Some(b'"') { " " } else { "" };
        edits.push(Edit { range: token.range(), replacement: format!("{before}\"{quoted}\"{after}") });
        last = Some(token.end);
    }
}

/// Returns the place behind the `]` that ends a name. With `doubles`, `]]` stands for a `]` within the name.
fn closing(text: &str, start: usize, doubles: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at - start < MAX_NAME {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b']', Some(b']')) if doubles => at += 2,
            (b']', _) => return Some(at + 1),
            // A name does not go over the end of a line, so that a stray bracket stays harmless.
            (b'\n' | b'\r', _) => return None,
            _ => at += 1,
        }
    }
    None
}

/// The maximal length of a name in brackets in bytes; PostgreSQL keeps 63. Without a limit, a text of brackets
/// alone would be scanned once for each of them.
const MAX_NAME: usize = 256;

/// Whether it looks like a name rather than a subscript: words with single spaces between them.
fn reads_as_name(inner: &str) -> bool {
    inner.split(' ').all(|word| {
        let bytes = word.as_bytes();
        bytes.first().is_some_and(|first| begins_word(*first)) && bytes.iter().all(|byte| continues_word(*byte))
    })
}

//! Finds the placeholders and numbers them: `@name`, and what other drivers have (`$1`, `:name`, `$name`, in `SQLite` also
//! `?`) where a value is given by the name. Their values are supplied when the statement runs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::token::{Kind, Token};
use crate::dialect::Dialect;
use crate::rewrite::Edit;
use portico_core::error::{Error, Result};

/// Operators that end in `@`, of PostgreSQL itself and of its common extensions. Directly followed by a name they
/// stay operators. After any other character `@` starts a placeholder, since callers write `id=@id` and
/// `'%'||@word`.
const OPERATORS: &[&str] =
    &["!@", "&@", "<@", "?<@", "?@", "@-@", "@@", "@@@", "^<@", "^@", "|@", "~@", "@~@", "&&@", "#@"];

/// The operators of [`OPERATORS`] that are also binary operators without their last `@`. If a value is given under the
/// name behind the `@`, the shorter operator and a placeholder are meant.
const AMBIGUOUS: &[&str] = &["&@", "<@", "?@", "@@@", "^@", "|@", "~@", "&&@", "#@"];

/// Names of the values that are given with a statement, without `@`.
pub type ParameterNames = HashSet<String>;

/// Whether the `@` at the end of this run of operator characters begins a placeholder; `rest` is
/// the text behind it. Right behind a word, as in `a@b`, a value that is given by the name says so.
pub(crate) fn begins(run: &str, rest: &str, is_behind_word: bool, dialect: Dialect, given: &ParameterNames) -> bool {
    let is_between_words = run == "@" && is_behind_word;
    if !dialect.at_operators || !(is_between_words || OPERATORS.contains(&run)) {
        return true;
    }
    (is_between_words || AMBIGUOUS.contains(&run)) && is_given(rest, given)
}

/// Whether a value is given by the name that `rest` begins with.
pub(crate) fn is_given(rest: &str, given: &ParameterNames) -> bool {
    let end = rest.bytes().position(|byte| !continues(byte)).unwrap_or(rest.len());
    given.contains(rest.get(..end).unwrap_or_default())
}

/// The name of a placeholder: what follows its first character, or its number among those that have no name.
pub(crate) fn name(placeholder: &str, marks: usize) -> Cow<'_, str> {
    match placeholder.get(1..) {
        Some("") | None => Cow::Owned(marks.to_string()),
        Some(name) => Cow::Borrowed(name),
    }
}

/// Returns true if a placeholder's name may contain this byte. A `$` ends it: a following parameter in the source's
/// own form must not become part of the name.
pub(crate) const fn continues(byte: u8) -> bool {
    super::token::continues_word(byte) && byte != b'$'
}

/// Numbers the placeholders of one statement in the order of their first occurrence. `marks` is how many without a name
/// stand in front of it.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when the statement has parameters in the
/// source's own form as well: their numbers would collide.
pub(crate) fn number(
    text: &str,
    tokens: &[Token],
    dialect: Dialect,
    marks: &mut usize,
    edits: &mut Vec<Edit>,
) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let mut native = None;
    // The body of a routine has its own arguments.
    let defines =
        tokens.iter().find(|token| token.kind != Kind::Blank).is_some_and(|first| first.is_word(text, "CREATE"));
    for token in tokens {
        match token.kind {
            Kind::Placeholder if defines && token.text(text).starts_with('$') => {}
            Kind::Parameter => native = native.or(Some(*token)),
            Kind::Placeholder => {
                *marks += usize::from(token.end == token.start + 1);
                let name = name(token.text(text), *marks);
                let edit = |number| match dialect.mark {
                    Some(mark) => Some(numbered(text, *token, mark, number)),
                    None => ended(text, *token, &name),
                };
                let number = numbers.get(name.as_ref()).copied();
                edits.extend(edit(number.unwrap_or(names.len() + 1)));
                if number.is_none() {
                    names.push(name.clone().into_owned());
                    numbers.insert(name, names.len());
                }
            }
            _ => {}
        }
    }
    match (names.first(), native) {
        (Some(name), Some(native)) => Err(Error::invalid(format!(
            "query mixes @{name} with {}; write every parameter as @name",
            native.text(text)
        ))),
        _ => Ok(names),
    }
}

/// The parameter of this number in the place of the name.
fn numbered(text: &str, name: Token, mark: char, number: usize) -> Edit {
    // Right behind a word it would be a part of it, and behind another `$` open a dollar quote.
    let before = text.as_bytes().get(name.start.wrapping_sub(1)).copied();
    let is_glued = mark == '$' && before.is_some_and(super::token::continues_word);
    let space = if is_glued { " " } else { "" };
    Edit { range: name.range(), replacement: format!("{space}{mark}{number}") }
}

/// The placeholder as `@name`, with a blank behind it where it would go on: to `SQLite` with `(…)` and `::`, as the
/// variables of Tcl do (`tokenize.c`).
fn ended(text: &str, token: Token, name: &str) -> Option<Edit> {
    let rest = text.get(token.end..)?;
    let goes_on = rest.starts_with('(') || rest.starts_with("::") || rest.bytes().next().is_some_and(continues);
    let space = if goes_on { " " } else { "" };
    let is_ours = token.text(text).starts_with('@');
    (goes_on || !is_ours).then(|| Edit { range: token.range(), replacement: format!("@{name}{space}") })
}

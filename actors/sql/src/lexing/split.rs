//! Where one statement ends and the next begins.
//! Bodies that hold statements of their own stay whole.

use super::token::{Kind, Token};
use crate::dialect::Dialect;

/// Splits a text into statements, each as its tokens without the `;` around it. It is split only between tokens,
/// and nothing is lost except white space and closed comments.
pub(crate) fn split<'a>(text: &str, tokens: &'a [Token], dialect: Dialect) -> Vec<&'a [Token]> {
    let mut statements = Vec::new();
    let mut start = 0;
    let mut state = StatementPosition::default();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Semicolon && state.parentheses == 0 && state.body == 0 {
            statements.extend(trimmed(text, tokens.get(start..index).unwrap_or_default(), dialect));
            start = index + 1;
            state = StatementPosition::default();
        } else {
            state.pass(*token, text, dialect);
        }
    }
    statements.extend(trimmed(text, tokens.get(start..).unwrap_or_default(), dialect));
    statements
}

/// Removes leading white space, but not comments, which may contain hints for the planner; and trailing white space
/// with those trailing comments that have no meaning for the source.
fn trimmed<'a>(text: &str, tokens: &'a [Token], dialect: Dialect) -> Option<&'a [Token]> {
    let is_seen = |token: &Token| token.kind != Kind::Blank || token.is_comment(text);
    let word = tokens.iter().rposition(|token| token.kind != Kind::Blank)?;
    let first = tokens.iter().position(is_seen)?;
    let last = if dialect.trailing_comments { tokens.iter().rposition(is_seen)? } else { word };
    tokens.get(first..=last)
}

/// How deep inside a statement we are.
#[derive(Default)]
struct StatementPosition {
    head: Head,
    parentheses: usize,
    /// Bodies that wait for their END.
    body: usize,
    after_begin: bool,
    /// Whether a statement of the body would begin here: END ends the body nowhere else, where it may be
    /// a CASE's, or a label.
    between: bool,
}

/// What the first words of the statement have shown.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Head {
    #[default]
    Nothing,
    Create,
    /// CREATE FUNCTION or PROCEDURE of PostgreSQL: BEGIN ATOMIC … END is a body.
    Routine,
    /// CREATE TRIGGER of SQLite: BEGIN … END is a body.
    Trigger,
    Plain,
}

impl StatementPosition {
    fn pass(&mut self, token: Token, text: &str, dialect: Dialect) {
        let is = |word: &str| token.is_word(text, word);
        match token.kind {
            Kind::Blank => return,
            Kind::Open => self.parentheses += 1,
            Kind::Close => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        let triggers = dialect.trigger_bodies;
        self.head = match self.head {
            // SQLite explains a trigger as well as a query.
            Head::Nothing if triggers && token.is_any(text, &["EXPLAIN", "QUERY", "PLAN"]) => Head::Nothing,
            Head::Nothing if is("CREATE") => Head::Create,
            Head::Create if token.is_any(text, &["OR", "REPLACE", "TEMP", "TEMPORARY"]) => Head::Create,
            Head::Create if !triggers && (is("FUNCTION") || is("PROCEDURE")) => Head::Routine,
            Head::Create if triggers && is("TRIGGER") => Head::Trigger,
            Head::Nothing | Head::Create => Head::Plain,
            other => other,
        };
        let begins = match self.head {
            // In parentheses stand parameters, which may have these names.
            Head::Routine => self.after_begin && self.parentheses == 0 && is("ATOMIC"),
            Head::Trigger => is("BEGIN") && self.body == 0,
            _ => return,
        };
        if begins {
            self.body += 1;
        } else if self.between && is("END") {
            self.body = self.body.saturating_sub(1);
        }
        self.after_begin = is("BEGIN");
        self.between = token.kind == Kind::Semicolon || (begins && !triggers);
    }
}

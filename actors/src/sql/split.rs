//! Where one statement ends and the next begins.
//! Bodies that hold statements of their own stay whole.

use super::token::{Kind, Token};

/// The statements of a text, each as its tokens without the `;` around it.
pub(super) fn split<'a>(text: &str, tokens: &'a [Token]) -> Vec<&'a [Token]> {
    let mut statements = Vec::new();
    let mut start = 0;
    let mut state = State::default();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Semicolon && state.parentheses == 0 && state.body == 0 {
            statements.extend(trimmed(text, tokens.get(start..index).unwrap_or_default()));
            start = index + 1;
            state = State::default();
        } else {
            state.pass(*token, text);
        }
    }
    statements.extend(trimmed(text, tokens.get(start..).unwrap_or_default()));
    statements
}

/// Without white space in front, where a comment may hold hints for the planner, and without
/// white space and comments behind, which would swallow what a driver puts there.
fn trimmed<'a>(text: &str, tokens: &'a [Token]) -> Option<&'a [Token]> {
    let last = tokens.iter().rposition(|token| token.kind != Kind::Blank)?;
    let first = tokens.iter().position(|token| token.kind != Kind::Blank || token.is_comment(text))?;
    tokens.get(first..=last)
}

/// How deep inside a statement we are.
#[derive(Default)]
struct State {
    head: Head,
    parentheses: usize,
    /// BEGIN and CASE that wait for their END.
    body: usize,
    after_begin: bool,
    after_semicolon: bool,
}

/// What the statement's first words have shown.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Head {
    #[default]
    Nothing,
    Create,
    /// CREATE FUNCTION or PROCEDURE: BEGIN ATOMIC … END is a body.
    Routine,
    /// CREATE TRIGGER: in SQLite, BEGIN … END is a body.
    Trigger,
    Plain,
}

impl State {
    fn pass(&mut self, token: Token, text: &str) {
        let is = |word: &str| token.is_word(text, word);
        match token.kind {
            Kind::Blank => return,
            Kind::Open => self.parentheses += 1,
            Kind::Close => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        self.head = match self.head {
            // SQLite explains a trigger as well as a query.
            Head::Nothing if token.is_any(text, &["EXPLAIN", "QUERY", "PLAN"]) => Head::Nothing,
            Head::Nothing if is("CREATE") => Head::Create,
            Head::Create if token.is_any(text, &["OR", "REPLACE", "TEMP", "TEMPORARY", "CONSTRAINT"]) => Head::Create,
            Head::Create if is("FUNCTION") || is("PROCEDURE") => Head::Routine,
            Head::Create if is("TRIGGER") => Head::Trigger,
            Head::Nothing | Head::Create => Head::Plain,
            other => other,
        };
        let begins = match self.head {
            Head::Routine => self.after_begin && is("ATOMIC"),
            Head::Trigger => is("BEGIN") && self.body == 0,
            _ => return,
        };
        // To SQLite these are names too, but not where a statement of the body would begin.
        let names = self.head == Head::Trigger;
        let ends = is("END") && (!names || self.after_semicolon);
        self.after_begin = is("BEGIN");
        self.after_semicolon = token.kind == Kind::Semicolon;
        if begins || (self.body > 0 && !names && is("CASE")) {
            self.body += 1;
        } else if ends {
            self.body = self.body.saturating_sub(1);
        }
    }
}

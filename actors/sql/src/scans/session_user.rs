//! `user` without quotes, which is the session's role in place of a column of that name.

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Kind, Token, words};

/// Returns true if `text`, one query of a table, names the session's role `user`. It is for hints: nothing is allowed or
/// refused by it.
pub fn names_session_user(text: &str, dialect: Dialect) -> bool {
    // Each query comes here: most hold no such letters.
    let has_letters = || text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"user"));
    if !dialect.user_is_role || !has_letters() {
        return false;
    }
    let words = words(&tokens_at_source(text, dialect));
    let is_role = |(at, token): (usize, &Token)| {
        let is_part = |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|it| it.kind == Kind::Dot);
        let before = at.checked_sub(1);
        let is_label = before.and_then(|before| words.get(before)).is_some_and(|before| before.is_word(text, "AS"));
        token.is_word(text, "USER") && !is_label && !is_part(before) && !is_part(Some(at + 1))
    };
    words.iter().any(|token| token.is_word(text, "FROM")) && words.iter().enumerate().any(is_role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_told_from_a_column() {
        for (text, is_role) in [
            ("SELECT user, id FROM orders", true),
            ("SELECT id FROM orders WHERE USER = 'ann'", true),
            ("SELECT o.user FROM orders o", false),
            ("SELECT \"user\", 'user' FROM orders", false),
            ("SELECT id AS user FROM orders", false),
            ("SELECT user", false),
        ] {
            assert_eq!(names_session_user(text, Dialect::POSTGRESQL), is_role, "{text}");
            assert!(!names_session_user(text, Dialect::SQLITE), "{text}");
        }
    }
}

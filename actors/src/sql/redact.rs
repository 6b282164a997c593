//! A statement as a log may keep it: without secrets, or without any value. Nothing here runs it.

use super::Dialect;
use super::token::{self, Kind, Token};

/// What of a statement's literals is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redact {
    /// Every literal: what is left is the statement's shape.
    Literals,
    /// Literals that look like a secret: what follows the word PASSWORD, addresses with a
    /// password, connection strings with one, and secrets of ours.
    Secrets,
}

/// `text` with `***` in the place of each literal that `redact` leaves out.
pub fn redacted(text: &str, dialect: Dialect, redact: Redact) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_password = false;
    for token in token::tokens(text, dialect) {
        let own = token.text(text);
        let hides = match (token.kind, redact) {
            (Kind::Text | Kind::Number, Redact::Literals) => true,
            (Kind::Text, Redact::Secrets) => after_password || looks_secret(own),
            // A literal, or a comment, that a text within quotes was taken for.
            (Kind::Name | Kind::Blank, _) => looks_secret(own),
            _ => false,
        };
        kept.push_str(if hides { "***" } else { own });
        if token.kind != Kind::Blank && token.kind != Kind::Operator {
            after_password = is_password(token, text);
        }
    }
    kept
}

fn is_password(token: Token, text: &str) -> bool {
    token.is_name() && token.text(text).trim_matches('"').eq_ignore_ascii_case("password")
}

fn looks_secret(literal: &str) -> bool {
    let low = literal.to_ascii_lowercase();
    let address = low.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    address || low.contains("ptc_") || low.replace(' ', "").contains("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_value_and_a_text_no_secret() {
        let cases = [
            ("SELECT a, 'x', 1.5 FROM t1 WHERE b = $$y$$", "SELECT a, ***, *** FROM t1 WHERE b = ***", None),
            ("ALTER ROLE ann PASSWORD 'hunter2'", "ALTER ROLE ann PASSWORD ***", Some("ALTER ROLE ann PASSWORD ***")),
            (
                "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'ann', password 'x')",
                "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user ***, password ***)",
                Some("CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'ann', password ***)"),
            ),
            ("SELECT 'postgres://u:p@h/d', 'http://h/a:b@c'", "SELECT ***, ***", Some("SELECT ***, 'http://h/a:b@c'")),
            ("SELECT f('host=h Password = x')", "SELECT f(***)", Some("SELECT f(***)")),
            ("SELECT 'ptc_pat_abc' -- ptc_pat_abc", "SELECT *** ***", Some("SELECT *** ***")),
            ("SELECT 'never closed", "SELECT ***", None),
        ];
        for (text, shape, safe) in cases {
            assert_eq!(redacted(text, Dialect::PostgreSql, Redact::Literals), shape);
            assert_eq!(redacted(text, Dialect::PostgreSql, Redact::Secrets), safe.unwrap_or(text));
        }
    }
}

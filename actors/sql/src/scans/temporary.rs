//! Tables that last only as long as their session.

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Token, words};

/// Returns true if `text`, one statement, makes a temporary table or view. It is for hints: nothing is allowed or
/// refused by it.
pub fn makes_temporary(text: &str, dialect: Dialect) -> bool {
    let words = words(&tokens_at_source(text, dialect));
    let is_temporary = |token: &Token| token.is_any(text, &["TEMP", "TEMPORARY"]);
    let [first, rest @ ..] = words.as_slice() else { return false };
    if first.is_word(text, "CREATE") {
        let mut adjectives = rest
            .iter()
            .take_while(|token| is_temporary(token) || token.is_any(text, &["OR", "REPLACE", "LOCAL", "GLOBAL"]));
        return adjectives.any(is_temporary);
    }
    let mut pairs = rest.windows(2);
    pairs.any(|pair| matches!(pair, [into, kind] if into.is_word(text, "INTO") && is_temporary(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_tables_are_known_by_their_words() {
        for (text, is_temporary) in [
            ("CREATE TEMP TABLE t (a int)", true),
            ("/* x */ create local temporary table t AS SELECT 1", true),
            ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", true),
            ("SELECT a INTO TEMP t FROM u", true),
            ("CREATE TABLE temp (a int)", false),
            ("CREATE VIEW v AS SELECT temp FROM t", false),
            ("SELECT a INTO t FROM temp", false),
            ("", false),
        ] {
            assert_eq!(makes_temporary(text, Dialect::POSTGRESQL), is_temporary, "{text}");
        }
    }
}

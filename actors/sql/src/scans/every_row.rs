//! Whether a statement changes every row of a table: an UPDATE or a DELETE without WHERE, also one in a WITH.

use crate::lexing::token::{Kind, Token};

/// One level of parentheses.
#[derive(Default)]
struct Level {
    /// An UPDATE or a DELETE that had no WHERE yet.
    verb: Option<Token>,
    /// Whether it had a word yet, and whether the first one was WITH or EXPLAIN.
    began: bool,
    goes_on: bool,
}

/// Returns the verb of the first UPDATE or DELETE among `words` without a WHERE.
pub(crate) fn every_row(text: &str, words: &[Token]) -> Option<&'static str> {
    let mut levels = vec![Level::default()];
    let mut before: Option<Token> = None;
    for token in words {
        match token.kind {
            Kind::Open => levels.push(Level::default()),
            Kind::Close => {
                if let Some(verb) = levels.pop().and_then(|level| level.verb) {
                    return Some(name(text, verb));
                }
            }
            _ => {
                let level = levels.last_mut()?;
                // After a WITH the statement follows the last parenthesis, in an EXPLAIN it follows the options.
                let may_begin = !level.began
                    || (level.goes_on
                        && level.verb.is_none()
                        && before.is_some_and(|before| {
                            before.kind == Kind::Close
                                || before.is_any(text, &["EXPLAIN", "ANALYZE", "ANALYSE", "VERBOSE"])
                        }));
                if may_begin && token.is_any(text, &["UPDATE", "DELETE"]) {
                    level.verb = Some(*token);
                    level.goes_on = false;
                } else if !level.began {
                    level.goes_on = token.is_any(text, &["WITH", "EXPLAIN"]);
                } else if token.is_word(text, "WHERE") {
                    level.verb = None;
                }
                level.began = true;
            }
        }
        before = Some(*token);
    }
    levels.into_iter().find_map(|level| level.verb).map(|verb| name(text, verb))
}

fn name(text: &str, verb: Token) -> &'static str {
    if verb.is_word(text, "DELETE") { "DELETE" } else { "UPDATE" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::lexing::lexer;
    use crate::lexing::token::words;

    #[test]
    fn a_change_without_where_is_found_wherever_it_stands() {
        for (text, expected) in [
            ("UPDATE t SET a = 1", Some("UPDATE")),
            ("delete from t", Some("DELETE")),
            ("DELETE FROM t WHERE true", None),
            ("UPDATE t SET a = (SELECT 1 FROM u WHERE u.id = t.id)", Some("UPDATE")),
            ("UPDATE t SET a = (SELECT 1 FROM u) WHERE id = 1", None),
            ("WITH d AS (DELETE FROM t RETURNING a) SELECT * FROM d WHERE a = 1", Some("DELETE")),
            ("WITH d AS (DELETE FROM t WHERE a = 1 RETURNING a) SELECT * FROM d", None),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1", Some("UPDATE")),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1 WHERE b", None),
            ("EXPLAIN ANALYZE DELETE FROM t", Some("DELETE")),
            ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1", None),
            ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1", None),
            ("SELECT * FROM t FOR UPDATE", None),
            ("WITH x AS (SELECT 1) SELECT * FROM (SELECT 2) y FOR UPDATE", None),
            ("SELECT 'DELETE FROM t'", None),
        ] {
            let tokens = lexer::tokens(text, Dialect::POSTGRESQL);
            assert_eq!(every_row(text, &words(&tokens)), expected, "{text}");
        }
    }
}

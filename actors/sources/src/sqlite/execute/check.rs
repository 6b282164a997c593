//! Refuses statements before any session sees them.

use crate::sqlite::failure::{outside, session, several, transaction};
use portico_core::error::{Error, Result};
use portico_sql::{Class, Dialect, Kind, Statement, Token, tokens};

/// Statements in one trigger's body at most: each costs a little of the thread's stack.
const TRIGGER_STEPS: usize = 200;

/// Refuses what no session may see.
///
/// # Errors
/// [`Kind::Invalid`] with the remedy.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let text = &statement.text;
    if text.contains('\0') {
        return Err(Error::invalid("the statement holds a NUL character"));
    }
    let verb = statement.verb.as_str();
    match statement.class {
        _ if verb.is_empty() => return Err(Error::invalid("the statement is empty")),
        Class::Transaction => return Err(transaction()),
        // The authorizer distinguishes a PRAGMA that reads from one that sets.
        Class::Session if verb != "PRAGMA" => return Err(session(verb)),
        // The engine would say that it cannot within a transaction, which is ours.
        _ if verb == "VACUUM" => return Err(outside("VACUUM")),
        _ => {}
    }
    if !text.contains(';') {
        return Ok(());
    }
    // Counted here because the driver looks for a second statement by recursion.
    let words: Vec<Token> =
        tokens(text, Dialect::SQLITE).into_iter().filter(|token| token.kind != Kind::Blank).collect();
    let trigger =
        matches!(verb, "CREATE" | "EXPLAIN") && words.iter().take(6).any(|word| word.is_word(text, "TRIGGER"));
    let mut ends = 0;
    for word in words {
        if word.kind == Kind::Semicolon {
            ends += 1;
        } else if (ends > 0 && !trigger) || ends > TRIGGER_STEPS {
            return Err(several());
        }
    }
    Ok(())
}

/// Whether a statement only asks for a plan.
pub(crate) fn explains(statement: &Statement) -> bool {
    statement.verb == "EXPLAIN"
}

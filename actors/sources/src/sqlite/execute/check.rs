//! What no session should see of a statement, and what its first word says.

use crate::sqlite::failure::{outside, session, several, transaction};
use crate::sqlite::lexer::tokens;
use portico_core::error::{Error, Result};
use portico_sql::{Class, Statement};

/// Statements in one trigger's body at most: each costs a little of the thread's stack.
const TRIGGER_STEPS: usize = 200;

/// Refuses what no session should see.
///
/// # Errors
/// [`Kind::Invalid`] with the remedy.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let text = &statement.text;
    if text.contains('\0') {
        return Err(Error::invalid("the statement holds a NUL character"));
    }
    let mut words = tokens(text).filter(|token| !token.is_comment() && !token.is_symbol(';'));
    let Some(first) = words.next() else {
        return Err(Error::invalid("the statement is empty"));
    };
    match statement.class {
        Class::Transaction => return Err(transaction()),
        // The authorizer tells a PRAGMA that reads from one that sets.
        Class::Session if !first.is_word("PRAGMA") => return Err(session(&first.text.to_uppercase())),
        // The engine would say that it cannot within a transaction, which is ours.
        _ if first.is_word("VACUUM") => return Err(outside("VACUUM")),
        _ => {}
    }
    // Counted here because the driver looks for a second statement by recursion.
    let creates = first.is_word("CREATE") || first.is_word("EXPLAIN");
    let trigger = creates && words.take(5).any(|word| word.is_word("TRIGGER"));
    let mut ends = 0;
    for token in tokens(text).filter(|token| !token.is_comment()) {
        if token.is_symbol(';') {
            ends += 1;
        } else if (ends > 0 && !trigger) || ends > TRIGGER_STEPS {
            return Err(several());
        }
    }
    Ok(())
}

/// Whether `text` only asks for a plan.
pub(crate) fn explains(text: &str) -> bool {
    tokens(text).find(|token| !token.is_comment()).is_some_and(|first| first.is_word("EXPLAIN"))
}

/// Whether `text` is a PRAGMA. The authorizer lets none pass that sets anything, and the engine
/// says of some that they may write however they are asked.
pub(crate) fn asks(text: &str) -> bool {
    tokens(text).find(|token| !token.is_comment()).is_some_and(|first| first.is_word("PRAGMA"))
}

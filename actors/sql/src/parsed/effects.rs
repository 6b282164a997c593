//! The effects of a query or a data change besides reading, read from the syntax tree or, without a tree, guessed
//! from the words conservatively.

use crate::lexing::token::{Kind, Token};

/// The effects of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "six independent facts, each true or not")]
pub(crate) struct Effects {
    /// INSERT, or MERGE with INSERT actions.
    pub(crate) inserts: bool,
    /// UPDATE, DELETE, or MERGE with other actions.
    pub(crate) changes: bool,
    /// FOR UPDATE and its kin: needs a transaction that may write.
    pub(crate) locks: bool,
    /// SELECT INTO.
    pub(crate) creates: bool,
    /// Whether rows come back.
    pub(crate) rows: bool,
    /// Whether the verb of the whole is INSERT, UPDATE, DELETE or MERGE, also behind WITH.
    pub(crate) counts: bool,
    /// The verb of an UPDATE or DELETE that has no WHERE, or is not known to have one.
    pub(crate) every_row: Option<&'static str>,
}

/// Returns the verb that changes rows.
pub(crate) const fn changing_verb(updates: bool, deletes: bool) -> Option<&'static str> {
    match (updates, deletes) {
        (true, _) => Some("UPDATE"),
        (_, true) => Some("DELETE"),
        _ => None,
    }
}

/// Returns the first UPDATE or DELETE without a WHERE, at any depth. Its WHERE stands within the same parentheses and
/// before RETURNING.
fn unconditional(text: &str, words: &[Token]) -> Option<&'static str> {
    // For each level of parentheses the verb that has no WHERE yet, and whether none can follow any more.
    let mut levels = vec![(None, false)];
    let mut before: Option<&Token> = None;
    for token in words {
        let names_another = before.is_some_and(|before| {
            before.kind == Kind::Dot || before.is_any(text, &["AS", "DO", "FOR", "KEY", "ON", "THEN"])
        });
        let is = |word: &str| token.is_word(text, word) && !names_another;
        match (token.kind, changing_verb(is("UPDATE"), is("DELETE"))) {
            (Kind::Open, _) => levels.push((None, false)),
            (Kind::Close, _) => {
                if let Some((Some(verb), _)) = levels.pop() {
                    return Some(verb);
                }
            }
            (_, Some(verb)) => match levels.last_mut()? {
                (Some(first), _) => return Some(*first),
                level => *level = (Some(verb), false),
            },
            _ => {
                let (verb, is_over) = levels.last_mut()?;
                *is_over |= is("RETURNING");
                if is("WHERE") && !*is_over {
                    *verb = None;
                }
            }
        }
        before = Some(token);
    }
    levels.into_iter().find_map(|(verb, _)| verb)
}

const VERBS: &[&str] = &["SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"];
const QUERIES: &[&str] = &["SELECT", "VALUES", "TABLE"];

/// Reads the effects from the words of a statement that was not parsed.
pub(crate) fn scan(text: &str, words: &[Token]) -> Effects {
    let mut effects = Effects::default();
    let mut depth = 0_usize;
    let mut main: Option<(Token, bool)> = None;
    let mut merges = false;
    let mut into = false;
    for (index, token) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let after = words.get(index + 1);
        let is = |word: &str| token.is_word(text, word);
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        // A verb starts the statement, a part in parentheses, or follows the last part of a WITH.
        let begins = before.is_none_or(|before| {
            matches!(before.kind, Kind::Open | Kind::Close) || before.is_any(text, &["ANALYZE", "ANALYSE", "VERBOSE"])
        });
        let qualified = before.is_some_and(|before| before.kind == Kind::Dot);
        if begins && token.is_any(text, VERBS) {
            // The main verb is outside of all parentheses, if there is one.
            if main.is_none_or(|(_, outside)| depth == 0 && !outside) {
                main = Some((*token, depth == 0));
            }
            effects.inserts |= is("INSERT") || is("REPLACE");
            effects.changes |= is("UPDATE") || is("DELETE");
            merges |= is("MERGE");
        }
        if before.is_some_and(|before| before.is_word(text, "THEN")) && merges {
            effects.inserts |= is("INSERT");
            effects.changes |= is("UPDATE") || is("DELETE");
        }
        if is("FOR") {
            effects.locks |= after.is_some_and(|after| after.is_any(text, &["UPDATE", "SHARE", "NO", "KEY"]));
        }
        into |= is("INTO") && !qualified && !before.is_some_and(|before| before.is_any(text, VERBS));
        effects.rows |= depth == 0 && is("RETURNING") && !qualified;
    }
    effects.every_row = unconditional(text, words);
    effects.changes |= merges && !effects.inserts;
    let queries = main.is_some_and(|(main, _)| main.is_any(text, QUERIES));
    effects.counts = main.is_some() && !queries;
    effects.creates = into && queries;
    effects.rows |= queries;
    effects
}

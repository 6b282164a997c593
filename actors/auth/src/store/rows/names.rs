//! Names in the store: which are allowed, and finding objects by name.

use crate::secret::{CLIENT_SECRET_PREFIX, PAT_PREFIX};
use portico_core::error::{Error, Result};
use portico_core::{name, near};

/// Names are for people and for tables on a terminal.
const LONGEST_NAME: usize = 100;

/// Refuses names that could not be distinguished or would spoil a listing.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.trim() != name || name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(Error::invalid(format!(
            "the name of {what} must have 1 to {LONGEST_NAME} characters, with no white space around them"
        )));
    }
    if name::has_invisible_characters(name) {
        return Err(Error::invalid(format!(
            "the name of {what} must have no control characters and no invisible characters"
        )));
    }
    if name.starts_with("ptc_") {
        return Err(Error::invalid(format!("the name of {what} must not begin with ptc_, as ids and secrets do")));
    }
    Ok(())
}

/// Returns those of `known` that `which` names: in the exact spelling or, if there are none, in any spelling.
pub(crate) fn named<T>(mut known: Vec<T>, which: &str, name: impl Fn(&T) -> &str) -> Vec<T> {
    let key = name::key(which);
    known.retain(|each| name::key(name(each)) == key);
    if known.iter().any(|each| name(each) == which) {
        known.retain(|each| name(each) == which);
    }
    known
}

/// Returns the one of `known` that `which` names, if any. There may be several from before names were compared in
/// any spelling.
pub(crate) fn one_named<T>(what: &str, known: Vec<T>, which: &str, name: impl Fn(&T) -> &str) -> Result<Option<T>> {
    let mut found = named(known, which, name);
    match (found.pop(), found.is_empty()) {
        (Some(_), false) => {
            Err(Error::invalid(format!("several {what} are {}", shown(which))).hint("name one by its client id"))
        }
        (found, _) => Ok(found),
    }
}

/// `asked` as a message may repeat it: a secret in the place of a name is not repeated.
pub(crate) fn shown(asked: &str) -> String {
    if asked.starts_with(PAT_PREFIX) || asked.starts_with(CLIENT_SECRET_PREFIX) {
        "by that secret".to_owned()
    } else {
        format!("named {asked:?}")
    }
}

/// Returns the error that `which` names no `what`. It suggests similar names in `known`, or the command `listing`.
pub(crate) fn missing<'a>(what: &str, which: &str, known: impl Iterator<Item = &'a str>, listing: &str) -> Error {
    let hint = match near::nearest(which, known).as_slice() {
        [] => format!("`{listing}` shows what there is"),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Error::not_found(format!("there is no {what} {}", shown(which))).hint(hint)
}

//! `[connections.identity]`: which role of the connection's database each caller has.

use std::collections::HashMap;

use portico_actors::identity::{Mapping, Pattern, check_role};
use portico_actors::sql::Dialect;

use super::section::{Problem, Section};

/// Reads the table, if it is there.
pub(super) fn read(connection: &mut Section<'_>, dialect: Dialect, problems: &mut Vec<Problem>) -> Option<Mapping> {
    if !connection.has("identity") {
        return None;
    }
    let mut section = connection.section("identity", problems);
    if dialect == Dialect::Sqlite {
        let remedy = "remove this table, or use a PostgreSQL database";
        connection.problem("identity", "a SQLite database has no roles".to_owned(), remedy, problems);
    }
    let principals = roles(&mut section, "principals", problems);
    let claim = section.string("claim", problems).filter(|claim| !claim.is_empty());
    let claim_roles = roles(&mut section, "claim_roles", problems);
    if claim.is_none() && !claim_roles.is_empty() {
        section.problem("claim_roles", "it is not said of which claim".to_owned(), "add claim = \"…\"", problems);
    }
    let pattern = section.string("pattern", problems).and_then(|text| match Pattern::parse(&text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let remedy = error.get_hint().unwrap_or("write it as \"app_{subject}\"").to_owned();
            section.problem("pattern", error.message, &remedy, problems);
            None
        }
    });
    if !["principals", "claim", "pattern"].into_iter().any(|key| section.has(key)) {
        let remedy = "add principals, claim or pattern, or remove this table";
        connection.problem("identity", "no caller would have a role".to_owned(), remedy, problems);
    }
    section.finish(problems);
    // Names of callers are compared without regard to case.
    let principals = principals.into_iter().map(|(name, role)| (name.to_lowercase(), role)).collect();
    Some(Mapping { principals, claim, claim_roles: claim_roles.into_iter().collect(), pattern })
}

/// A table of names and the roles that they stand for.
fn roles(section: &mut Section<'_>, key: &'static str, problems: &mut Vec<Problem>) -> HashMap<String, String> {
    let roles = section.texts(key, problems);
    for (name, role) in &roles {
        if let Err(why) = check_role(role) {
            let remedy = "name a role that was made for callers and granted to the connection's own user";
            section.problem(key, format!("the role of {name:?} {why}"), remedy, problems);
        }
    }
    roles.into_iter().collect()
}

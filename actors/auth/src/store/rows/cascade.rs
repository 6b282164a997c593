//! Cascading ends: a token with the tokens, sessions and grants derived from it, and what a person is signed in to.
//! Each in the transaction of its cause, and recorded after it.

use uuid::Uuid;

use crate::clock::Now;
use crate::records::User;
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::rows::{consents, tokens, users};
use crate::store::sql::params::ToParams;
use portico_core::error::Result;

/// Ends every session and every grant of a user: how many sessions, and the changes.
pub(crate) fn end_person(connection: &StoreConnection, user: i64) -> Result<(usize, Vec<Change>)> {
    let sessions = connection.execute("DELETE FROM sessions WHERE user_id = ?1", [user])?;
    Ok((sessions, consents::end_those(connection, "SELECT id FROM grants WHERE user_id = ?1", [user])?))
}

/// Ends what belongs to a disabled user: their sessions and consents, and those of others derived from tokens of
/// theirs.
pub(crate) fn disabled(connection: &StoreConnection, id: i64, before: User) -> Result<(User, Vec<Change>)> {
    let (_, mut ended) = end_person(connection, id)?;
    for token in line(connection, "user_id = ?1", [id])? {
        ended.extend(end_begun(connection, token)?);
    }
    let (user, change) = users::changed("user disable", connection, before)?;
    Ok((user, change.into_iter().chain(ended).collect()))
}

/// Ends everything that came of a token: tokens that were made in its sessions, and theirs, with their
/// sessions and grants.
pub(crate) fn end_descendants(connection: &StoreConnection, token: Uuid, now: Now) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for each in line(connection, "id = ?1", [token.to_string()])? {
        if each != token {
            changes.extend(tokens::mark_revoked(connection, each, now)?);
        }
        changes.extend(end_begun(connection, each)?);
    }
    Ok(changes)
}

/// Returns the tokens for which `condition` holds, and those derived from them.
fn line(connection: &StoreConnection, condition: &str, values: impl ToParams) -> Result<Vec<Uuid>> {
    let sql = format!(
        "WITH RECURSIVE line (id) AS (
             SELECT id FROM personal_access_tokens WHERE {condition}
             UNION SELECT t.id FROM personal_access_tokens t JOIN line l ON t.parent_id = l.id)
         SELECT id FROM line"
    );
    connection.query(&sql, values, |row| row.id(0))
}

/// Ends the sessions that a token began, and the grants that were given in them.
fn end_begun(connection: &StoreConnection, token: Uuid) -> Result<Vec<Change>> {
    let token = token.to_string();
    connection.execute("DELETE FROM sessions WHERE token_id = ?1", [&token])?;
    consents::end_those(connection, "SELECT id FROM grants WHERE token_id = ?1", [&token])
}

/// Revokes a token, and everything that came of it: the changes.
pub(crate) fn revoke_token(connection: &StoreConnection, token: Uuid, now: Now) -> Result<Vec<Change>> {
    let own = tokens::mark_revoked(connection, token, now)?;
    Ok(own.into_iter().chain(end_descendants(connection, token, now)?).collect())
}

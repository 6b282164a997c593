//! What ends with what: a token with the tokens, sessions and grants that came of it, and what a person is
//! signed in to. Each in the transaction of its cause, and recorded behind it.

use uuid::Uuid;

use super::change::Change;
use super::columns::Id;
use super::connection::{Connection, Values};
use super::{Store, broken, consents, tokens, users};
use crate::auth::clock::Now;
use crate::auth::records::{SignedOut, User};
use crate::error::Result;

impl Store {
    /// Ends every session of a user, and everything that they have allowed clients; with `all` their
    /// personal access tokens too.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn sign_out_user(&mut self, email: &str, all: bool) -> Result<SignedOut> {
        let actor = self.actor;
        self.change_if(|connection, now| {
            let (id, user) = users::find(connection, &actor.authority(connection, now)?, email)?;
            let (sessions, mut changes) = end_person(connection, id)?;
            let grants = changes.len();
            if all {
                let sql = "SELECT id FROM personal_access_tokens WHERE user_id = ?1 AND revoked_at IS NULL";
                let ids = connection.query(sql, [id], |row| row.get::<_, Id>(0)).map_err(broken)?;
                for Id(token) in ids {
                    changes.extend(tokens::revoke(connection, token, now)?);
                }
            }
            let signed_out = SignedOut { email: user.email, sessions, grants, tokens: changes.len() - grants };
            changes.insert(0, Change::of("user sign-out", Some(&signed_out), None));
            Ok((signed_out, changes))
        })
    }
}

/// Ends every session and every grant of a user: how many sessions, and the changes.
pub(super) fn end_person(connection: &Connection, user: i64) -> Result<(usize, Vec<Change>)> {
    let sessions = connection.execute("DELETE FROM sessions WHERE user_id = ?1", [user]).map_err(broken)?;
    Ok((sessions, consents::end_those(connection, "SELECT id FROM grants WHERE user_id = ?1", [user])?))
}

/// What ends when a user is disabled: what they are signed in to and have allowed, and the same of others that came
/// of tokens of theirs.
pub(super) fn disabled(connection: &Connection, id: i64, before: User) -> Result<(User, Vec<Change>)> {
    let (_, mut ended) = end_person(connection, id)?;
    for token in line(connection, "user_id = ?1", [id])? {
        ended.extend(end_begun(connection, token)?);
    }
    let (user, change) = users::changed("user disable", connection, before)?;
    Ok((user, std::iter::once(change).chain(ended).collect()))
}

/// Ends everything that came of a token: tokens that were made in its sessions, and theirs, with their
/// sessions and grants.
pub(super) fn end_descendants(connection: &Connection, token: Uuid, now: Now) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for each in line(connection, "id = ?1", [token.to_string()])? {
        if each != token {
            changes.extend(tokens::mark_revoked(connection, each, now)?);
        }
        changes.extend(end_begun(connection, each)?);
    }
    Ok(changes)
}

/// The tokens of which `condition` holds, and those that came of them.
fn line(connection: &Connection, condition: &str, values: impl Values) -> Result<Vec<Uuid>> {
    let sql = format!(
        "WITH RECURSIVE line (id) AS (
             SELECT id FROM personal_access_tokens WHERE {condition}
             UNION SELECT t.id FROM personal_access_tokens t JOIN line l ON t.parent_id = l.id)
         SELECT id FROM line"
    );
    let line = connection.query(&sql, values, |row| row.get::<_, Id>(0)).map_err(broken)?;
    Ok(line.into_iter().map(|Id(id)| id).collect())
}

/// Ends the sessions that a token began, and the grants that were given in them.
fn end_begun(connection: &Connection, token: Uuid) -> Result<Vec<Change>> {
    let token = token.to_string();
    connection.execute("DELETE FROM sessions WHERE token_id = ?1", [&token]).map_err(broken)?;
    consents::end_those(connection, "SELECT id FROM grants WHERE token_id = ?1", [&token])
}

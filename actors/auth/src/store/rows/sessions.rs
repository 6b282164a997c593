//! Rows of sessions, and the operations within one.

use rusqlite::named_params;

use crate::accounts::session::{SESSION_IDLE, SESSION_LIFETIME, Session};
use crate::clock::{Now, Timestamp};
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::model::authority::{Actor, Authority};
use crate::store::rows::tokens;
use crate::store::sql::columns::rights;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};

/// The session and when it was last seen.
pub(crate) fn find(connection: &StoreConnection, digest: &Digest, now: Now) -> Result<Option<(Session, Timestamp)>> {
    let sql = "SELECT u.id, u.email, u.scope, u.reach, t.id, t.name, t.scope, t.reach, t.expires_at, s.seen_at
               FROM sessions s JOIN users u ON u.id = s.user_id
               LEFT JOIN personal_access_tokens t ON t.id = s.token_id
               WHERE s.digest = :digest AND u.disabled_at IS NULL AND s.seen_at > :idle AND s.created_at > :old
                 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > :ended)";
    let values = named_params! {
        ":digest": digest,
        ":ended": now.ended(),
        ":idle": now.ended().before(SESSION_IDLE),
        ":old": now.ended().before(SESSION_LIFETIME),
    };
    let read = |row: &Row<'_>| {
        let (person, bound) = (rights(row, 2, 3)?, rights(row, 6, 7)?);
        let both = person.intersection(&bound);
        let session = Session {
            user_id: row.get(0)?,
            email: row.get(1)?,
            whole: both == person,
            rights: both,
            bound,
            token_id: row.optional_id(4)?,
            token: row.get(5)?,
            ends: row.get(8)?,
        };
        Ok((session, row.get(9)?))
    };
    let found: Option<(Session, Timestamp)> = connection.query_opt(sql, values, read)?;
    match found.as_ref().and_then(|(session, _)| session.token_id) {
        Some(token) if !tokens::stands(connection, token, now)? => Ok(None),
        _ => Ok(found),
    }
}

/// The session in force, or the request to sign in.
pub(crate) fn require(connection: &StoreConnection, digest: &Digest, now: Now) -> Result<Session> {
    find(connection, digest, now)?
        .map(|(session, _)| session)
        .ok_or_else(|| Error::unauthenticated("your session has ended; sign in again"))
}

impl Actor {
    /// Returns the actor's current authority.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) for a user who is no administrator, or a narrowed
    /// session.
    pub(crate) fn authority(self, connection: &StoreConnection, now: Now) -> Result<Authority> {
        match self {
            Self::Operator => Ok(Authority::of_operator()),
            Self::Nobody => Err(Error::forbidden("this is for administrators")),
            Self::Session(digest) => Authority::of_session(require(connection, &digest, now)?),
        }
    }
}

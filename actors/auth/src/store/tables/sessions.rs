//! Sessions of signed-in people in the store.

use rusqlite::{named_params, params};
use uuid::Uuid;

use crate::accounts::session::{MOST_SESSIONS, SESSION_IDLE, SESSION_LIFETIME, Session};
use crate::clock::{Now, Timestamp};
use crate::records::User;
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::open::Store;
use crate::store::rows::sessions::{find, require};
use crate::store::rows::{cascade, tokens, users};
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};
use portico_core::name::key as email_key;

/// How old the note of a session's last use may be, in seconds: not every page writes.
const NOTE_EVERY: i64 = 60;

impl Store {
    /// Sets a user's password, as its PHC string, or removes it; ends every session and every consent of the user.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user.
    pub(crate) fn set_password(&mut self, email: &str, password: Option<&str>) -> Result<User> {
        self.administer(|connection, _, authority| {
            let (id, before) = users::find(connection, authority, email)?;
            let change = named_params! { ":password": password, ":id": id };
            connection.execute("UPDATE users SET password = :password WHERE id = :id", change)?;
            let (_, ended) = cascade::end_person(connection, id)?;
            let (user, [change]) = users::changed("user password", connection, before)?;
            let change = if password.is_some() { change.of_secret("password") } else { change };
            Ok((user, std::iter::once(change).chain(ended)))
        })
    }

    /// Returns that user's e-mail address as it was given, and the PHC string of the password: `None` if there is
    /// no password, or the user is disabled.
    pub(crate) fn password(&self, email: &str) -> Result<Option<(String, Option<String>)>> {
        let sql = "SELECT email, CASE WHEN disabled_at IS NULL THEN password END FROM users WHERE email_key = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.connection.query_opt(sql, [email_key(email)], read)
    }

    /// Begins a session with a password that was found right while it was `password`.
    pub(crate) fn begin_session(&mut self, email: &str, password: &str, session: &Digest) -> Result<()> {
        self.write(|connection, now| {
            let sql = "SELECT id FROM users WHERE email_key = ?1 AND password = ?2 AND disabled_at IS NULL";
            let user: Option<i64> = connection.query_opt(sql, params![email_key(email), password], |row| row.get(0))?;
            begin(connection, session, user.ok_or_else(refused)?, None, now)
        })
    }

    /// Begins a session with a personal access token of that user. Returns the e-mail address as it was given.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`](portico_core::error::Kind::Unauthenticated) if they do not match, with the address
    /// as the claimed identity if it is a user's.
    pub(crate) fn begin_session_by_token(&mut self, email: &str, token: &Digest, session: &Digest) -> Result<String> {
        // Checked first: strangers do not make writers wait, and the trail says what is wrong.
        let shown = ShownToken::find(&self.connection, email, token)?;
        let refusal = |because: &str| {
            let refusal =
                shown.id.iter().fold(refused().because(because), |refusal, id| refusal.of_credential(id.to_string()));
            shown.email.iter().fold(refusal, Error::claimed)
        };
        if let Some(wrong) = shown.wrong(self.clock.now()) {
            return Err(refusal(wrong));
        }
        self.write(|connection, now| {
            let found = ShownToken::find(connection, email, token)?;
            let (None, Some(user), Some(token)) = (found.wrong(now), found.user, found.id) else {
                return Err(refusal("the personal access token was revoked meanwhile"));
            };
            if !tokens::stands(connection, token, now)? {
                return Err(refusal("the token that the personal access token was made with is refused"));
            }
            let token_id = token.to_string();
            let used = named_params! { ":now": now.time(), ":id": token_id };
            connection.execute("UPDATE personal_access_tokens SET last_used_at = :now WHERE id = :id", used)?;
            begin(connection, session, user, Some(&token_id), now)
        })?;
        Ok(shown.email.unwrap_or_else(|| email.to_owned()))
    }

    /// Returns the valid session whose secret has that digest.
    pub(crate) fn session(&mut self, digest: &Digest) -> Result<Option<Session>> {
        let now = self.clock.now();
        let Some((session, seen)) = find(&self.connection, digest, now)? else { return Ok(None) };
        if now.time().seconds().saturating_sub(seen.seconds()) >= NOTE_EVERY {
            self.write(|connection, now| {
                let seen = named_params! { ":now": now.time(), ":digest": digest };
                connection.execute("UPDATE sessions SET seen_at = :now WHERE digest = :digest", seen)
            })?;
        }
        Ok(Some(session))
    }

    /// Returns true if there is such a session, even if it has ended and is not deleted yet.
    pub(crate) fn knows_session(&self, digest: &Digest) -> Result<bool> {
        Ok(self.connection.count("sessions WHERE digest = ?1", [digest])? > 0)
    }

    /// The session in force, or the request to sign in.
    pub(crate) fn required(&self, digest: &Digest) -> Result<Session> {
        require(&self.connection, digest, self.clock.now())
    }

    /// Ends a session, or with `everywhere` all of its user's.
    pub(crate) fn end_session(&mut self, digest: &Digest, everywhere: bool) -> Result<()> {
        let sql = if everywhere {
            "DELETE FROM sessions WHERE user_id = (SELECT user_id FROM sessions WHERE digest = ?1)"
        } else {
            "DELETE FROM sessions WHERE digest = ?1"
        };
        self.write(|connection, _| connection.execute(sql, [digest]).map(drop))
    }
}

/// An address and a personal access token that are shown together.
struct ShownToken {
    /// The user of the address, if there is one.
    user: Option<i64>,
    /// The address as it was given.
    email: Option<String>,
    /// Of the token, if there is one.
    id: Option<Uuid>,
    /// Whether the token is that person's.
    belongs: bool,
    revoked_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    /// When the person was.
    disabled_at: Option<Timestamp>,
}

impl ShownToken {
    fn find(connection: &StoreConnection, email: &str, token: &Digest) -> Result<Self> {
        let sql = "SELECT own.id, own.email, t.id, t.user_id = own.id, t.revoked_at, t.expires_at, own.disabled_at
                   FROM (SELECT 1) AS one LEFT JOIN users own ON own.email_key = :email
                   LEFT JOIN personal_access_tokens t ON t.digest = :token";
        connection.query_one(sql, named_params! { ":email": email_key(email), ":token": token }, |row| {
            Ok(Self {
                user: row.get(0)?,
                email: row.get(1)?,
                id: row.optional_id(2)?,
                belongs: row.get::<_, Option<bool>>(3)?.unwrap_or_default(),
                revoked_at: row.get(4)?,
                expires_at: row.get(5)?,
                disabled_at: row.get(6)?,
            })
        })
    }

    /// Returns what is wrong with them, for the trail.
    fn wrong(&self, now: Now) -> Option<&'static str> {
        match self {
            Self { id: None, .. } => Some("the personal access token is unknown"),
            Self { belongs: false, .. } => Some("the personal access token belongs to another user"),
            Self { revoked_at: Some(_), .. } => Some("the personal access token was revoked"),
            Self { disabled_at: Some(_), .. } => Some("the user of the personal access token is disabled"),
            Self { expires_at, .. } => expires_at.is_some_and(|end| now.is_over(end)).then_some("expired"),
        }
    }
}

fn begin(connection: &StoreConnection, digest: &Digest, user: i64, token: Option<&str>, now: Now) -> Result<()> {
    connection.execute(
        "DELETE FROM sessions WHERE seen_at <= :idle OR created_at <= :old",
        named_params! { ":idle": now.ended().before(SESSION_IDLE), ":old": now.ended().before(SESSION_LIFETIME) },
    )?;
    connection.execute(
        "DELETE FROM sessions WHERE user_id = :user AND digest NOT IN
             (SELECT digest FROM sessions WHERE user_id = :user ORDER BY seen_at DESC, created_at DESC LIMIT :most)",
        named_params! { ":user": user, ":most": MOST_SESSIONS - 1 },
    )?;
    let time = now.time();
    let row = named_params! {
        ":digest": digest, ":user_id": user, ":token_id": token, ":created_at": time, ":seen_at": time
    };
    connection.insert("sessions", row)
}

fn refused() -> Error {
    Error::unauthenticated("the address or the secret is not right")
}

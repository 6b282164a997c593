//! Users in the store.

use rusqlite::named_params;
use secrecy::SecretString;

use super::actor::Authority;
use super::change::Change;
use super::columns::{connections, rights};
use super::connection::{Connection, Failure, Optional, Read, Row};
use super::{Store, broken, email_key, endings, hint, tokens};
use crate::auth::clock::{Now, Timestamp};
use crate::auth::people::password;
use crate::auth::records::{LONGEST_EMAIL, NewPat, NewUser, User};
use crate::auth::secret::{self, PAT_PREFIX};
use crate::error::{Error, Result};
use crate::name;
use crate::near;

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when the address is taken, or is none.
    pub fn add_user(&mut self, new: NewUser) -> Result<User> {
        let actor = self.actor;
        self.change(|connection, now| {
            let (_, user) = add(connection, now, &actor.authority(connection, now)?, &new)?;
            let change = Change::of("user add", None, Some(&user));
            Ok((user, change))
        })
    }

    /// Adds a user with a first token to sign in with, which is in nobody's hands but the caller's.
    ///
    /// # Errors
    /// As [`Store::add_user`] and [`Store::create_pat`]; then there is neither.
    pub fn add_user_with_token(&mut self, new: &NewUser, first: NewPat) -> Result<(User, SecretString)> {
        let (secret, digest) = secret::mint(PAT_PREFIX)?;
        let actor = self.actor;
        let user = self.change_if(|connection, now| {
            let authority = actor.authority(connection, now)?;
            let (id, user) = add(connection, now, &authority, new)?;
            let added = Change::of("user add", None, Some(&user));
            let (_, made) = tokens::add_for(connection, now, &authority, (id, &user), first, &digest)?;
            Ok((user, [added, made]))
        })?;
        Ok((user, secret))
    }

    /// Gives the user of that address another reach and scope. Tokens keep their own narrowing.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn change_user(&mut self, change: NewUser) -> Result<User> {
        let actor = self.actor;
        self.change(|connection, now| {
            let authority = actor.authority(connection, now)?;
            let (id, before) = find(connection, &authority, &change.email)?;
            authority.within(&change.rights)?;
            connection
                .execute(
                    "UPDATE users SET admin = :admin, scope = :scope, reach = :reach, judged = 1 WHERE id = :id",
                    named_params! {
                        ":admin": change.rights.administer(),
                        ":scope": change.rights.widest(),
                        ":reach": connections(&change.rights)?,
                        ":id": id,
                    },
                )
                .map_err(broken)?;
            changed("user change", connection, before)
        })
    }

    /// Every user who may be seen, by address.
    pub fn users(&self) -> Result<Vec<User>> {
        seen(&self.connection, &self.authority()?)
    }

    /// Removes a user, and every token of theirs.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn remove_user(&mut self, email: &str) -> Result<User> {
        let actor = self.actor;
        self.change(|connection, now| {
            let authority = actor.authority(connection, now)?;
            let (id, user) = find(connection, &authority, email)?;
            authority.not_oneself(id)?;
            connection.execute("DELETE FROM users WHERE id = ?1", [id]).map_err(broken)?;
            let change = Change::of("user remove", Some(&user), None);
            Ok((user, change))
        })
    }

    /// Refuses a user: every session ends, and everything that they have allowed clients, for good; tokens
    /// are refused until this is taken back.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn disable_user(&mut self, email: &str) -> Result<User> {
        let actor = self.actor;
        self.change_if(|connection, now| {
            let authority = actor.authority(connection, now)?;
            let (id, before) = find(connection, &authority, email)?;
            authority.not_oneself(id)?;
            let change = named_params! { ":now": now.time(), ":id": id };
            let sql = "UPDATE users SET disabled_at = :now WHERE id = :id AND disabled_at IS NULL";
            connection.execute(sql, change).map_err(broken)?;
            endings::disabled(connection, id, before)
        })
    }

    /// Takes back [`Store::disable_user`].
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) while another one has the address in another spelling.
    pub fn enable_user(&mut self, email: &str) -> Result<User> {
        let actor = self.actor;
        self.change(|connection, now| {
            let (id, before) = find(connection, &actor.authority(connection, now)?, email)?;
            // One that was set apart from a namesake has no key of its own.
            let sql = "UPDATE users SET disabled_at = NULL, email_key = ?1 WHERE id = ?2";
            match connection.execute(sql, (email_key(&before.email), id)) {
                Err(Failure::Taken) => Err(Error::invalid("another user has this address in another spelling")
                    .hint("`portico user list` shows both; remove one of them first")),
                Err(error) => Err(broken(error)),
                Ok(_) => changed("user enable", connection, before),
            }
        })
    }

    /// Gives a user a password, or with `None` takes it away; ends every session of theirs, and everything
    /// that they have allowed clients. Takes tens of milliseconds.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) for a password that is too short or too long.
    pub fn change_password(&mut self, email: &str, password: Option<&SecretString>) -> Result<User> {
        let kept = password.map(password::hash).transpose()?;
        self.set_password(email, kept.as_deref())
    }
}

/// Adds a user: the row, and what it holds.
fn add(connection: &Connection, now: Now, authority: &Authority, new: &NewUser) -> Result<(i64, User)> {
    check_email(&new.email)?;
    authority.within(&new.rights)?;
    // Whoever was set apart from a namesake (`namesakes`) keeps that spelling.
    if by_email(connection, &new.email).optional().map_err(broken)?.is_some() {
        return Err(Error::invalid(format!("there is already a user {}", new.email))
            .hint("remove that user first, or choose another address"));
    }
    let added = connection.execute(
        "INSERT INTO users (email, email_key, admin, scope, reach, created_at, judged)
         VALUES (:email, :email_key, :admin, :scope, :reach, :now, 1)",
        named_params! {
            ":email": new.email,
            ":email_key": email_key(&new.email),
            ":admin": new.rights.administer(),
            ":scope": new.rights.widest(),
            ":reach": connections(&new.rights)?,
            ":now": now.time(),
        },
    );
    added.map_err(broken)?;
    by_email(connection, &new.email).map_err(broken)
}

/// The user as they are now, and how that came about.
pub(super) fn changed(action: &'static str, connection: &Connection, before: User) -> Result<(User, Change)> {
    let (_, user) = by_email(connection, &before.email).map_err(broken)?;
    let change = Change::of(action, Some(&before), Some(&user));
    Ok((user, change))
}

const SELECT: &str =
    "SELECT id, email, scope, reach, created_at, password IS NOT NULL AS has_password, disabled_at FROM users";

fn user(row: &Row<'_>) -> Read<(i64, User)> {
    let user = User {
        email: row.get("email")?,
        rights: rights(row, "scope", "reach")?,
        created_at: row.get::<_, Timestamp>("created_at")?,
        has_password: row.get("has_password")?,
        disabled_at: row.get("disabled_at")?,
    };
    Ok((row.get("id")?, user))
}

/// The user of that address. One that was set apart from a namesake (`namesakes`) is found in its own
/// spelling.
fn by_email(connection: &Connection, email: &str) -> Read<(i64, User)> {
    let sql = format!("{SELECT} WHERE email_key = ?1 OR email = ?2 ORDER BY email_key = ?1");
    connection.query_row(&sql, (email_key(email), email), user)
}

/// Every user who may be seen, by address.
fn seen(connection: &Connection, authority: &Authority) -> Result<Vec<User>> {
    let users = connection.query(&format!("{SELECT} ORDER BY email_key"), (), user).map_err(broken)?;
    Ok(users.into_iter().map(|(_, user)| user).filter(|user| authority.sees(&user.rights)).collect())
}

/// The user of that address, if they may be seen, and the row's id.
pub(super) fn find(connection: &Connection, authority: &Authority, email: &str) -> Result<(i64, User)> {
    let found = by_email(connection, email).optional().map_err(broken)?;
    if let Some(found) = found.filter(|(_, user)| authority.sees(&user.rights)) {
        return Ok(found);
    }
    let known = seen(connection, authority)?;
    let near = near::nearest(email, known.iter().map(|user| user.email.as_str()));
    Err(Error::not_found(format!("there is no user {}", super::shown(email))).hint(hint(&near, "portico user list")))
}

/// Only what Basic authentication can carry (RFC 7617 §2: no colon) and a listing can show; whether
/// mail arrives there does not matter.
fn check_email(email: &str) -> Result<()> {
    let parts = email.split_once('@');
    let whole = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    let plain = !email.chars().any(|c| c.is_control() || c.is_whitespace() || c == ':');
    if whole && plain && !name::hides(email) && email.len() <= LONGEST_EMAIL {
        Ok(())
    } else {
        Err(Error::invalid(
            "the e-mail address has the form name@domain, with no white space, no colon and nothing that is not seen",
        ))
    }
}

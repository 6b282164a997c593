//! Users in the store.

use rusqlite::named_params;
use secrecy::SecretString;

use super::change::Change;
use super::columns::{reach, reach_text};
use super::connection::{Connection, Failure, Read, Row};
use super::{Store, broken, email_key, endings, hint};
use crate::auth::clock::Timestamp;
use crate::auth::people::password;
use crate::auth::records::{LONGEST_EMAIL, NewUser, User};
use crate::error::{Error, Result};
use crate::name;
use crate::near;
use crate::principal::Scope;

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when the address is taken, or is none.
    pub fn add_user(&mut self, new: NewUser) -> Result<User> {
        check_email(&new.email)?;
        let scope = scope_of(&new)?;
        self.change(|connection, now| {
            let added = connection.execute(
                "INSERT INTO users (email, email_key, admin, scope, reach, created_at)
                 VALUES (:email, :email_key, :admin, :scope, :reach, :now)",
                named_params! {
                    ":email": new.email,
                    ":email_key": email_key(&new.email),
                    ":admin": new.admin,
                    ":scope": scope,
                    ":reach": reach_text(&new.reach)?,
                    ":now": now,
                },
            );
            match added {
                Err(Failure::Taken) => Err(Error::invalid(format!("there is already a user {}", new.email))
                    .hint("remove that user first, or choose another address")),
                Err(error) => Err(broken(error)),
                Ok(_) => {
                    let (_, user) = find(connection, &new.email)?;
                    let change = Change::of("user add", None, Some(&user));
                    Ok((user, change))
                }
            }
        })
    }

    /// Gives the user of that address another reach and scope. Tokens keep their own narrowing.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn change_user(&mut self, change: NewUser) -> Result<User> {
        let scope = scope_of(&change)?;
        self.change(|connection, _| {
            let (id, before) = find(connection, &change.email)?;
            connection
                .execute(
                    "UPDATE users SET admin = :admin, scope = :scope, reach = :reach WHERE id = :id",
                    named_params! {
                        ":admin": change.admin,
                        ":scope": scope,
                        ":reach": reach_text(&change.reach)?,
                        ":id": id,
                    },
                )
                .map_err(broken)?;
            changed("user change", connection, before)
        })
    }

    /// Every user, by address.
    pub fn users(&self) -> Result<Vec<User>> {
        let users = self.connection.query(&format!("{SELECT} ORDER BY email_key"), (), user).map_err(broken)?;
        Ok(users.into_iter().map(|(_, user)| user).collect())
    }

    /// Removes a user, and every token of theirs.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user.
    pub fn remove_user(&mut self, email: &str) -> Result<User> {
        self.change(|connection, _| {
            let (id, user) = find(connection, email)?;
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
        self.change_if(|connection, now| {
            let (id, before) = find(connection, email)?;
            let change = named_params! { ":now": now, ":id": id };
            let sql = "UPDATE users SET disabled_at = :now WHERE id = :id AND disabled_at IS NULL";
            connection.execute(sql, change).map_err(broken)?;
            endings::changed_and_ended("user disable", connection, id, before)
        })
    }

    /// Takes back [`Store::disable_user`].
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such user,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) while another one has the address in another spelling.
    pub fn enable_user(&mut self, email: &str) -> Result<User> {
        self.change(|connection, _| {
            let (id, before) = find(connection, email)?;
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

/// The user as they are now, and how that came about.
pub(super) fn changed(action: &'static str, connection: &Connection, before: User) -> Result<(User, Change)> {
    let (_, user) = find(connection, &before.email)?;
    let change = Change::of(action, Some(&before), Some(&user));
    Ok((user, change))
}

const SELECT: &str =
    "SELECT id, email, admin, scope, reach, created_at, password IS NOT NULL AS has_password, disabled_at FROM users";

fn user(row: &Row<'_>) -> Read<(i64, User)> {
    let user = User {
        email: row.get("email")?,
        admin: row.get("admin")?,
        scope: row.get("scope")?,
        reach: reach(row.get("reach")?),
        created_at: row.get::<_, Timestamp>("created_at")?,
        has_password: row.get("has_password")?,
        disabled_at: row.get("disabled_at")?,
    };
    Ok((row.get("id")?, user))
}

/// The user of that address and the row's id. One that was set apart from a namesake (`namesakes`) is found in
/// its own spelling.
pub(super) fn find(connection: &Connection, email: &str) -> Result<(i64, User)> {
    let sql = format!("{SELECT} WHERE email_key = ?1 OR email = ?2 ORDER BY email_key = ?1");
    let found = connection.query_row(&sql, (email_key(email), email), user);
    match found {
        Err(Failure::NoRows) => Err(unknown(connection, email)?),
        found => found.map_err(broken),
    }
}

fn unknown(connection: &Connection, email: &str) -> Result<Error> {
    let known = connection.query("SELECT email FROM users", (), |row| row.get::<_, String>(0)).map_err(broken)?;
    let near = near::nearest(email, known.iter().map(String::as_str));
    Ok(Error::not_found(format!("there is no user {}", super::shown(email))).hint(hint(&near, "portico user list")))
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

fn scope_of(new: &NewUser) -> Result<Scope> {
    match (new.admin, new.scope) {
        (true, Scope::Read) => Err(Error::invalid("an administrator cannot be read-only; choose one of the two")),
        (true, _) => Ok(Scope::Admin),
        (false, Scope::Admin) => Err(Error::invalid("the scope admin is for administrators alone; add --admin")),
        (false, scope) => Ok(scope),
    }
}

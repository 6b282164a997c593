//! Users in the store.

use rusqlite::named_params;
use secrecy::SecretString;

use crate::accounts::password;
use crate::records::{NewPat, NewUser, SignedOut, User};
use crate::secret::{self, PAT_PREFIX};
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::rows::users::{add, changed, find, seen};
use crate::store::rows::{cascade, tokens};
use crate::store::sql::columns::connections;
use portico_core::error::{Error, Result};
use portico_core::name::key as email_key;

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the address is taken, or not valid.
    pub fn add_user(&mut self, new: NewUser) -> Result<User> {
        self.administer(|connection, now, authority| {
            let (_, user) = add(connection, now, authority, &new)?;
            let change = Change::new("user add", None, Some(&user));
            Ok((user, [change]))
        })
    }

    /// Adds a user with a first token to sign in with, which is known only to the caller.
    ///
    /// # Errors
    /// As [`Store::add_user`] and [`Store::create_pat`]; then neither is added.
    pub fn add_user_with_token(&mut self, new: &NewUser, first: NewPat) -> Result<(User, SecretString)> {
        let (secret, digest) = secret::mint(PAT_PREFIX)?;
        let user = self.administer(|connection, now, authority| {
            let (id, user) = add(connection, now, authority, new)?;
            let added = Change::new("user add", None, Some(&user));
            let (_, [made]) = tokens::add_for(connection, now, authority, (id, &user), first, &digest)?;
            Ok((user, [added, made]))
        })?;
        Ok((user, secret))
    }

    /// Changes the reach and the scope of the user of that address. Tokens keep their own narrowing.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user.
    pub fn change_user(&mut self, change: NewUser) -> Result<User> {
        self.administer(|connection, _, authority| {
            let (id, before) = find(connection, authority, &change.email)?;
            authority.within(&change.rights)?;
            let values = named_params! {
                ":admin": change.rights.administer(),
                ":scope": change.rights.widest().as_str(),
                ":reach": connections(&change.rights)?,
                ":id": id,
            };
            let sql = "UPDATE users SET admin = :admin, scope = :scope, reach = :reach, judged = 1 WHERE id = :id";
            connection.execute(sql, values)?;
            changed("user change", connection, before)
        })
    }

    /// Returns all visible users, by address.
    pub fn users(&self) -> Result<Vec<User>> {
        seen(&self.connection, &self.authority()?)
    }

    /// Removes a user, and all tokens of the user.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user.
    pub fn remove_user(&mut self, email: &str) -> Result<User> {
        self.administer(|connection, _, authority| {
            let (id, user) = find(connection, authority, email)?;
            authority.not_oneself(id)?;
            connection.execute("DELETE FROM users WHERE id = ?1", [id])?;
            let change = Change::new("user remove", Some(&user), None);
            Ok((user, [change]))
        })
    }

    /// Disables a user: every session and every consent ends for good; tokens are refused until this is reversed.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user.
    pub fn disable_user(&mut self, email: &str) -> Result<User> {
        self.administer(|connection, now, authority| {
            let (id, before) = find(connection, authority, email)?;
            authority.not_oneself(id)?;
            let change = named_params! { ":now": now.time(), ":id": id };
            let sql = "UPDATE users SET disabled_at = :now WHERE id = :id AND disabled_at IS NULL";
            connection.execute(sql, change)?;
            cascade::disabled(connection, id, before)
        })
    }

    /// Reverses [`Store::disable_user`].
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user,
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) while another one has the address in another spelling.
    pub fn enable_user(&mut self, email: &str) -> Result<User> {
        self.administer(|connection, _, authority| {
            let (id, before) = find(connection, authority, email)?;
            // A user renamed because of a duplicate has no key of its own.
            let values = named_params! { ":key": email_key(&before.email), ":id": id };
            if connection.count("users WHERE email_key = :key AND id <> :id", values)? > 0 {
                return Err(Error::invalid("another user has this address in another spelling")
                    .hint("`portico user list` shows both; remove one of them first"));
            }
            connection.execute("UPDATE users SET disabled_at = NULL, email_key = :key WHERE id = :id", values)?;
            changed("user enable", connection, before)
        })
    }

    /// Sets a user's password, or with `None` removes it; ends every session and every consent of the user. Takes
    /// tens of milliseconds.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user,
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for a password that is too short or too long.
    pub fn change_password(&mut self, email: &str, password: Option<&SecretString>) -> Result<User> {
        let kept = password.map(password::hash).transpose()?;
        self.set_password(email, kept.as_deref())
    }

    /// Ends every session and every consent of a user; with `all` their personal access tokens too.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such user.
    pub fn sign_out_user(&mut self, email: &str, all: bool) -> Result<SignedOut> {
        self.administer(|connection, now, authority| {
            let (id, user) = find(connection, authority, email)?;
            let (sessions, mut changes) = cascade::end_person(connection, id)?;
            let grants = changes.len();
            if all {
                let sql = "SELECT id FROM personal_access_tokens WHERE user_id = ?1 AND revoked_at IS NULL";
                let ids = connection.query(sql, [id], |row| row.id(0))?;
                for token in ids {
                    changes.extend(cascade::revoke_token(connection, token, now)?);
                }
            }
            let signed_out = SignedOut { email: user.email, sessions, grants, tokens: changes.len() - grants };
            changes.insert(0, Change::new("user sign-out", Some(&signed_out), None));
            Ok((signed_out, changes))
        })
    }
}

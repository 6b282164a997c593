//! Rows of users.

use rusqlite::{named_params, params};

use crate::clock::Now;
use crate::records::{LONGEST_EMAIL, NewUser, User};
use crate::store::connection::StoreConnection;
use crate::store::model::authority::Authority;
use crate::store::model::change::Change;
use crate::store::rows::names::missing;
use crate::store::sql::columns::{connections, rights};
use crate::store::sql::failure::broken;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};
use portico_core::name::{self, key as email_key};

/// Adds a user. Returns the row's id and the record.
pub(crate) fn add(connection: &StoreConnection, now: Now, authority: &Authority, new: &NewUser) -> Result<(i64, User)> {
    check_email(&new.email)?;
    authority.within(&new.rights)?;
    // A user renamed because of a duplicate (`store/sql/duplicate_emails.rs`) keeps that spelling.
    if by_email(connection, &new.email)?.is_some() {
        return Err(Error::invalid(format!("there is already a user {}", new.email))
            .hint("remove that user first, or choose another address"));
    }
    let row = named_params! {
        ":email": new.email,
        ":email_key": email_key(&new.email),
        ":admin": new.rights.administer(),
        ":scope": new.rights.widest().as_str(),
        ":reach": connections(&new.rights)?,
        ":created_at": now.time(),
        ":judged": true,
    };
    connection.insert("users", row)?;
    kept(connection, &new.email)
}

/// The user as they are now, and how that came about.
pub(crate) fn changed(action: &'static str, connection: &StoreConnection, before: User) -> Result<(User, [Change; 1])> {
    let (_, user) = kept(connection, &before.email)?;
    let change = Change::new(action, Some(&before), Some(&user));
    Ok((user, [change]))
}

const SELECT: &str =
    "SELECT id, email, scope, reach, created_at, password IS NOT NULL AS has_password, disabled_at FROM users";

fn user(row: &Row<'_>) -> Result<(i64, User)> {
    let user = User {
        email: row.get("email")?,
        rights: rights(row, "scope", "reach")?,
        created_at: row.get("created_at")?,
        has_password: row.get("has_password")?,
        disabled_at: row.get("disabled_at")?,
    };
    Ok((row.get("id")?, user))
}

/// The user of that address. One that was set apart from a namesake (`store/sql/duplicate_emails.rs`) is found
/// in its own spelling.
fn by_email(connection: &StoreConnection, email: &str) -> Result<Option<(i64, User)>> {
    let sql = format!("{SELECT} WHERE email_key = ?1 OR email = ?2 ORDER BY email_key = ?1");
    connection.query_opt(&sql, params![email_key(email), email], user)
}

/// Returns the user of that address, which must exist.
fn kept(connection: &StoreConnection, email: &str) -> Result<(i64, User)> {
    by_email(connection, email)?.ok_or_else(|| broken("a row is missing"))
}

/// Returns all visible users, by address.
pub(crate) fn seen(connection: &StoreConnection, authority: &Authority) -> Result<Vec<User>> {
    let users = connection.query(&format!("{SELECT} ORDER BY email_key"), (), user)?;
    Ok(users.into_iter().map(|(_, user)| user).filter(|user| authority.sees(&user.rights)).collect())
}

/// The user of that address, if they may be seen, and the row's id.
pub(crate) fn find(connection: &StoreConnection, authority: &Authority, email: &str) -> Result<(i64, User)> {
    let found = by_email(connection, email)?;
    if let Some(found) = found.filter(|(_, user)| authority.sees(&user.rights)) {
        return Ok(found);
    }
    let known = seen(connection, authority)?;
    Err(missing("user", email, known.iter().map(|user| user.email.as_str()), "portico user list"))
}

/// Refuses what Basic authentication cannot carry (RFC 7617 §2: no colon) or a listing cannot show; whether mail is
/// delivered there does not matter.
fn check_email(email: &str) -> Result<()> {
    let parts = email.split_once('@');
    let whole = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    let plain = !email.chars().any(|c| c.is_control() || c.is_whitespace() || c == ':');
    if whole && plain && !name::has_invisible_characters(email) && email.len() <= LONGEST_EMAIL {
        Ok(())
    } else {
        Err(Error::invalid(
            "the e-mail address must have the form name@domain, with no white space, no colon and no invisible \
             characters",
        ))
    }
}

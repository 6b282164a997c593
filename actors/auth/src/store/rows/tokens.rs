//! Rows of personal access tokens.

use rusqlite::named_params;
use uuid::Uuid;

use crate::clock::Now;
use crate::records::{NewPat, PersonalAccessToken, User};
use crate::secret::{Digest, PAT_PREFIX};
use crate::store::connection::StoreConnection;
use crate::store::model::authority::Authority;
use crate::store::model::change::Change;
use crate::store::rows::names::{check_name, missing, named, shown};
use crate::store::sql::columns::{connections, rights};
use crate::store::sql::params::ToParams;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};
use portico_core::principal::{Rights, Scope};

/// Adds a token for a user, by row and record, which the acting administrator hands over.
pub(crate) fn add_for(
    connection: &StoreConnection,
    now: Now,
    authority: &Authority,
    (id, user): (i64, &User),
    new: NewPat,
    digest: &Digest,
) -> Result<(PersonalAccessToken, [Change; 1])> {
    check_within(&user.email, &user.rights, &new.rights)?;
    let new = authority.handed_over(new, &user.rights);
    add(connection, now, (id, &user.email), new, authority.token(), digest)
}

/// Adds a token for a user, by row and address, with the token that it is made out of.
pub(crate) fn add(
    connection: &StoreConnection,
    now: Now,
    (user_id, email): (i64, &str),
    new: NewPat,
    parent: Option<Uuid>,
    digest: &Digest,
) -> Result<(PersonalAccessToken, [Change; 1])> {
    let id = Uuid::new_v4();
    let name = match new.name {
        Some(name) => name,
        None => format!("token-{}", id.simple().to_string().chars().take(8).collect::<String>()),
    };
    check_name("a token", &name)?;
    if new.expires_at.is_some_and(|end| end <= now.time()) {
        return Err(Error::invalid("the token would have expired already; choose a later end"));
    }
    let own = matching(connection, "t.user_id = ?1 AND t.revoked_at IS NULL", [user_id])?;
    if !named(own, &name, |token| &token.name).is_empty() {
        return Err(Error::invalid(format!("{email} already has a token named {name:?}"))
            .hint("revoke that one first, or choose another name"));
    }
    let row = named_params! {
        ":id": id.to_string(),
        ":user_id": user_id,
        ":name": name,
        ":digest": digest,
        ":scope": new.rights.widest().as_str(),
        ":reach": connections(&new.rights)?,
        ":created_at": now.time(),
        ":expires_at": new.expires_at,
        ":parent_id": parent.map(|parent| parent.to_string()),
        ":parent_known": true,
    };
    connection.insert("personal_access_tokens", row)?;
    let token = by_id(connection, id)?;
    let change = Change::new("pat create", None, Some(&token));
    Ok((token, [change]))
}

/// Returns true if the token and all its ancestors are in force: none is revoked, expired, or a disabled user's.
pub(crate) fn stands(connection: &StoreConnection, token: Uuid, now: Now) -> Result<bool> {
    let sql = "WITH RECURSIVE line (id) AS (
                   SELECT id FROM personal_access_tokens WHERE id = :token
                   UNION SELECT t.parent_id FROM personal_access_tokens t JOIN line l ON t.id = l.id
                         WHERE t.parent_id IS NOT NULL)
               SELECT count(*) FROM line l JOIN personal_access_tokens t ON t.id = l.id JOIN users u ON u.id = t.user_id
               WHERE t.revoked_at IS NOT NULL OR t.expires_at <= :ended OR u.disabled_at IS NOT NULL";
    let values = named_params! { ":token": token.to_string(), ":ended": now.ended() };
    let over: i64 = connection.query_one(sql, values, |row| row.get(0))?;
    Ok(over == 0)
}

/// Marks one token alone as revoked; the change, unless it was before.
pub(crate) fn mark_revoked(connection: &StoreConnection, token: Uuid, now: Now) -> Result<Option<Change>> {
    let before = by_id(connection, token)?;
    if before.revoked_at.is_some() {
        return Ok(None);
    }
    let values = named_params! { ":now": now.time(), ":id": token.to_string() };
    connection.execute("UPDATE personal_access_tokens SET revoked_at = :now WHERE id = :id", values)?;
    Ok(Some(Change::new("pat revoke", Some(&before), Some(&by_id(connection, token)?))))
}

const SELECT: &str =
    "SELECT t.id, u.email, t.name, t.scope, t.reach, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
            t.parent_id, t.parent_known, u.scope AS user_scope, u.reach AS user_reach
    FROM personal_access_tokens t JOIN users u ON u.id = t.user_id";

fn record(row: &Row<'_>) -> Result<PersonalAccessToken> {
    Ok(PersonalAccessToken {
        id: row.id("id")?,
        email: row.get("email")?,
        name: row.get("name")?,
        rights: rights(row, "user_scope", "user_reach")?.intersection(&rights(row, "scope", "reach")?),
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_at: row.get("last_used_at")?,
        parent: row.optional_id("parent_id")?,
        parent_known: row.get("parent_known")?,
    })
}

/// Returns the tokens for which `condition` holds, oldest first.
pub(crate) fn matching(
    connection: &StoreConnection,
    condition: &str,
    values: impl ToParams,
) -> Result<Vec<PersonalAccessToken>> {
    let sql = format!("{SELECT} WHERE {condition} ORDER BY t.created_at, t.rowid");
    connection.query(&sql, values, record)
}

pub(crate) fn by_id(connection: &StoreConnection, id: Uuid) -> Result<PersonalAccessToken> {
    connection.query_one(&format!("{SELECT} WHERE t.id = ?1"), [id.to_string()], record)
}

/// Returns the visible tokens for which `condition` holds, oldest first.
pub(crate) fn seen(
    connection: &StoreConnection,
    authority: &Authority,
    condition: &str,
    values: impl ToParams,
) -> Result<Vec<PersonalAccessToken>> {
    let mut tokens = matching(connection, condition, values)?;
    tokens.retain(|token| authority.sees(&token.rights));
    Ok(tokens)
}

/// Returns the one visible token that `which` names.
pub(crate) fn choose(connection: &StoreConnection, authority: &Authority, which: &str) -> Result<PersonalAccessToken> {
    let mut found = if which.starts_with(PAT_PREFIX) {
        seen(connection, authority, "t.digest = ?1", [Digest::new(which)])?
    } else if let Ok(id) = Uuid::try_parse(which) {
        seen(connection, authority, "t.id = ?1", [id.to_string()])?
    } else {
        named(seen(connection, authority, "t.revoked_at IS NULL", ())?, which, |token| &token.name)
    };
    match (found.pop(), found.is_empty()) {
        (Some(token), true) => Ok(token),
        (Some(last), false) => {
            let all = found.iter().chain([&last]).map(|token| format!("{} of {}", token.id, token.email));
            Err(Error::invalid(format!("several users have a token {}", shown(which)))
                .hint(format!("name one by its id: {}", all.collect::<Vec<_>>().join(", "))))
        }
        (None, _) => {
            let known = seen(connection, authority, "t.revoked_at IS NULL", ())?;
            Err(missing("token", which, known.iter().map(|token| token.name.as_str()), "portico pat list"))
        }
    }
}

/// Refuses a token with more rights than its user has: it would mislead. A token without narrowing is always
/// allowed.
pub(crate) fn check_within(email: &str, own: &Rights, asked: &Rights) -> Result<()> {
    if asked.widest() < Scope::Admin && asked.widest() > own.widest() {
        return Err(Error::invalid(format!("{email} has no more than the scope {}", own.widest().as_str())));
    }
    if asked.list().is_some_and(|connections| connections.iter().any(|(id, _)| !own.covers(*id))) {
        return Err(Error::invalid(format!("{email} does not reach every connection that the token names")));
    }
    // The connections underneath are not known here: what exceeds the user's rights has no effect.
    if let Some((name, _)) = asked.workspaces().iter().find(|(name, _)| !own.may_reach(name)) {
        return Err(Error::invalid(format!("{email} does not reach the workspace {name}")));
    }
    Ok(())
}

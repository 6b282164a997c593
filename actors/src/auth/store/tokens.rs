//! Personal access tokens in the store.

use std::collections::HashMap;

use rusqlite::named_params;
use secrecy::SecretString;
use uuid::Uuid;

use super::actor::Authority;
use super::change::Change;
use super::columns::{Id, connections, rights};
use super::connection::{Connection, Read, Row, Values};
use super::{Store, broken, check_name, endings, hint, named, sessions, shown, users};
use crate::auth::clock::{Now, Timestamp};
use crate::auth::records::{NewPat, PersonalAccessToken, User};
use crate::auth::secret::{self, Digest, PAT_PREFIX};
use crate::error::{Error, Result};
use crate::near;
use crate::principal::{Rights, Scope};

impl Store {
    /// Makes a personal access token. The secret is in nobody's hands but the caller's.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) for an unknown user,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) for a name that the user's tokens have
    /// already, an end in the past, or more than the user has.
    pub fn create_pat(&mut self, email: &str, new: NewPat) -> Result<(PersonalAccessToken, SecretString)> {
        let actor = self.actor;
        self.keep_pat(|connection, now, digest| {
            let authority = actor.authority(connection, now)?;
            let (id, user) = users::find(connection, &authority, email)?;
            add_for(connection, now, &authority, (id, &user), new, digest)
        })
    }

    /// Makes a token for the person of `session`, within what that session began with: it ends with the
    /// token that began the session, at the latest.
    ///
    /// # Errors
    /// As [`Store::create_pat`]; [`Kind::Forbidden`](crate::error::Kind::Forbidden) in a session that was
    /// narrowed.
    pub(crate) fn create_own_pat(
        &mut self,
        session: &Digest,
        new: NewPat,
    ) -> Result<(PersonalAccessToken, SecretString)> {
        self.keep_pat(|connection, now, digest| {
            let session = sessions::require(connection, session, now)?;
            session.must_be_whole()?;
            check_within(&session.email, &session.rights, &new.rights)?;
            let new = session.bound(new);
            add(connection, now, (session.user_id, &session.email), new, session.token_id, digest)
        })
    }

    /// Keeps the token that `add` adds under a digest.
    fn keep_pat(
        &mut self,
        add: impl FnOnce(&Connection, Now, &Digest) -> Result<(PersonalAccessToken, Change)>,
    ) -> Result<(PersonalAccessToken, SecretString)> {
        let (secret, digest) = secret::mint(PAT_PREFIX)?;
        let record = self.change(|connection, now| add(connection, now, &digest))?;
        Ok((record, secret))
    }

    /// Every token of a user, or of all: also the expired and the revoked ones, oldest first.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) for an unknown user.
    pub fn pats(&self, email: Option<&str>) -> Result<Vec<PersonalAccessToken>> {
        match email {
            None => seen(&self.connection, &self.authority()?, "true", ()),
            Some(email) => {
                let (user_id, _) = users::find(&self.connection, &self.authority()?, email)?;
                matching(&self.connection, "t.user_id = ?1", [user_id])
            }
        }
    }

    /// Revokes a token, named by its id, by its name, or by the secret itself, and everything that came of
    /// it. To revoke one twice changes nothing.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when several users' tokens have that name.
    pub fn revoke_pat(&mut self, which: &str) -> Result<PersonalAccessToken> {
        let actor = self.actor;
        self.change_if(|connection, now| {
            let token = choose(connection, &actor.authority(connection, now)?, which)?;
            let changes = revoke(connection, token.id, now)?;
            Ok((by_id(connection, token.id)?, changes))
        })
    }

    /// Revokes a token of the person of `session`.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when it is not theirs,
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden) in a session that was narrowed.
    pub(crate) fn revoke_own_pat(&mut self, session: &Digest, id: Uuid) -> Result<PersonalAccessToken> {
        self.change_if(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            session.must_be_whole()?;
            let own = "t.id = ?1 AND t.user_id = ?2 AND t.revoked_at IS NULL";
            let token = matching(connection, own, (id.to_string(), session.user_id))?.pop();
            let token = token.ok_or_else(|| Error::not_found("there is no such token of yours"))?;
            let changes = revoke(connection, token.id, now)?;
            Ok((by_id(connection, token.id)?, changes))
        })
    }

    /// The session's person's tokens that are not revoked and open no more than the session, the newest first.
    pub(crate) fn tokens_of(&self, session: &Digest) -> Result<Vec<PersonalAccessToken>> {
        let session = self.required(session)?;
        let mut tokens = matching(&self.connection, "t.user_id = ?1 AND t.revoked_at IS NULL", [session.user_id])?;
        tokens.retain(|token| session.rights.contains(&token.rights));
        tokens.reverse();
        Ok(tokens)
    }

    /// Notes when tokens were last used.
    pub(crate) fn note_uses(&mut self, uses: &HashMap<Digest, Timestamp>) -> Result<()> {
        self.write(|connection, _| {
            let sql = "UPDATE personal_access_tokens SET last_used_at = :at
                       WHERE digest = :digest AND coalesce(last_used_at, 0) < :at";
            for (digest, at) in uses {
                connection.execute(sql, named_params! { ":at": at, ":digest": digest }).map_err(broken)?;
            }
            Ok(())
        })
    }
}

/// Adds a token for a user, by row and record, that whoever acts hands over.
pub(super) fn add_for(
    connection: &Connection,
    now: Now,
    authority: &Authority,
    (id, user): (i64, &User),
    new: NewPat,
    digest: &Digest,
) -> Result<(PersonalAccessToken, Change)> {
    check_within(&user.email, &user.rights, &new.rights)?;
    let new = authority.handed_over(new, &user.rights);
    add(connection, now, (id, &user.email), new, authority.token(), digest)
}

/// Adds a token for a user, by row and address, with the token that it is made out of.
fn add(
    connection: &Connection,
    now: Now,
    (user_id, email): (i64, &str),
    new: NewPat,
    parent: Option<Uuid>,
    digest: &Digest,
) -> Result<(PersonalAccessToken, Change)> {
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
    let made = connection.execute(
        "INSERT INTO personal_access_tokens
             (id, user_id, name, digest, scope, reach, created_at, expires_at, parent_id, parent_known)
         VALUES (:id, :user_id, :name, :digest, :scope, :reach, :now, :expires_at, :parent, 1)",
        named_params! {
            ":id": id.to_string(),
            ":user_id": user_id,
            ":name": name,
            ":digest": digest,
            ":scope": new.rights.widest(),
            ":reach": connections(&new.rights)?,
            ":now": now.time(),
            ":expires_at": new.expires_at,
            ":parent": parent.map(|parent| parent.to_string()),
        },
    );
    made.map_err(broken)?;
    let token = by_id(connection, id)?;
    let change = Change::of("pat create", None, Some(&token));
    Ok((token, change))
}

/// Whether neither the token nor one that it was made out of is revoked, expired, or a disabled user's.
pub(super) fn stands(connection: &Connection, token: Uuid, now: Now) -> Result<bool> {
    let sql = "WITH RECURSIVE line (id) AS (
                   SELECT id FROM personal_access_tokens WHERE id = :token
                   UNION SELECT t.parent_id FROM personal_access_tokens t JOIN line l ON t.id = l.id
                         WHERE t.parent_id IS NOT NULL)
               SELECT count(*) FROM line l JOIN personal_access_tokens t ON t.id = l.id JOIN users u ON u.id = t.user_id
               WHERE t.revoked_at IS NOT NULL OR t.expires_at <= :ended OR u.disabled_at IS NOT NULL";
    let values = named_params! { ":token": token.to_string(), ":ended": now.ended() };
    let over: i64 = connection.query_row(sql, values, |row| row.get(0)).map_err(broken)?;
    Ok(over == 0)
}

/// Revokes a token, and everything that came of it: the changes.
pub(super) fn revoke(connection: &Connection, token: Uuid, now: Now) -> Result<Vec<Change>> {
    let own = mark_revoked(connection, token, now)?;
    Ok(own.into_iter().chain(endings::end_descendants(connection, token, now)?).collect())
}

/// Marks one token alone as revoked; the change, unless it was before.
pub(super) fn mark_revoked(connection: &Connection, token: Uuid, now: Now) -> Result<Option<Change>> {
    let before = by_id(connection, token)?;
    if before.revoked_at.is_some() {
        return Ok(None);
    }
    let values = named_params! { ":now": now.time(), ":id": token.to_string() };
    connection.execute("UPDATE personal_access_tokens SET revoked_at = :now WHERE id = :id", values).map_err(broken)?;
    Ok(Some(Change::of("pat revoke", Some(&before), Some(&by_id(connection, token)?))))
}

const SELECT: &str =
    "SELECT t.id, u.email, t.name, t.scope, t.reach, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
            t.parent_id, t.parent_known, u.scope AS user_scope, u.reach AS user_reach
    FROM personal_access_tokens t JOIN users u ON u.id = t.user_id";

fn record(row: &Row<'_>) -> Read<PersonalAccessToken> {
    let Id(id) = row.get("id")?;
    Ok(PersonalAccessToken {
        id,
        email: row.get("email")?,
        name: row.get("name")?,
        rights: rights(row, "user_scope", "user_reach")?.and(&rights(row, "scope", "reach")?),
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_at: row.get("last_used_at")?,
        parent: row.get::<_, Option<Id>>("parent_id")?.map(|Id(id)| id),
        parent_known: row.get("parent_known")?,
    })
}

/// The tokens of which `condition` holds, oldest first.
pub(super) fn matching(
    connection: &Connection,
    condition: &str,
    values: impl Values,
) -> Result<Vec<PersonalAccessToken>> {
    let sql = format!("{SELECT} WHERE {condition} ORDER BY t.created_at, t.rowid");
    connection.query(&sql, values, record).map_err(broken)
}

fn by_id(connection: &Connection, id: Uuid) -> Result<PersonalAccessToken> {
    connection.query_row(&format!("{SELECT} WHERE t.id = ?1"), [id.to_string()], record).map_err(broken)
}

/// The tokens that may be seen and of which `condition` holds, oldest first.
fn seen(
    connection: &Connection,
    authority: &Authority,
    condition: &str,
    values: impl Values,
) -> Result<Vec<PersonalAccessToken>> {
    let mut tokens = matching(connection, condition, values)?;
    tokens.retain(|token| authority.sees(&token.rights));
    Ok(tokens)
}

/// The one token that may be seen and that `which` names.
fn choose(connection: &Connection, authority: &Authority, which: &str) -> Result<PersonalAccessToken> {
    let mut found = if which.starts_with(PAT_PREFIX) {
        seen(connection, authority, "t.digest = ?1", [Digest::of(which)])?
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
            let near = near::nearest(which, known.iter().map(|token| token.name.as_str()));
            Err(Error::not_found(format!("there is no token {}", shown(which))).hint(hint(&near, "portico pat list")))
        }
    }
}

/// A token that promised more than its user has would mislead whoever asked for it. One that is not
/// narrowed promises nothing of its own.
fn check_within(email: &str, own: &Rights, asked: &Rights) -> Result<()> {
    if asked.widest() < Scope::Admin && asked.widest() > own.widest() {
        return Err(Error::invalid(format!("{email} has no more than the scope {}", own.widest().word())));
    }
    if asked.list().is_some_and(|connections| connections.iter().any(|(id, _)| !own.covers(*id))) {
        return Err(Error::invalid(format!("{email} does not reach every connection that the token names")));
    }
    Ok(())
}

//! What people granted to clients, in the store: each grant with its one code and its line of
//! refresh tokens. A code or a refresh token that comes a second time ends the whole grant.

use rusqlite::named_params;
use uuid::Uuid;

use super::change::Change;
use super::clients::Authentication;
use super::columns::{Id, connections, rights};
use super::connection::{Connection, Optional, Read, Row};
use super::{Store, broken, clients, sessions};
use crate::auth::clock::Timestamp;
use crate::auth::grant::GrantError;
use crate::auth::people::authorization::{
    Approval, CODE_LIFETIME, ClientCredential, GRANT_LIFETIME, GrantRecord, Granted, REFRESH_LIFETIME, Redemption,
    Refresh, verifies,
};
use crate::auth::records::with_connections;
use crate::auth::secret::Digest;
use crate::error::{Error, Result};
use crate::principal::Rights;
use secrecy::ExposeSecret;
use serde::Serialize;

/// How long what has ended is kept, in seconds: so long a second use is recognised as one.
const KEPT: i64 = 86_400;

/// The outer failure is ours; the inner one is the client's, and what was found is written all the same.
type Outcome = Result<Narrowed>;
/// What of a grant is asked for, or why not.
type Narrowed = std::result::Result<Granted, GrantError>;

impl Store {
    /// Keeps what the person of `session` agreed to, and the digest of the code that tells of it.
    pub(crate) fn approve(&mut self, session: &Digest, approval: &Approval, code: &Digest) -> Result<()> {
        self.change(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            if approval.rights.list().is_none_or(<[_]>::is_empty) {
                return Err(Error::invalid("choose at least one connection"));
            }
            if !session.rights.contains(&approval.rights) {
                return Err(Error::forbidden("this is more than you have"));
            }
            forget_old(connection, now)?;
            let id = Uuid::new_v4();
            let grant = id.to_string();
            let ends = now.after(GRANT_LIFETIME);
            connection
                .execute(
                    "INSERT INTO grants (id, user_id, token_id, client_id, client_name, scope, connections, resource, created_at, expires_at)
                     VALUES (:id, :user, :token, :client, :name, :scope, :connections, :resource, :now, :ends)",
                    named_params! {
                        ":id": grant,
                        ":user": session.user_id,
                        ":token": session.token_id.map(|id| id.to_string()),
                        ":client": approval.client_id,
                        ":name": approval.client_name,
                        ":scope": approval.rights.widest(),
                        ":connections": connections(&approval.rights)?,
                        ":resource": approval.resource,
                        ":now": now,
                        ":ends": session.ends.map_or(ends, |end| end.min(ends)),
                    },
                )
                .map_err(broken)?;
            connection
                .execute(
                    "INSERT INTO authorization_codes (digest, grant_id, redirect_uri, challenge, expires_at)
                     VALUES (:digest, :grant, :redirect, :challenge, :ends)",
                    named_params! {
                        ":digest": code,
                        ":grant": grant,
                        ":redirect": approval.redirect_uri,
                        ":challenge": approval.challenge,
                        ":ends": now.after(CODE_LIFETIME),
                    },
                )
                .map_err(broken)?;
            let used = named_params! { ":now": now, ":id": approval.client_id };
            connection.execute("UPDATE clients SET used_at = :now WHERE client_id = :id", used).map_err(broken)?;
            let given = GivenAccess::of(connection, id)?;
            Ok(((), Change::of("grant create", None, given.as_ref())))
        })
    }

    /// Takes a code for what it opens, and keeps the digest of the first refresh token. The first
    /// attempt spends the code, right or wrong.
    pub(crate) fn redeem(
        &mut self,
        redemption: &Redemption,
        refresh: &Digest,
        narrow: impl FnOnce(Granted, &Redemption) -> Narrowed,
    ) -> Outcome {
        self.change_if(|connection, now| {
            let refused = |refusal| Ok((Err(refusal), None));
            if let Err(refusal) = authenticate(connection, &redemption.client)? {
                return refused(refusal);
            }
            let digest = Digest::of(redemption.code.expose_secret());
            let sql = "SELECT grant_id, redirect_uri, challenge, expires_at, used_at FROM authorization_codes WHERE digest = ?1";
            let code = connection.query_row(sql, [&digest], code).optional().map_err(broken)?;
            let Some(code) = code else { return refused(wrong_code()) };
            if code.used_at.is_some() {
                return Ok((Err(wrong_code()), revoke(connection, code.grant, now)?));
            }
            let used = named_params! { ":now": now, ":digest": digest };
            connection.execute("UPDATE authorization_codes SET used_at = :now WHERE digest = :digest", used).map_err(broken)?;
            let bound = now < code.expires_at
                && code.redirect_uri == redemption.redirect_uri
                && verifies(&code.challenge, redemption.verifier.expose_secret());
            match granted(connection, code.grant, &redemption.client.client_id, now)? {
                Some(granted) if bound => {
                    let grant = granted.grant;
                    let narrowed = narrow(granted, redemption);
                    if narrowed.is_ok() {
                        keep_refresh(connection, grant, refresh, now)?;
                    }
                    Ok((narrowed, None))
                }
                _ => refused(wrong_code()),
            }
        })
    }

    /// Takes a refresh token for what it opens, and keeps the digest of the one in its place.
    /// What `narrow` refuses spends nothing.
    pub(crate) fn refresh(
        &mut self,
        asked: &Refresh,
        next: &Digest,
        narrow: impl FnOnce(Granted, &Refresh) -> Narrowed,
    ) -> Outcome {
        self.change_if(|connection, now| {
            let refused = |refusal| Ok((Err(refusal), None));
            if let Err(refusal) = authenticate(connection, &asked.client)? {
                return refused(refusal);
            }
            let digest = Digest::of(asked.token.expose_secret());
            let sql = "SELECT grant_id, expires_at, used_at FROM refresh_tokens WHERE digest = ?1";
            let read = |row: &Row<'_>| Ok((row.get::<_, Id>(0)?.0, row.get(1)?, row.get(2)?));
            let found: Option<(Uuid, Timestamp, Option<Timestamp>)> =
                connection.query_row(sql, [&digest], read).optional().map_err(broken)?;
            let Some((grant, expires_at, used_at)) = found else { return refused(wrong_token()) };
            // Another client's token is none of its business, and it must not be able to end it.
            let Some(granted) = granted(connection, grant, &asked.client.client_id, now)? else {
                return refused(wrong_token());
            };
            if used_at.is_some() {
                return Ok((Err(wrong_token()), revoke(connection, grant, now)?));
            }
            if now >= expires_at {
                return refused(wrong_token());
            }
            let narrowed = match narrow(granted, asked) {
                Ok(narrowed) => narrowed,
                Err(refusal) => return refused(refusal),
            };
            let used = named_params! { ":now": now, ":digest": digest };
            connection
                .execute("UPDATE refresh_tokens SET used_at = :now WHERE digest = :digest", used)
                .map_err(broken)?;
            keep_refresh(connection, grant, next, now)?;
            Ok((Ok(narrowed), None))
        })
    }

    /// Whether the client is who it says.
    pub(crate) fn judge_client(&self, client: &ClientCredential) -> Result<std::result::Result<(), GrantError>> {
        authenticate(&self.connection, client)
    }

    /// Ends the grant of a refresh token, if it is that client's (RFC 7009 §2.1). Whether it was
    /// makes no difference to the answer.
    pub(crate) fn revoke_refresh(
        &mut self,
        client: &ClientCredential,
        token: &Digest,
    ) -> Result<std::result::Result<(), GrantError>> {
        self.change_if(|connection, now| {
            if let Err(refusal) = authenticate(connection, client)? {
                return Ok((Err(refusal), None));
            }
            let sql = "SELECT g.id FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id
                       WHERE r.digest = ?1 AND g.client_id = ?2";
            let found =
                connection.query_row(sql, (token, &client.client_id), |row| row.get(0)).optional().map_err(broken)?;
            let revoked = match found {
                Some(Id(grant)) => revoke(connection, grant, now)?,
                None => None,
            };
            Ok((Ok(()), revoked))
        })
    }

    /// The grants in force of the session's person that open no more than the session, the newest first.
    pub(crate) fn grants(&self, session: &Digest) -> Result<Vec<GrantRecord>> {
        let now = self.clock.now();
        let session = sessions::require(&self.connection, session, now)?;
        let sql = format!(
            "SELECT {RIGHTS}, g.id, g.client_id, g.client_name, g.created_at, g.used_at, g.expires_at {FROM}
             WHERE g.user_id = ?1 AND g.revoked_at IS NULL AND g.expires_at > ?2 AND g.used_at IS NOT NULL
             ORDER BY g.created_at DESC, g.rowid DESC"
        );
        let grants = self.connection.query(&sql, (session.user_id, now), record).map_err(broken)?;
        Ok(grants.into_iter().filter(|grant| session.rights.contains(&grant.rights)).collect())
    }

    /// Ends one grant of the session's person; one that is not theirs is left alone.
    pub(crate) fn revoke_grant(&mut self, session: &Digest, grant: Uuid) -> Result<()> {
        self.change_if(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            session.must_be_whole()?;
            let sql = "SELECT count(*) FROM grants WHERE id = ?1 AND user_id = ?2";
            let own: i64 =
                connection.query_row(sql, (grant.to_string(), session.user_id), |row| row.get(0)).map_err(broken)?;
            if own == 0 {
                return Err(Error::not_found("there is no such application"));
            }
            Ok(((), revoke(connection, grant, now)?))
        })
    }
}

/// What a person gave to a client, for the record of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GivenAccess {
    id: Uuid,
    email: String,
    client_id: String,
    client_name: String,
    #[serde(flatten, serialize_with = "with_connections")]
    rights: Rights,
    resource: Option<String>,
    expires_at: Timestamp,
}

impl GivenAccess {
    fn of(connection: &Connection, id: Uuid) -> Result<Option<Self>> {
        let sql = "SELECT u.email, g.client_id, g.client_name, g.scope, g.connections, g.resource, g.expires_at
                   FROM grants g JOIN users u ON u.id = g.user_id WHERE g.id = ?1";
        let read = |row: &Row<'_>| {
            Ok(Self {
                id,
                email: row.get(0)?,
                client_id: row.get(1)?,
                client_name: row.get(2)?,
                rights: rights(row, 3, 4)?,
                resource: row.get(5)?,
                expires_at: row.get(6)?,
            })
        };
        connection.query_row(sql, [id.to_string()], read).optional().map_err(broken)
    }
}

struct Code {
    grant: Uuid,
    redirect_uri: String,
    challenge: String,
    expires_at: Timestamp,
    used_at: Option<Timestamp>,
}

fn code(row: &Row<'_>) -> Read<Code> {
    let Id(grant) = row.get(0)?;
    Ok(Code { grant, redirect_uri: row.get(1)?, challenge: row.get(2)?, expires_at: row.get(3)?, used_at: row.get(4)? })
}

fn record(row: &Row<'_>) -> Read<GrantRecord> {
    let Id(id) = row.get("id")?;
    Ok(GrantRecord {
        id,
        client_id: row.get("client_id")?,
        client_name: row.get("client_name")?,
        rights: left(row)?,
        created_at: row.get("created_at")?,
        used_at: row.get("used_at")?,
        expires_at: row.get("expires_at")?,
    })
}

/// Grants with their people, and the tokens that the consents were given with.
const FROM: &str = "FROM grants g
    JOIN users u ON u.id = g.user_id LEFT JOIN personal_access_tokens t ON t.id = g.token_id";

/// The columns of [`left`].
const RIGHTS: &str = "g.scope, g.connections, u.scope AS user_scope, u.reach AS user_reach,
    t.scope AS token_scope, t.reach AS token_reach";

/// What is left of a grant's rights with those of the person and of the token.
fn left(row: &Row<'_>) -> Read<Rights> {
    let person = rights(row, "user_scope", "user_reach")?;
    Ok(rights(row, "scope", "connections")?.and(&person).and(&rights(row, "token_scope", "token_reach")?))
}

/// What the grant opens for that client now, if it is in force.
fn granted(connection: &Connection, grant: Uuid, client_id: &str, now: Timestamp) -> Result<Option<Granted>> {
    let sql = format!(
        "SELECT {RIGHTS}, u.email, g.resource {FROM}
         WHERE g.id = :grant AND g.client_id = :client AND g.revoked_at IS NULL AND g.expires_at > :now
           AND u.disabled_at IS NULL AND t.revoked_at IS NULL"
    );
    let values = named_params! { ":grant": grant.to_string(), ":client": client_id, ":now": now };
    let read = |row: &Row<'_>| {
        Ok(Granted { grant, rights: left(row)?, subject: row.get("email")?, resource: row.get("resource")? })
    };
    connection.query_row(&sql, values, read).optional().map_err(broken)
}

fn keep_refresh(connection: &Connection, grant: Uuid, digest: &Digest, now: Timestamp) -> Result<()> {
    let grant = grant.to_string();
    connection
        .execute(
            "INSERT INTO refresh_tokens (digest, grant_id, expires_at) VALUES (:digest, :grant, :ends)",
            named_params! { ":digest": digest, ":grant": grant, ":ends": now.after(REFRESH_LIFETIME) },
        )
        .map_err(broken)?;
    let used = named_params! { ":now": now, ":grant": grant };
    connection.execute("UPDATE grants SET used_at = :now WHERE id = :grant", used).map_err(broken)?;
    Ok(())
}

/// Ends a grant; the change, unless it had ended before.
fn revoke(connection: &Connection, grant: Uuid, now: Timestamp) -> Result<Option<Change>> {
    let given = GivenAccess::of(connection, grant)?;
    let sql = "UPDATE grants SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL";
    let ended = connection.execute(sql, named_params! { ":now": now, ":id": grant.to_string() }).map_err(broken)?;
    Ok(given.filter(|_| ended > 0).map(|given| Change::of("grant revoke", Some(&given), None)))
}

/// Whether the client is who it says. One without a secret is known by its code and verifier alone;
/// so is one whose id is an address, which is compared with the grant's.
fn authenticate(connection: &Connection, client: &ClientCredential) -> Result<std::result::Result<(), GrantError>> {
    let refusal = || Err(GrantError::new("invalid_client", "the client id or its secret is not valid"));
    let kept = clients::authentication(connection, &client.client_id)?;
    let shown = client.secret.as_ref().map(|secret| Digest::of(secret.expose_secret()));
    Ok(match (kept, shown) {
        (Authentication::Secret(kept), shown) if kept.fits(&shown.unwrap_or(Digest::NONE)) => Ok(()),
        (Authentication::Public, None) => Ok(()),
        (Authentication::Unknown, None) if client.client_id.contains("://") => Ok(()),
        _ => refusal(),
    })
}

/// Removes what ended long ago, and codes that nobody came for.
fn forget_old(connection: &Connection, now: Timestamp) -> Result<()> {
    let sql = "DELETE FROM grants WHERE expires_at <= :then OR revoked_at <= :then OR (used_at IS NULL AND created_at <= :then)";
    let then = Timestamp::from_seconds(now.seconds().saturating_sub(KEPT));
    connection.execute(sql, named_params! { ":then": then }).map_err(broken)?;
    Ok(())
}

fn wrong_code() -> GrantError {
    GrantError::new(
        "invalid_grant",
        "the code is unknown, expired or used, or belongs to another client, redirect_uri or code_verifier",
    )
}

fn wrong_token() -> GrantError {
    GrantError::new(
        "invalid_grant",
        "the refresh token is unknown, expired, used or revoked, or belongs to another client",
    )
}

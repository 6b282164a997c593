//! Grants of people to clients, in the store: each with its one code and its one current refresh token. A code or a
//! refresh token that is used twice ends the whole grant.

use rusqlite::named_params;
use uuid::Uuid;

use crate::clock::{Now, Timestamp};
use crate::oauth::authorization::{
    Approval, AuthorizationCodeRequest, CODE_LIFETIME, ClientCredential, GRANT_LIFETIME, Granted, NextRefresh,
    REFRESH_LIFETIME, RefreshTokenRequest, line_of, verifies,
};
use crate::oauth::client::ClientKind;
use crate::oauth::grant::GrantError;
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::rows::consents::{self, FROM, GivenAccess, RIGHTS, remaining_rights};
use crate::store::rows::{sessions, tokens};
use crate::store::sql::columns::connections;
use crate::store::sql::row::Row;
use crate::store::tables::clients::{self, Authentication};
use portico_core::error::{Error, Result};
use secrecy::{ExposeSecret, SecretString};

/// The outer error is internal; the inner one is the client's, and what was found is committed all the same.
type Outcome = Result<Narrowed>;
/// The part of a grant that is requested, or why it is refused.
type Narrowed = std::result::Result<Granted, GrantError>;

impl Store {
    /// Stores the consent of the person of `session`, and the digest of its code.
    pub(crate) fn approve(&mut self, session: &Digest, approval: &Approval, code: &Digest) -> Result<()> {
        self.change(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            if approval.rights.is_all() || approval.rights.is_empty() {
                return Err(Error::invalid("choose at least one connection or workspace"));
            }
            if !session.rights.contains(&approval.rights) {
                return Err(Error::forbidden("this is more than you have"));
            }
            consents::forget_ended(connection, now)?;
            let id = Uuid::new_v4();
            let grant = id.to_string();
            let ends = now.time().after(GRANT_LIFETIME);
            let row = named_params! {
                ":id": grant,
                ":user_id": session.user_id,
                ":token_id": session.token_id.map(|id| id.to_string()),
                ":client_id": approval.client_id,
                ":client_name": approval.client_name,
                ":scope": approval.rights.widest().as_str(),
                ":connections": connections(&approval.rights)?,
                ":resource": approval.resource,
                ":created_at": now.time(),
                ":expires_at": session.ends.map_or(ends, |end| end.min(ends)),
            };
            connection.insert("grants", row)?;
            let row = named_params! {
                ":digest": code,
                ":grant_id": grant,
                ":redirect_uri": approval.redirect_uri,
                ":challenge": approval.challenge,
                ":expires_at": now.time().after(CODE_LIFETIME),
            };
            connection.insert("authorization_codes", row)?;
            let used = named_params! { ":now": now.time(), ":id": approval.client_id };
            connection.execute("UPDATE clients SET used_at = :now WHERE client_id = :id", used)?;
            let given = GivenAccess::load(connection, id)?;
            let mut changes = vec![Change::new("grant create", None, given.as_ref())];
            changes.extend(consents::end_surplus(connection, session.user_id, &approval.client_id)?);
            Ok(((), changes))
        })
    }

    /// Redeems a code, and stores the digest of the first refresh token. The first attempt uses up the code, right
    /// or wrong.
    pub(crate) fn redeem(
        &mut self,
        redemption: &AuthorizationCodeRequest,
        refresh: &NextRefresh,
        narrow: impl FnOnce(Granted) -> Narrowed,
    ) -> Outcome {
        let digest = Digest::new(redemption.code.expose_secret());
        // Checked first: a client with an unknown code does not make writers wait.
        if let Err(refusal) = shown_code(&self.connection, redemption, &digest)? {
            return Ok(Err(refusal));
        }
        self.change(|connection, now| {
            let refused = |refusal| Ok((Err(refusal), None));
            let code = match shown_code(connection, redemption, &digest)? {
                Ok(code) => code,
                Err(refusal) => return refused(refusal),
            };
            if code.used_at.is_some() {
                return Ok((Err(wrong_code()), consents::end(connection, code.grant)?));
            }
            let used = named_params! { ":now": now.time(), ":digest": digest };
            connection.execute("UPDATE authorization_codes SET used_at = :now WHERE digest = :digest", used)?;
            let bound = !now.is_over(code.expires_at)
                && code.redirect_uri == redemption.redirect_uri
                && verifies(&code.challenge, redemption.verifier.expose_secret());
            match granted(connection, code.grant, &redemption.client.client_id, now)? {
                Some(granted) if bound => {
                    let grant = granted.grant;
                    let narrowed = narrow(granted);
                    if narrowed.is_ok() {
                        keep_refresh(connection, grant, refresh, now)?;
                    }
                    Ok((narrowed, None))
                }
                _ => refused(wrong_code()),
            }
        })
    }

    /// Redeems a refresh token, and stores the digest of its successor: each grant has one. What `narrow` refuses
    /// uses up nothing.
    pub(crate) fn refresh(
        &mut self,
        asked: &RefreshTokenRequest,
        next: &NextRefresh,
        narrow: impl FnOnce(Granted) -> Narrowed,
    ) -> Outcome {
        // Looked at first, as codes are.
        if let Err(refusal) = shown_token(&self.connection, asked, self.clock.now())? {
            return Ok(Err(refusal));
        }
        self.change(|connection, now| {
            let refused = |refusal| Ok((Err(refusal), None));
            let (granted, is_spent) = match shown_token(connection, asked, now)? {
                Ok(shown) => shown,
                Err(refusal) => return refused(refusal),
            };
            let grant = granted.grant;
            if is_spent {
                return Ok((Err(wrong_token()), consents::end(connection, grant)?));
            }
            let narrowed = match narrow(granted) {
                Ok(narrowed) => narrowed,
                Err(refusal) => return refused(refusal),
            };
            keep_refresh(connection, grant, next, now)?;
            Ok((Ok(narrowed), None))
        })
    }

    /// Authenticates the client.
    pub(crate) fn judge_client(&self, client: &ClientCredential) -> Result<std::result::Result<(), GrantError>> {
        authenticate(&self.connection, client)
    }

    /// Ends the grant of a refresh token, if it is that client's (RFC 7009 §2.1). Returns whether the token was
    /// ever issued.
    pub(crate) fn revoke_refresh(
        &mut self,
        client: &ClientCredential,
        token: &SecretString,
    ) -> Result<std::result::Result<bool, GrantError>> {
        if let Err(refusal) = authenticate(&self.connection, client)? {
            return Ok(Err(refusal));
        }
        let Some(StoredRefreshToken { grant, .. }) = kept(&self.connection, token)? else { return Ok(Ok(false)) };
        self.change(|connection, now| {
            let is_theirs = granted(connection, grant, &client.client_id, now)?.is_some();
            Ok(((), if is_theirs { consents::end(connection, grant)? } else { None }))
        })?;
        Ok(Ok(true))
    }
}

struct Code {
    grant: Uuid,
    redirect_uri: String,
    challenge: String,
    expires_at: Timestamp,
    used_at: Option<Timestamp>,
}

/// The code that a client shows.
fn shown_code(
    connection: &StoreConnection,
    redemption: &AuthorizationCodeRequest,
    digest: &Digest,
) -> Result<std::result::Result<Code, GrantError>> {
    if let Err(refusal) = authenticate(connection, &redemption.client)? {
        return Ok(Err(refusal));
    }
    let sql =
        "SELECT grant_id, redirect_uri, challenge, expires_at, used_at FROM authorization_codes WHERE digest = ?1";
    let found = connection.query_opt(sql, [digest], |row| {
        Ok(Code {
            grant: row.id(0)?,
            redirect_uri: row.get(1)?,
            challenge: row.get(2)?,
            expires_at: row.get(3)?,
            used_at: row.get(4)?,
        })
    })?;
    Ok(found.ok_or_else(wrong_code))
}

/// Returns what a client's refresh token grants, and whether it was replaced.
fn shown_token(
    connection: &StoreConnection,
    asked: &RefreshTokenRequest,
    now: Now,
) -> Result<std::result::Result<(Granted, bool), GrantError>> {
    if let Err(refusal) = authenticate(connection, &asked.client)? {
        return Ok(Err(refusal));
    }
    let found = kept(connection, &asked.token)?.filter(|kept| kept.is_spent || !now.is_over(kept.expires_at));
    let Some(StoredRefreshToken { grant, is_spent, .. }) = found else { return Ok(Err(wrong_token())) };
    // Another client must learn nothing about the token, and must not be able to end it.
    let granted = granted(connection, grant, &asked.client.client_id, now)?;
    Ok(granted.map(|granted| (granted, is_spent)).ok_or_else(wrong_token))
}

/// Returns what the grant currently allows that client, if it is in force.
fn granted(connection: &StoreConnection, grant: Uuid, client_id: &str, now: Now) -> Result<Option<Granted>> {
    let sql = format!(
        "SELECT {RIGHTS}, u.email, g.resource, g.token_id, c.kind, c.redirect_uris {FROM}
         WHERE g.id = :grant AND g.client_id = :client AND g.expires_at > :ended
           AND u.disabled_at IS NULL AND t.revoked_at IS NULL"
    );
    let values = named_params! { ":grant": grant.to_string(), ":client": client_id, ":ended": now.ended() };
    let read = |row: &Row<'_>| {
        let kind = ClientKind::of_grant(client_id, row.get("kind")?, row.get("redirect_uris")?);
        let (token, subject) = (row.optional_id("token_id")?, row.get("email")?);
        Ok((Granted { grant, rights: remaining_rights(row)?, subject, resource: row.get("resource")?, kind }, token))
    };
    match connection.query_opt(&sql, values, read)? {
        Some((_, Some(token))) if !tokens::stands(connection, token, now)? => Ok(None),
        found => Ok(found.map(|(granted, _)| granted)),
    }
}

/// What is known of a refresh token.
struct StoredRefreshToken {
    grant: Uuid,
    expires_at: Timestamp,
    /// It was replaced by another one.
    is_spent: bool,
}

/// Finds the refresh token by its digest; a replaced one by its line's common prefix.
fn kept(connection: &StoreConnection, token: &SecretString) -> Result<Option<StoredRefreshToken>> {
    let sql = "SELECT grant_id, expires_at, used_at IS NOT NULL FROM refresh_tokens WHERE digest = ?1";
    let read =
        |row: &Row<'_>| Ok(StoredRefreshToken { grant: row.id(0)?, expires_at: row.get(1)?, is_spent: row.get(2)? });
    let found = connection.query_opt(sql, [Digest::new(token.expose_secret())], read)?;
    let Some(line) = line_of(token).filter(|_| found.is_none()) else { return Ok(found) };
    let sql = "SELECT id, expires_at FROM grants WHERE line = ?1";
    let read = |row: &Row<'_>| Ok(StoredRefreshToken { grant: row.id(0)?, expires_at: row.get(1)?, is_spent: true });
    connection.query_opt(sql, [line], read)
}

/// Stores `next` in place of its predecessor.
fn keep_refresh(connection: &StoreConnection, grant: Uuid, next: &NextRefresh, now: Now) -> Result<()> {
    let grant = grant.to_string();
    // A refresh token of an older program belongs to no line: its use has to be kept.
    let spend = "UPDATE refresh_tokens SET used_at = :now WHERE grant_id = :grant AND used_at IS NULL
                 AND EXISTS (SELECT 1 FROM grants WHERE id = :grant AND line IS NULL)";
    connection.execute(spend, named_params! { ":now": now.time(), ":grant": grant })?;
    let replace = "DELETE FROM refresh_tokens WHERE grant_id = ?1 AND used_at IS NULL";
    connection.execute(replace, [&grant])?;
    let ends = now.time().after(REFRESH_LIFETIME);
    let row = named_params! { ":digest": next.digest, ":grant_id": grant, ":expires_at": ends };
    connection.insert("refresh_tokens", row)?;
    let used = named_params! { ":now": now.time(), ":line": next.line, ":grant": grant };
    connection.execute("UPDATE grants SET used_at = :now, line = :line WHERE id = :grant", used).map(drop)
}

/// Authenticates the client. A client without a secret, or whose id is an address, is identified by its code and
/// verifier alone; the address is compared with the grant's.
fn authenticate(
    connection: &StoreConnection,
    client: &ClientCredential,
) -> Result<std::result::Result<(), GrantError>> {
    let refusal = || Err(GrantError::new("invalid_client", "the client id or its secret is not valid"));
    let kept = clients::authentication(connection, &client.client_id)?;
    let shown = client.secret.as_ref().map(|secret| Digest::new(secret.expose_secret()));
    Ok(match (kept, shown) {
        (Authentication::Secret(kept), shown) if kept.fits(&shown.unwrap_or(Digest::NONE)) => Ok(()),
        (Authentication::Public, None) => Ok(()),
        (Authentication::Unknown, None) if client.client_id.contains("://") => Ok(()),
        _ => refusal(),
    })
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

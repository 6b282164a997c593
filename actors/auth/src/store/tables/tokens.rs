//! Personal access tokens in the store.

use std::collections::HashMap;

use rusqlite::{named_params, params};
use secrecy::SecretString;
use uuid::Uuid;

use crate::clock::{Now, Timestamp};
use crate::records::{NewPat, PersonalAccessToken};
use crate::secret::{self, Digest, PAT_PREFIX};
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::rows::tokens::{add, add_for, by_id, check_within, choose, matching, seen};
use crate::store::rows::{cascade, sessions, users};
use portico_core::error::{Error, Result};

impl Store {
    /// Makes a personal access token. Returns its secret, which is known only to the caller.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) for an unknown user,
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for a name that another token of the user has, an end
    /// in the past, or more rights than the user has.
    pub fn create_pat(&mut self, email: &str, new: NewPat) -> Result<(PersonalAccessToken, SecretString)> {
        let actor = self.actor;
        self.keep_pat(|connection, now, digest| {
            let authority = actor.authority(connection, now)?;
            let (id, user) = users::find(connection, &authority, email)?;
            add_for(connection, now, &authority, (id, &user), new, digest)
        })
    }

    /// Makes a token for the person of `session`, within the rights that the session began with: it ends at the
    /// latest with the token that began the session.
    ///
    /// # Errors
    /// As [`Store::create_pat`]; [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) in a narrowed session.
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
        add: impl FnOnce(&StoreConnection, Now, &Digest) -> Result<(PersonalAccessToken, [Change; 1])>,
    ) -> Result<(PersonalAccessToken, SecretString)> {
        let (secret, digest) = secret::mint(PAT_PREFIX)?;
        let record = self.change(|connection, now| add(connection, now, &digest))?;
        Ok((record, secret))
    }

    /// Every token of a user, or of all: also the expired and the revoked ones, oldest first.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) for an unknown user.
    pub fn pats(&self, email: Option<&str>) -> Result<Vec<PersonalAccessToken>> {
        match email {
            None => seen(&self.connection, &self.authority()?, "true", ()),
            Some(email) => {
                let (user_id, _) = users::find(&self.connection, &self.authority()?, email)?;
                matching(&self.connection, "t.user_id = ?1", [user_id])
            }
        }
    }

    /// Revokes a token, named by its id, by its name, or by the secret itself, and everything derived from it.
    /// Revoking one twice changes nothing.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none,
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if several users' tokens have that name.
    pub fn revoke_pat(&mut self, which: &str) -> Result<PersonalAccessToken> {
        self.administer(|connection, now, authority| {
            let token = choose(connection, authority, which)?;
            let changes = cascade::revoke_token(connection, token.id, now)?;
            Ok((by_id(connection, token.id)?, changes))
        })
    }

    /// Revokes a token of the person of `session`.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) when it is not theirs,
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) in a session that was narrowed.
    pub(crate) fn revoke_own_pat(&mut self, session: &Digest, id: Uuid) -> Result<PersonalAccessToken> {
        self.change(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            session.must_be_whole()?;
            let own = "t.id = ?1 AND t.user_id = ?2 AND t.revoked_at IS NULL";
            let token = matching(connection, own, params![id.to_string(), session.user_id])?.pop();
            let token = token.ok_or_else(|| Error::not_found("there is no such token of yours"))?;
            let changes = cascade::revoke_token(connection, token.id, now)?;
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
                connection.execute(sql, named_params! { ":at": at, ":digest": digest })?;
            }
            Ok(())
        })
    }
}

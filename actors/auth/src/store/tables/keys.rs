//! Signing keys in the store. One signs; the ones before it only verify.

use rusqlite::{named_params, params};
use secrecy::ExposeSecret;
use secrecy::zeroize::Zeroizing;

use crate::clock::Now;
use crate::keys::key::{Algorithm, NewKey};
use crate::keys::sealing::{self, StoreKey};
use crate::records::Key;
use crate::store::connection::Connection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::sql::columns::json;
use crate::store::sql::failure::{Optional, StatementError, StatementResult, broken};
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};

impl Store {
    /// The key that signs; made if there is none, for Ed25519. One that is stored as it is gets
    /// encrypted if the store has a key for that.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when it is encrypted with another key.
    pub fn ensure_key(&mut self) -> Result<Key> {
        let sealing = self.key.clone();
        let (key, sealed) = self.write(|connection, now| match in_use(connection) {
            Err(StatementError::NoRows) => Ok((add(connection, now, &NewKey::generate()?, sealing.as_ref())?, false)),
            found => {
                let sealed = seal_in_place(connection, sealing.as_ref())?;
                Ok((found.map_err(broken)?, sealed))
            }
        })?;
        if sealed {
            self.wipe()?;
        }
        Ok(key)
    }

    /// Makes a new key that signs from now on. The one before it loses its private part and keeps
    /// verifying until what it signed has expired.
    pub fn rotate_key(&mut self, algorithm: Algorithm) -> Result<Key> {
        let (sealing, actor) = (self.key.clone(), self.actor);
        // Making a key may take a while: not under the lock.
        let key = NewKey::generate_for(algorithm)?;
        let key = self.change(|connection, now| {
            actor.authority(connection, now)?.must_reach_all()?;
            let before = in_use(connection).optional().map_err(broken)?;
            connection
                .execute(
                    "UPDATE signing_keys SET retired_at = ?1, private_key = NULL WHERE retired_at IS NULL",
                    [now.time()],
                )
                .map_err(broken)?;
            let key = add(connection, now, &key, sealing.as_ref())?;
            let change = Change::of("key rotate", before.as_ref(), Some(&key));
            Ok((key, change))
        })?;
        self.wipe()?;
        Ok(key)
    }

    /// Takes back what a key signed, at once: it has leaked. Without a name, the one that signs, which another one
    /// replaces. Nothing is left of it here.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) when there is no such key.
    pub fn end_key(&mut self, which: Option<&str>, algorithm: Algorithm) -> Result<Key> {
        let (sealing, actor) = (self.key.clone(), self.actor);
        let key = NewKey::generate_for(algorithm)?;
        let ended = self.change(|connection, now| {
            actor.authority(connection, now)?.must_reach_all()?;
            let found = match which {
                Some(kid) => connection.query_row(&format!("{SELECT} WHERE kid = ?1"), [kid], record),
                None => in_use(connection),
            };
            let ended = found.optional().map_err(broken)?.ok_or_else(|| {
                Error::not_found("there is no such key, or it is none of ours any more").hint("portico key list")
            })?;
            connection.execute("DELETE FROM signing_keys WHERE kid = ?1", [&ended.kid]).map_err(broken)?;
            let next = ended.retired_at.is_none().then(|| add(connection, now, &key, sealing.as_ref())).transpose()?;
            let change = Change::of("key end", Some(&ended), next.as_ref());
            Ok((ended, change))
        })?;
        self.wipe()?;
        Ok(ended)
    }

    /// Every key, the newest first.
    pub fn keys(&self) -> Result<Vec<Key>> {
        self.authority()?.must_reach_all()?;
        let sql = format!("{SELECT} ORDER BY retired_at IS NOT NULL, retired_at DESC, rowid DESC");
        self.connection.query(&sql, (), record).map_err(broken)
    }
}

const SELECT: &str = "SELECT kid, algorithm, created_at, retired_at FROM signing_keys";

fn record(row: &Row<'_>) -> StatementResult<Key> {
    Ok(Key {
        kid: row.get("kid")?,
        algorithm: row.get::<_, Algorithm>("algorithm")?.word(),
        created_at: row.get("created_at")?,
        retired_at: row.get("retired_at")?,
    })
}

/// The key that signs; the store allows only one.
fn in_use(connection: &Connection) -> StatementResult<Key> {
    connection.query_row(&format!("{SELECT} WHERE retired_at IS NULL"), (), record)
}

/// Encrypts the private part that is stored as it is, and checks that an encrypted one opens. Whether there was
/// something to encrypt.
fn seal_in_place(connection: &Connection, key: Option<&StoreKey>) -> Result<bool> {
    let sql = "SELECT kid, private_key, sealed FROM signing_keys WHERE retired_at IS NULL";
    let read = |row: &Row<'_>| Ok((row.get(0)?, Zeroizing::new(row.get(1)?), row.get(2)?));
    let (kid, private, sealed): (String, Zeroizing<Vec<u8>>, bool) =
        connection.query_row(sql, (), read).map_err(broken)?;
    match key {
        _ if sealed => sealing::open(key, &kid, &private).map(|_| false),
        None => Ok(false),
        Some(key) => {
            let private = sealing::seal(key, &kid, &private)?;
            let sql = "UPDATE signing_keys SET private_key = ?1, sealed = 1 WHERE kid = ?2";
            connection.execute(sql, params![private, kid]).map(|_| true).map_err(broken)
        }
    }
}

/// Adds a key that signs.
fn add(connection: &Connection, now: Now, key: &NewKey, sealing: Option<&StoreKey>) -> Result<Key> {
    let sealed = sealing.map(|sealing| sealing::seal(sealing, &key.kid, key.private.expose_secret())).transpose()?;
    connection
        .execute(
            "INSERT INTO signing_keys (kid, algorithm, private_key, sealed, public_key, created_at)
             VALUES (:kid, :algorithm, :private_key, :sealed, :public_key, :now)",
            named_params! {
                ":kid": key.kid,
                ":algorithm": key.algorithm,
                ":private_key": sealed.as_deref().unwrap_or(key.private.expose_secret()),
                ":sealed": sealed.is_some(),
                ":public_key": json(&key.public)?,
                ":now": now.time(),
            },
        )
        .map_err(broken)?;
    in_use(connection).map_err(broken)
}

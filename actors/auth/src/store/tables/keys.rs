//! Signing keys in the store. One signs; the ones before it only verify.

use rusqlite::{named_params, params};
use secrecy::ExposeSecret;
use secrecy::zeroize::Zeroizing;

use crate::clock::Now;
use crate::keys::key::{Algorithm, NewKey};
use crate::keys::sealing::{self, StoreKey};
use crate::records::Key;
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::sql::columns::json;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};

impl Store {
    /// Returns the signing key; makes an Ed25519 key if there is none. A key stored without encryption is encrypted
    /// if the store has a key for that.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is encrypted with another key.
    pub fn ensure_key(&mut self) -> Result<Key> {
        let sealing = self.key.clone();
        let (key, sealed) = self.write(|connection, now| match in_use(connection)? {
            None => Ok((add(connection, now, &NewKey::generate()?, sealing.as_ref())?, false)),
            Some(key) => Ok((key, seal_in_place(connection, sealing.as_ref())?)),
        })?;
        if sealed {
            self.wipe()?;
        }
        Ok(key)
    }

    /// Makes a new signing key. The former one loses its private part, and keeps verifying until what it signed has
    /// expired.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the former one is encrypted with another key, or if
    /// this store has none: all processes on it have to read the new one.
    pub fn rotate_key(&mut self, algorithm: Algorithm) -> Result<Key> {
        let sealing = self.key.clone();
        // Making a key may take a while: not under the lock.
        let key = NewKey::generate_for(algorithm)?;
        let key = self.administer(|connection, now, authority| {
            authority.must_reach_all()?;
            let before = in_use(connection)?;
            if before.is_some() {
                seal_in_place(connection, sealing.as_ref())?;
            }
            connection.execute(
                "UPDATE signing_keys SET retired_at = ?1, private_key = NULL WHERE retired_at IS NULL",
                [now.time()],
            )?;
            let key = add(connection, now, &key, sealing.as_ref())?;
            let change = Change::new("key rotate", before.as_ref(), Some(&key));
            Ok((key, [change]))
        })?;
        self.wipe()?;
        Ok(key)
    }

    /// Revokes a leaked key, and so everything that it signed, at once. Without a name, revokes the signing key and
    /// replaces it. Nothing of the key is kept here.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such key.
    pub fn end_key(&mut self, which: Option<&str>, algorithm: Algorithm) -> Result<Key> {
        let sealing = self.key.clone();
        let key = NewKey::generate_for(algorithm)?;
        let ended = self.administer(|connection, now, authority| {
            authority.must_reach_all()?;
            let found = match which {
                Some(kid) => connection.query_opt(&format!("{SELECT} WHERE kid = ?1"), [kid], record),
                None => in_use(connection),
            };
            let ended = found?.ok_or_else(|| {
                Error::not_found("there is no such key, or it is no longer one of ours")
                    .hint("`portico key list` shows what there is")
            })?;
            // Its replacement is encrypted as it was, or the other processes could not read it.
            if ended.retired_at.is_none() {
                seal_in_place(connection, sealing.as_ref())?;
            }
            connection.execute("DELETE FROM signing_keys WHERE kid = ?1", [&ended.kid])?;
            let next = ended.retired_at.is_none().then(|| add(connection, now, &key, sealing.as_ref())).transpose()?;
            let change = Change::new("key end", Some(&ended), next.as_ref());
            Ok((ended, [change]))
        })?;
        self.wipe()?;
        Ok(ended)
    }

    /// Every key, the newest first.
    pub fn keys(&self) -> Result<Vec<Key>> {
        self.authority()?.must_reach_all()?;
        let sql = format!("{SELECT} ORDER BY retired_at IS NOT NULL, retired_at DESC, rowid DESC");
        self.connection.query(&sql, (), record)
    }
}

const SELECT: &str = "SELECT kid, algorithm, created_at, retired_at FROM signing_keys";

fn record(row: &Row<'_>) -> Result<Key> {
    Ok(Key {
        kid: row.get("kid")?,
        algorithm: row.get::<_, Algorithm>("algorithm")?.as_str(),
        created_at: row.get("created_at")?,
        retired_at: row.get("retired_at")?,
    })
}

/// The key that signs; the store allows only one.
fn in_use(connection: &StoreConnection) -> Result<Option<Key>> {
    connection.query_opt(&format!("{SELECT} WHERE retired_at IS NULL"), (), record)
}

/// Encrypts the private key if it is stored as it is, and checks that an encrypted one can be decrypted. Returns true
/// if the key was encrypted now.
fn seal_in_place(connection: &StoreConnection, key: Option<&StoreKey>) -> Result<bool> {
    let sql = "SELECT kid, private_key, sealed FROM signing_keys WHERE retired_at IS NULL";
    let read = |row: &Row<'_>| Ok((row.get(0)?, Zeroizing::new(row.get(1)?), row.get(2)?));
    let (kid, private, sealed): (String, Zeroizing<Vec<u8>>, bool) = connection.query_one(sql, (), read)?;
    match key {
        _ if sealed => sealing::open(key, &kid, &private).map(|_| false),
        None => Ok(false),
        Some(key) => {
            let private = sealing::seal(key, &kid, &private)?;
            let sql = "UPDATE signing_keys SET private_key = ?1, sealed = 1 WHERE kid = ?2";
            connection.execute(sql, params![private, kid]).map(|_| true)
        }
    }
}

/// Adds a key that signs.
fn add(connection: &StoreConnection, now: Now, key: &NewKey, sealing: Option<&StoreKey>) -> Result<Key> {
    let sealed = sealing.map(|sealing| sealing::seal(sealing, &key.kid, key.private.expose_secret())).transpose()?;
    let row = named_params! {
        ":kid": key.kid,
        ":algorithm": key.algorithm,
        ":private_key": sealed.as_deref().unwrap_or(key.private.expose_secret()),
        ":sealed": sealed.is_some(),
        ":public_key": json(&key.public)?,
        ":created_at": now.time(),
    };
    connection.insert("signing_keys", row)?;
    Ok(Key { kid: key.kid.clone(), algorithm: key.algorithm.as_str(), created_at: now.time(), retired_at: None })
}

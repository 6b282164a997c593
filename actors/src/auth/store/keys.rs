//! Signing keys in the store. One signs; the ones before it only verify.

use rusqlite::{Connection, Row, named_params};
use secrecy::ExposeSecret;

use super::columns::json;
use super::{Store, broken};
use crate::auth::clock::Timestamp;
use crate::auth::key::{Algorithm, NewKey};
use crate::auth::records::Key;
use crate::error::Result;

impl Store {
    /// The key that signs; made if there is none.
    pub fn ensure_key(&mut self) -> Result<Key> {
        self.write(|connection, now| match in_use(connection) {
            Err(rusqlite::Error::QueryReturnedNoRows) => add(connection, now),
            found => found.map_err(broken),
        })
    }

    /// Makes a new key that signs from now on. The one before it loses its private part and keeps
    /// verifying until what it signed has expired.
    pub fn rotate_key(&mut self) -> Result<Key> {
        self.write(|connection, now| {
            connection
                .execute("UPDATE signing_keys SET retired_at = ?1, private_key = NULL WHERE retired_at IS NULL", [now])
                .map_err(broken)?;
            add(connection, now)
        })
    }

    /// Every key, the newest first.
    pub fn keys(&self) -> Result<Vec<Key>> {
        let sql = format!("{SELECT} ORDER BY retired_at IS NOT NULL, retired_at DESC, rowid DESC");
        let mut statement = self.connection.prepare_cached(&sql).map_err(broken)?;
        let rows = statement.query_map([], record).map_err(broken)?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map_err(broken)
    }
}

const SELECT: &str = "SELECT kid, algorithm, created_at, retired_at FROM signing_keys";

fn record(row: &Row<'_>) -> rusqlite::Result<Key> {
    Ok(Key {
        kid: row.get("kid")?,
        algorithm: row.get::<_, Algorithm>("algorithm")?.word(),
        created_at: row.get("created_at")?,
        retired_at: row.get("retired_at")?,
    })
}

/// The key that signs; the store allows only one.
fn in_use(connection: &Connection) -> rusqlite::Result<Key> {
    connection.query_row(&format!("{SELECT} WHERE retired_at IS NULL"), [], record)
}

/// Makes a key that signs.
fn add(connection: &Connection, now: Timestamp) -> Result<Key> {
    let key = NewKey::generate()?;
    connection
        .execute(
            "INSERT INTO signing_keys (kid, algorithm, private_key, public_key, created_at)
             VALUES (:kid, :algorithm, :private_key, :public_key, :now)",
            named_params! {
                ":kid": key.kid,
                ":algorithm": key.algorithm,
                ":private_key": key.private.expose_secret(),
                ":public_key": json(&key.public)?,
                ":now": now,
            },
        )
        .map_err(broken)?;
    in_use(connection).map_err(broken)
}

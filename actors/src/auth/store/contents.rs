//! Everything that credentials are judged by, read at one moment. Digests and private keys leave
//! the store here and nowhere else.

use std::sync::Arc;

use rusqlite::{Connection, Row};
use secrecy::SecretSlice;
use uuid::Uuid;

use super::columns::{Connections, reach};
use super::{Store, broken, schema};
use crate::auth::clock::Timestamp;
use crate::auth::key::PublicKey;
use crate::auth::secret::Digest;
use crate::error::Result;
use crate::principal::{Reach, Scope};

/// Tokens that are not revoked, accounts that are not disabled, and every key, the newest first.
pub(crate) struct Contents {
    pub(crate) tokens: Vec<TokenRow>,
    pub(crate) accounts: Vec<AccountRow>,
    pub(crate) keys: Vec<KeyRow>,
}

pub(crate) struct TokenRow {
    pub(crate) digest: Digest,
    pub(crate) email: String,
    pub(crate) email_key: String,
    pub(crate) user_scope: Scope,
    pub(crate) user_reach: Reach,
    pub(crate) token_scope: Option<Scope>,
    pub(crate) token_reach: Reach,
    pub(crate) expires_at: Option<Timestamp>,
}

pub(crate) struct AccountRow {
    pub(crate) client_id: String,
    pub(crate) name: String,
    pub(crate) digest: Digest,
    pub(crate) scope: Scope,
    pub(crate) connections: Arc<[Uuid]>,
}

pub(crate) struct KeyRow {
    pub(crate) kid: String,
    pub(crate) public: PublicKey,
    /// Only of the key that signs.
    pub(crate) private: Option<SecretSlice<u8>>,
    pub(crate) retired_at: Option<Timestamp>,
}

impl Store {
    /// Reads everything in one transaction.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let transaction = self.connection.unchecked_transaction().map_err(broken)?;
        // A newer program may have changed the format under us.
        schema::check(&transaction)?;
        Ok(Contents {
            tokens: rows(
                &transaction,
                "SELECT t.digest, u.email, u.email_key, u.scope, u.reach, t.scope, t.reach, t.expires_at
                 FROM personal_access_tokens t JOIN users u ON u.id = t.user_id
                 WHERE t.revoked_at IS NULL",
                |row| {
                    Ok(TokenRow {
                        digest: row.get(0)?,
                        email: row.get(1)?,
                        email_key: row.get(2)?,
                        user_scope: row.get(3)?,
                        user_reach: reach(row.get(4)?),
                        token_scope: row.get(5)?,
                        token_reach: reach(row.get(6)?),
                        expires_at: row.get(7)?,
                    })
                },
            )?,
            accounts: rows(
                &transaction,
                "SELECT client_id, digest, scope, connections, name FROM service_accounts WHERE disabled_at IS NULL",
                |row| {
                    let Connections(connections) = row.get(3)?;
                    let (client_id, name) = (row.get(0)?, row.get(4)?);
                    Ok(AccountRow { client_id, name, digest: row.get(1)?, scope: row.get(2)?, connections })
                },
            )?,
            keys: rows(
                &transaction,
                "SELECT kid, public_key, private_key, retired_at FROM signing_keys
                 ORDER BY retired_at IS NOT NULL, retired_at DESC, rowid DESC",
                |row| {
                    let private: Option<Vec<u8>> = row.get(2)?;
                    Ok(KeyRow {
                        kid: row.get(0)?,
                        public: row.get(1)?,
                        private: private.map(SecretSlice::from),
                        retired_at: row.get(3)?,
                    })
                },
            )?,
        })
    }
}

fn rows<T>(connection: &Connection, sql: &str, read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    let rows = statement.query_map([], read).map_err(broken)?;
    rows.collect::<rusqlite::Result<Vec<_>>>().map_err(broken)
}

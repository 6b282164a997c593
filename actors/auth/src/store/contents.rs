//! Everything that credentials are judged by, read at one moment. Digests and private keys leave
//! the store here and nowhere else.

use std::time::Duration;

use rusqlite::named_params;
use secrecy::{ExposeSecret, SecretSlice};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::keys::key::PublicKey;
use crate::keys::sealing::{self, StoreKey};
use crate::oauth::client::ClientKind;
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::open::Store;
use crate::store::rows::consents::{FROM, RIGHTS, remaining_rights};
use crate::store::sql::columns::rights;
use portico_core::error::Result;
use portico_core::principal::Rights;

/// How long a revoked token is distinguished from an unknown one.
const REVOKED_KNOWN: Duration = Duration::from_hours(30 * 24);

/// Users and accounts that are not disabled, personal access tokens, including refused ones for which the audit
/// trail has a reason, revoked access tokens, and every key, the newest first.
pub(crate) struct Contents {
    pub(crate) users: Vec<UserRow>,
    pub(crate) tokens: Vec<TokenRow>,
    pub(crate) accounts: Vec<AccountRow>,
    pub(crate) grants: Vec<GrantRow>,
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) revoked: Vec<Uuid>,
    /// Subjects of other issuers that are refused.
    pub(crate) refused: Vec<String>,
}

pub(crate) struct UserRow {
    pub(crate) email: String,
    pub(crate) email_key: String,
    pub(crate) rights: Rights,
    pub(crate) created_at: Timestamp,
}

pub(crate) struct TokenRow {
    pub(crate) digest: Digest,
    pub(crate) email: String,
    pub(crate) email_key: String,
    /// The token's rights, limited by its user's.
    pub(crate) rights: Rights,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) id: Uuid,
    /// The token that began the session in which it was made.
    pub(crate) parent: Option<Uuid>,
    pub(crate) is_revoked: bool,
    /// Whether its user is.
    pub(crate) is_disabled: bool,
}

pub(crate) struct AccountRow {
    pub(crate) client_id: String,
    pub(crate) name: String,
    pub(crate) digest: Digest,
    pub(crate) rights: Rights,
    /// When it was made, or the second after it was last disabled.
    pub(crate) since: Timestamp,
    /// The maximal rights of the secret.
    pub(crate) seen: Rights,
    /// The token that began the session in which the secret was made.
    pub(crate) parent: Option<Uuid>,
    /// Whether its name was given by an administrator of the whole service.
    pub(crate) named: bool,
}

/// A person's grant to a client.
pub(crate) struct GrantRow {
    pub(crate) id: Uuid,
    /// Its rights, limited by those of the person and of the token that the consent was given with.
    pub(crate) rights: Rights,
    pub(crate) expires_at: Timestamp,
    /// The token that began the session in which it was given.
    pub(crate) token: Option<Uuid>,
    pub(crate) kind: Option<ClientKind>,
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
        self.connection.read(|connection| {
            self.check()?;
            Ok(Contents {
                users: users(connection)?,
                tokens: tokens(connection, self.clock.now().time().before(REVOKED_KNOWN))?,
                accounts: accounts(connection)?,
                grants: grants(connection)?,
                keys: keys(connection, self.key.as_ref())?,
                revoked: connection.query("SELECT jti FROM revoked_tokens", (), |row| row.id(0))?,
                refused: connection.query("SELECT subject FROM refused_subjects", (), |row| row.get(0))?,
            })
        })
    }
}

/// Reads the users that are not disabled.
fn users(connection: &StoreConnection) -> Result<Vec<UserRow>> {
    connection.query(
        "SELECT email, email_key, scope, reach, created_at FROM users WHERE disabled_at IS NULL",
        (),
        |row| {
            Ok(UserRow {
                email: row.get(0)?,
                email_key: row.get(1)?,
                rights: rights(row, 2, 3)?,
                created_at: row.get(4)?,
            })
        },
    )
}

/// Reads the personal access tokens, without those revoked before `then`.
fn tokens(connection: &StoreConnection, then: Timestamp) -> Result<Vec<TokenRow>> {
    connection.query(
        "SELECT t.digest, u.email, u.email_key, u.scope, u.reach, t.scope, t.reach, t.expires_at, t.id,
                t.revoked_at, u.disabled_at, t.parent_id
         FROM personal_access_tokens t JOIN users u ON u.id = t.user_id
         WHERE t.revoked_at IS NULL OR t.revoked_at > :then ORDER BY t.rowid",
        named_params! { ":then": then },
        |row| {
            Ok(TokenRow {
                id: row.id(8)?,
                parent: row.optional_id(11)?,
                is_revoked: row.get::<_, Option<i64>>(9)?.is_some(),
                is_disabled: row.get::<_, Option<i64>>(10)?.is_some(),
                digest: row.get(0)?,
                email: row.get(1)?,
                email_key: row.get(2)?,
                rights: rights(row, 3, 4)?.intersection(&rights(row, 5, 6)?),
                expires_at: row.get(7)?,
            })
        },
    )
}

/// Reads the service accounts that are not disabled.
fn accounts(connection: &StoreConnection) -> Result<Vec<AccountRow>> {
    connection.query(
        "SELECT client_id, digest, scope, connections, coalesce(ended_at + 1, created_at), name,
                secret_scope, secret_reach, secret_parent, named
         FROM service_accounts WHERE disabled_at IS NULL",
        (),
        |row| {
            Ok(AccountRow {
                client_id: row.get(0)?,
                name: row.get(5)?,
                digest: row.get(1)?,
                rights: rights(row, 2, 3)?,
                since: row.get(4)?,
                seen: rights(row, 6, 7)?,
                parent: row.optional_id(8)?,
                named: row.get(9)?,
            })
        },
    )
}

/// Reads the grants that are in use, of users that are not disabled.
fn grants(connection: &StoreConnection) -> Result<Vec<GrantRow>> {
    connection.query(
        &format!(
            "SELECT {RIGHTS}, g.id, g.expires_at, g.token_id, g.client_id, c.kind, c.redirect_uris
             {FROM} WHERE g.used_at IS NOT NULL AND u.disabled_at IS NULL"
        ),
        (),
        |row| {
            let client: String = row.get("client_id")?;
            Ok(GrantRow {
                id: row.id("id")?,
                rights: remaining_rights(row)?,
                expires_at: row.get("expires_at")?,
                token: row.optional_id("token_id")?,
                kind: ClientKind::of_grant(&client, row.get("kind")?, row.get("redirect_uris")?),
            })
        },
    )
}

/// Reads the signing keys, the newest first, and decrypts private ones with `store_key`.
fn keys(connection: &StoreConnection, store_key: Option<&StoreKey>) -> Result<Vec<KeyRow>> {
    connection.query(
        "SELECT kid, public_key, private_key, retired_at, sealed FROM signing_keys
         ORDER BY retired_at IS NOT NULL, retired_at DESC, rowid DESC",
        (),
        |row| {
            let (kid, private): (String, Option<Vec<u8>>) = (row.get(0)?, row.get(2)?);
            let private = match private.map(SecretSlice::from) {
                Some(sealed) if row.get(4)? => Some(sealing::open(store_key, &kid, sealed.expose_secret())?),
                private => private,
            };
            Ok(KeyRow { kid, public: row.get(1)?, private, retired_at: row.get(3)? })
        },
    )
}

//! Access tokens that were revoked before their end, in the store. Kept until they would be refused
//! anyway, and never more than a bound.

use rusqlite::named_params;
use serde_json::json;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::store::model::change::Change;
use crate::store::open::Store;
use portico_core::error::{Error, Kind, Result};

/// Tokens of one client that are revoked and not yet expired, at most.
const MOST_OF_A_CLIENT: i64 = 10_000;
/// Tokens of all clients that are revoked and not yet expired, at most.
const MOST: i64 = 200_000;

impl Store {
    /// Revokes the access token `jti` until `expires_at`, from when no check finds it valid. Revoking one twice
    /// changes nothing.
    ///
    /// # Errors
    /// [`Kind::Busy`] if too many are revoked: a revocation is never dropped for another one.
    pub(crate) fn revoke_access_token(&mut self, jti: Uuid, client_id: &str, expires_at: Timestamp) -> Result<()> {
        self.change(|connection, now| {
            let jti = jti.to_string();
            if connection.count("revoked_tokens WHERE jti = ?1", [&jti])? > 0 {
                return Ok(((), None));
            }
            // `ended` leaves room for a clock that is behind: there a token may still be valid.
            let ended = named_params! { ":ended": now.ended() };
            connection.execute("DELETE FROM revoked_tokens WHERE expires_at <= :ended", ended)?;
            let own = connection.count("revoked_tokens WHERE client_id = ?1", [client_id])?;
            if own >= MOST_OF_A_CLIENT || connection.count("revoked_tokens", ())? >= MOST {
                return Err(Error::new(Kind::Busy, "too many tokens are revoked that have not expired yet")
                    .hint("an administrator can disable the client, which refuses all of its tokens"));
            }
            let row = named_params! { ":jti": jti, ":client_id": client_id, ":expires_at": expires_at };
            connection.insert("revoked_tokens", row)?;
            let token = json!({"jti": jti, "clientId": client_id, "expiresAt": expires_at});
            Ok(((), Some(Change::new("access-token revoke", Some(&token), None))))
        })
    }
}

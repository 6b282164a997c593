//! Publishes the public keys that verify our tokens.

use actix::{Handler, Message};

use crate::actor::AuthActor;
use crate::sync::lookup::StoreUnavailable;
use portico_core::error::{Error, Result};

/// Asks for the JWK set (RFC 7517 §5) of every key that verifies now. Fails until the store was read for the first
/// time.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<serde_json::Value>")]
pub struct Jwks;

impl Handler<Jwks> for AuthActor {
    type Result = Result<serde_json::Value>;

    fn handle(&mut self, _: Jwks, _: &mut Self::Context) -> Self::Result {
        self.refresh_from_store();
        let keys = self.snapshot.jwks(&self.tokens, self.settings.clock.now());
        let unread = self.store_failed && self.snapshot.signing_key().is_none();
        if unread { Err(Error::store_unavailable()) } else { Ok(keys) }
    }
}

//! What a request has to remember between two rounds, carried by the client (MCP 2026-07-28, multi
//! round-trip requests). The client is not trusted with it: it is authenticated with a key of this
//! process, and bound to the principal, the connection, the request and a time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use portico_actors::error::{Error, Result};
use serde_json::Value;
use sha2::Sha256;
use uuid::Uuid;

/// How long a client may take for its answers.
const LIFETIME: Duration = Duration::from_mins(10);
/// Bytes of the authentication code.
const CODE: usize = 32;
/// Bytes of the time at which it ends, in seconds.
const TIME: usize = 8;

/// The key of one process. States of another process, or from before a restart, are not opened.
pub struct Seal {
    key: [u8; 32],
}

/// What a state is bound to: it opens for the same principal, connection and request alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound(Vec<u8>);

impl Bound {
    /// `request` holds whatever tells one request from another.
    pub(super) fn of(subject: &str, connection: Uuid, request: &[&str]) -> Self {
        let mut bytes = connection.into_bytes().to_vec();
        for piece in [subject].iter().chain(request) {
            // With its length in front, no piece can pass for the end of another.
            bytes.extend_from_slice(&piece.len().to_be_bytes());
            bytes.extend_from_slice(piece.as_bytes());
        }
        Self(bytes)
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Default for Seal {
    fn default() -> Self {
        // 244 random bits of the system's generator.
        let mut key = [0; 32];
        key[..16].copy_from_slice(Uuid::new_v4().as_bytes());
        key[16..].copy_from_slice(Uuid::new_v4().as_bytes());
        Self { key }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Seal {
    fn code(&self, bound: &Bound, ends: [u8; TIME], state: &[u8]) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        code.update(&ends);
        code.update(&bound.0.len().to_be_bytes());
        code.update(&bound.0);
        code.update(state);
        Some(code)
    }

    /// `state` as the client carries it.
    pub(super) fn close(&self, bound: &Bound, state: &Value) -> String {
        self.close_until(bound, state, now() + LIFETIME.as_secs())
    }

    fn close_until(&self, bound: &Bound, state: &Value, ends: u64) -> String {
        let (ends, state) = (ends.to_be_bytes(), state.to_string().into_bytes());
        // A key of this length is always taken.
        let Some(code) = self.code(bound, ends, &state) else { return String::new() };
        let mut sealed = code.finalize().into_bytes().to_vec();
        sealed.extend_from_slice(&ends);
        sealed.extend_from_slice(&state);
        BASE64.encode(sealed)
    }

    /// What the client has carried.
    ///
    /// # Errors
    /// It was changed, is of another request, or is too old.
    pub(super) fn open(&self, bound: &Bound, sealed: &str) -> Result<Value> {
        let refused = || {
            Error::invalid(
                "requestState: this state is not of this request, or it is too old; send the request again without \
                 requestState and inputResponses",
            )
        };
        let sealed = BASE64.decode(sealed).map_err(|_| refused())?;
        let (code, rest) = sealed.split_at_checked(CODE).ok_or_else(refused)?;
        let (ends, state) = rest.split_at_checked(TIME).ok_or_else(refused)?;
        let ends: [u8; TIME] = ends.try_into().map_err(|_| refused())?;
        let expected = self.code(bound, ends, state).ok_or_else(refused)?;
        // Compares in constant time.
        expected.verify_slice(code).map_err(|_| refused())?;
        if u64::from_be_bytes(ends) < now() {
            return Err(refused());
        }
        serde_json::from_slice(state).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_opens_for_what_it_is_bound_to_alone() {
        let (seal, state) = (Seal::default(), json!({"step": 2}));
        let connection = Uuid::from_u128(1);
        let bound = Bound::of("ann", connection, &["tools/call", "a", "{}"]);
        let sealed = seal.close(&bound, &state);
        assert_eq!(seal.open(&bound, &sealed).unwrap(), state);
        for other in [
            Bound::of("bob", connection, &["tools/call", "a", "{}"]),
            Bound::of("ann", Uuid::from_u128(2), &["tools/call", "a", "{}"]),
            Bound::of("ann", connection, &["tools/call", "b", "{}"]),
            Bound::of("ann", connection, &["tools/call", "a", "{\"x\":1}"]),
            Bound::of("ann", connection, &["tools/call", "a{}", ""]),
        ] {
            assert!(seal.open(&other, &sealed).is_err(), "{other:?}");
        }
        assert!(Seal::default().open(&bound, &sealed).is_err(), "another key opened it");
    }

    #[test]
    fn a_state_that_was_changed_or_is_too_old_is_refused() {
        let (seal, bound) = (Seal::default(), Bound::of("ann", Uuid::nil(), &[]));
        let sealed = seal.close(&bound, &json!("x"));
        let bytes = BASE64.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(seal.open(&bound, &BASE64.encode(changed)).is_err(), "byte {at}");
        }
        for wrong in ["", "!", "AAAA", &format!("{sealed}-TAMPERED")] {
            assert!(seal.open(&bound, wrong).is_err(), "{wrong}");
        }
        assert!(seal.open(&bound, &seal.close_until(&bound, &json!("x"), now() - 1)).is_err());
    }
}

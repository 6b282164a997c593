//! The state of a request between two rounds, carried by the client (MCP 2026-07-28, multi round-trip requests).
//! The client is not trusted with it: it is authenticated with a key that only the processes on one store have, and
//! bound to the caller, the connection, the request and a time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use portico_actors::auth::SharedSecret;
use portico_actors::error::{Error, Result};
use serde_json::Value;
use sha2::Sha256;
use uuid::Uuid;

use crate::mcp::sessions::Owner;
use crate::mcp::target::TargetId;

/// How long a client may take for its answers.
const LIFETIME: Duration = Duration::from_mins(10);
/// Bytes of the authentication code.
const CODE: usize = 32;
/// Bytes of the time at which it ends, in seconds.
const TIME: usize = 8;

/// The purpose of the key, among those of the store.
const PURPOSE: &str = "requestState";

/// The key of one store. A state is opened by every process on it, until the key that signs is rotated.
#[derive(Debug)]
pub struct StateSigner {
    secret: SharedSecret,
    /// How far the clocks of two processes may be apart.
    skew: Duration,
}

/// What a state is bound to: it is valid only for the same owner and request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct StateBinding(Vec<u8>);

impl StateBinding {
    /// Makes a binding. `request` contains everything that identifies a request. The connection's configuration
    /// does not count: the request is checked again, and another process on the store may have another
    /// configuration.
    pub(in crate::mcp) fn new(owner: &Owner, request: &[&str]) -> Self {
        let Owner { subject, target, rights, claims, .. } = owner;
        let (mut bytes, place) = match target {
            TargetId::Connection(id) => (id.into_bytes().to_vec(), ""),
            TargetId::All => (Uuid::nil().into_bytes().to_vec(), ""),
            TargetId::Workspace(name) => (Uuid::nil().into_bytes().to_vec(), name.as_ref()),
        };
        bytes.extend_from_slice(&place.len().to_be_bytes());
        bytes.extend_from_slice(place.as_bytes());
        let each = rights.list().unwrap_or_default();
        bytes.extend_from_slice(&each.len().to_be_bytes());
        for (id, scope) in each {
            bytes.extend_from_slice(id.as_bytes());
            bytes.push(*scope as u8);
        }
        for piece in [subject, rights.widest().as_str(), claims].iter().chain(request) {
            // With its length in front, no piece can pass for the end of another.
            bytes.extend_from_slice(&piece.len().to_be_bytes());
            bytes.extend_from_slice(piece.as_bytes());
        }
        Self(bytes)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl StateSigner {
    /// Makes a signer with a key derived from `secret`, for processes whose clocks differ by at most `skew`.
    pub fn new(secret: SharedSecret, skew: Duration) -> Self {
        Self { secret, skew }
    }

    fn code(&self, bound: &StateBinding, ends: [u8; TIME], state: &[u8]) -> Result<Hmac<Sha256>> {
        let key = self.secret.key(PURPOSE)?;
        let mut code = Hmac::<Sha256>::new_from_slice(&*key).map_err(Error::internal)?;
        code.update(&ends);
        code.update(&bound.0.len().to_be_bytes());
        code.update(&bound.0);
        code.update(state);
        Ok(code)
    }

    /// `state` as the client carries it.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](portico_actors::error::Kind::Unavailable) before the store was read.
    pub(in crate::mcp) fn sign(&self, bound: &StateBinding, state: &Value) -> Result<String> {
        self.sign_until(bound, state, now() + LIFETIME.as_secs())
    }

    fn sign_until(&self, bound: &StateBinding, state: &Value, ends: u64) -> Result<String> {
        let (ends, state) = (ends.to_be_bytes(), state.to_string().into_bytes());
        let mut sealed = self.code(bound, ends, &state)?.finalize().into_bytes().to_vec();
        sealed.extend_from_slice(&ends);
        sealed.extend_from_slice(&state);
        Ok(BASE64.encode(sealed))
    }

    /// Returns the state that the client has carried.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_actors::error::Kind::Invalid) if it was changed, is of another request or of
    /// another store, or is too old; [`Kind::Unavailable`](portico_actors::error::Kind::Unavailable) before the
    /// store was read.
    pub(in crate::mcp) fn verify(&self, bound: &StateBinding, sealed: &str) -> Result<Value> {
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
        let expected = self.code(bound, ends, state)?;
        // Compares in constant time.
        expected.verify_slice(code).map_err(|_| refused())?;
        if u64::from_be_bytes(ends).saturating_add(self.skew.as_secs()) < now() {
            return Err(refused());
        }
        serde_json::from_slice(state).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use portico_actors::error::Kind;
    use portico_actors::principal::Scope;
    use serde_json::json;

    use super::*;

    const SKEW: Duration = Duration::from_secs(30);

    fn owner(subject: &str) -> Owner {
        Owner::new(subject, 1, Scope::Read)
    }

    fn signer(secret: &str) -> StateSigner {
        StateSigner::new(SharedSecret::new(secret.as_bytes()), SKEW)
    }

    #[test]
    fn a_state_opens_for_what_it_is_bound_to_alone() {
        let (signer, state) = (signer("one"), json!({"step": 2}));
        let bound = StateBinding::new(&owner("ann"), &["tools/call", "a", "{}"]);
        let sealed = signer.sign(&bound, &state).unwrap();
        assert_eq!(signer.verify(&bound, &sealed).unwrap(), state);
        for other in [
            StateBinding::new(&owner("bob"), &["tools/call", "a", "{}"]),
            StateBinding::new(&Owner::new("ann", 2, Scope::Read), &["tools/call", "a", "{}"]),
            StateBinding::new(&Owner::new("ann", 1, Scope::Write), &["tools/call", "a", "{}"]),
            StateBinding::new(&Owner { claims: "c".to_owned(), ..owner("ann") }, &["tools/call", "a", "{}"]),
            StateBinding::new(&owner("ann"), &["tools/call", "b", "{}"]),
            StateBinding::new(&owner("ann"), &["tools/call", "a", "{\"x\":1}"]),
            StateBinding::new(&owner("ann"), &["tools/call", "a{}", ""]),
        ] {
            assert!(signer.verify(&other, &sealed).is_err(), "{other:?}");
        }
        assert_eq!(self::signer("one").verify(&bound, &sealed).unwrap(), state, "another process on the same store");
        assert!(self::signer("two").verify(&bound, &sealed).is_err(), "another key opened it");
        let unread = StateSigner::new(SharedSecret::default(), SKEW);
        assert_eq!(unread.verify(&bound, &sealed).unwrap_err().kind, Kind::Unavailable);
        assert_eq!(unread.sign(&bound, &state).unwrap_err().kind, Kind::Unavailable);
    }

    #[test]
    fn a_state_that_was_changed_or_is_too_old_is_refused() {
        let (signer, bound) = (signer("one"), StateBinding::new(&owner("ann"), &[]));
        let sealed = signer.sign(&bound, &json!("x")).unwrap();
        let bytes = BASE64.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(signer.verify(&bound, &BASE64.encode(changed)).is_err(), "byte {at}");
        }
        for wrong in ["", "!", "AAAA", &format!("{sealed}-TAMPERED")] {
            assert!(signer.verify(&bound, wrong).is_err(), "{wrong}");
        }
        let ended = |ago: u64| signer.verify(&bound, &signer.sign_until(&bound, &json!("x"), now() - ago).unwrap());
        // The clock of the process that sealed it may be behind this one's.
        assert!(ended(SKEW.as_secs() / 2).is_ok() && ended(SKEW.as_secs() + 1).is_err());
    }
}

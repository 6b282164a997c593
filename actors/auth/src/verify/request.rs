//! The message that authenticates a credential, and the cache key of the answer.

use std::net::IpAddr;
use std::sync::Arc;

use actix::Message;
use secrecy::ExposeSecret;

use crate::secret::Digest;
use crate::verify::pending::Pending;
use portico_core::error::Result;
use portico_core::principal::{Credential, Endpoint, Principal};

/// Authenticates a credential, and checks that it may be used at an endpoint.
#[derive(Clone, Debug)]
pub struct Authenticate {
    /// The credential.
    pub credential: Credential,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Where it is shown from, if that is known.
    pub from: Option<IpAddr>,
}

/// A credential, and the endpoint that it was shown to: it may open one and not another.
pub(crate) type CredentialKey = (Digest, Endpoint);

/// Returns the cache key. No header contains the byte that separates name and token.
pub(crate) fn key(asked: &Authenticate) -> CredentialKey {
    let digest = match &asked.credential {
        Credential::Bearer(token) => Digest::new(token.expose_secret()),
        Credential::Basic { email, token } => Digest::of_parts(&[email, "\0", token.expose_secret()]),
    };
    (digest, asked.endpoint)
}

/// Asks the actor about a credential that is not cached. Each digest is computed once.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Principal>>")]
pub(crate) struct VerifyCredential {
    pub(crate) asked: Authenticate,
    /// The cache key.
    pub(crate) key: CredentialKey,
    /// That of the token alone.
    pub(crate) token: Digest,
    /// Its place among the waiting requests.
    pub(crate) pending: Option<Pending>,
}

impl VerifyCredential {
    pub(crate) fn new(asked: Authenticate, key: CredentialKey, pending: Option<Pending>) -> Self {
        let token = match &asked.credential {
            Credential::Bearer(_) => key.0,
            Credential::Basic { token, .. } => Digest::new(token.expose_secret()),
        };
        Self { asked, key, token, pending }
    }
}

impl From<Authenticate> for VerifyCredential {
    fn from(asked: Authenticate) -> Self {
        let key = key(&asked);
        Self::new(asked, key, None)
    }
}

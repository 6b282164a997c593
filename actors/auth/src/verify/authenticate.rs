//! What is asked when a credential is shown, and what the answer is remembered under.

use std::net::IpAddr;
use std::sync::Arc;

use actix::Message;
use secrecy::ExposeSecret;

use crate::secret::Digest;
use crate::verify::pending::Pending;
use portico_core::error::Result;
use portico_core::principal::{Credential, Endpoint, Principal};

/// Asks who shows this credential, and whether it opens this endpoint.
#[derive(Clone, Debug)]
pub struct Authenticate {
    /// What is shown.
    pub credential: Credential,
    /// To what it is shown.
    pub endpoint: Endpoint,
    /// Where it is shown from, if that is known.
    pub from: Option<IpAddr>,
}

/// A credential, and the endpoint that it was shown to: it may open one and not another.
pub(crate) type CredentialKey = (Digest, Endpoint);

/// What is remembered under. No header has the octet that stands between name and token.
pub(crate) fn key(asked: &Authenticate) -> CredentialKey {
    let digest = match &asked.credential {
        Credential::Bearer(token) => Digest::new(token.expose_secret()),
        Credential::Basic { email, token } => Digest::of_parts(&[email, "\0", token.expose_secret()]),
    };
    (digest, asked.endpoint)
}

/// Asks the actor for what is not remembered. Each digest is made once.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Principal>>")]
pub(crate) struct VerifyCredential {
    pub(crate) asked: Authenticate,
    /// What it is remembered under.
    pub(crate) key: CredentialKey,
    /// That of the token alone.
    pub(crate) token: Digest,
    /// Its place among those that wait.
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

//! A person's grant to a client, and its exchange for tokens: authorization codes (RFC 6749 §4.1) bound to PKCE
//! (RFC 7636), and refresh tokens in families (RFC 9700 §4.14).

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::oauth::client::{ClientKind, ClientPolicy};
use crate::oauth::grant::{self, AccessToken, GrantError};
use crate::secret::{self, Digest};
use crate::verify::resource::Resource;
use crate::verify::token::Tokens;
use portico_core::error::Result;
use portico_core::principal::Rights;
use portico_core::reach::with_connections;

/// How long an authorization code can be redeemed.
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// How long a refresh token can be used, from when it was issued.
pub const REFRESH_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// How long a grant lasts, however often it is refreshed: then the person is asked again.
pub const GRANT_LIFETIME: Duration = Duration::from_hours(90 * 24);

/// Begins every authorization code.
pub(crate) const CODE_PREFIX: &str = "ptc_ac_";
/// Begins every refresh token.
pub(crate) const REFRESH_PREFIX: &str = "ptc_rt_";

/// What a person has agreed to.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The client's id.
    pub client_id: String,
    /// The client's name, as the person was shown it.
    pub client_name: String,
    /// The redirect URI of the answer; already matched with the client's.
    pub redirect_uri: String,
    /// The PKCE challenge, made with S256.
    pub challenge: String,
    /// The connections that the client may use, and how far it may go at each.
    pub rights: Rights,
    /// The resource asked for (RFC 8707).
    pub resource: Option<String>,
}

/// The credential of a client at the token endpoint. `Debug` never prints the secret.
#[derive(Clone, Debug)]
pub struct ClientCredential {
    /// The client's address; `None` if unknown.
    pub from: Option<IpAddr>,
    /// The client's id.
    pub client_id: String,
    /// Its secret, if it shows one.
    pub secret: Option<SecretString>,
}

/// `grant_type=authorization_code`. Its `Debug` never prints a secret.
#[derive(Clone, Debug)]
pub struct AuthorizationCodeRequest {
    /// The client.
    pub client: ClientCredential,
    /// The code.
    pub code: SecretString,
    /// The address that the code was sent to.
    pub redirect_uri: String,
    /// The PKCE verifier.
    pub verifier: SecretString,
    /// Narrows the token to this resource (RFC 8707 §2.2).
    pub resource: Option<String>,
}

/// `grant_type=refresh_token`. Its `Debug` never prints a secret.
#[derive(Clone, Debug)]
pub struct RefreshTokenRequest {
    /// The client.
    pub client: ClientCredential,
    /// The refresh token.
    pub token: SecretString,
    /// Narrows the access token; the grant is unchanged.
    pub scope: Option<String>,
    /// Narrows the access token to this resource.
    pub resource: Option<String>,
}

/// An access token, and the refresh token for the next one. Its `Debug` prints neither.
#[derive(Clone, Debug)]
pub struct IssuedTokens {
    /// The access token.
    pub access: AccessToken,
    /// The refresh token that takes the place of any before it.
    pub refresh: SecretString,
    /// The person who gave it.
    pub subject: String,
}

/// A person's consent to a client: a grant in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consent {
    /// Names it for ever.
    pub id: Uuid,
    /// The person who gave it.
    pub email: String,
    /// The client's id.
    pub client_id: String,
    /// How the client became known; absent for one that is not known any more.
    pub client_kind: Option<ClientKind>,
    /// The client's name.
    pub client_name: String,
    /// Its current rights: no more than the person has, and the token that they signed in with.
    #[serde(flatten, serialize_with = "with_connections")]
    pub rights: Rights,
    /// When it was given.
    pub created_at: Timestamp,
    /// When tokens were last issued.
    pub used_at: Option<Timestamp>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What a code or a refresh token grants.
pub(crate) struct Granted {
    pub(crate) grant: Uuid,
    pub(crate) subject: String,
    pub(crate) rights: Rights,
    pub(crate) resource: Option<String>,
    /// How its client became known.
    pub(crate) kind: Option<ClientKind>,
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Granted({})", self.grant)
    }
}

/// The number of random characters in a secret.
const RANDOM: usize = 43;

/// The next refresh token of a grant. All of one grant have the same prefix, so that a replaced one is recognised
/// without being stored. `Debug` prints nothing of it.
#[derive(Debug)]
pub(crate) struct NextRefresh {
    pub(crate) secret: SecretString,
    pub(crate) digest: Digest,
    /// The digest of the common prefix.
    pub(crate) line: Digest,
}

impl NextRefresh {
    /// Makes the successor of `before`, or the first of a line.
    pub(crate) fn mint(before: Option<&SecretString>) -> Result<Self> {
        let (first, _) = secret::mint(REFRESH_PREFIX)?;
        let (own, _) = secret::mint("")?;
        let stem = before.and_then(stem).unwrap_or(first.expose_secret());
        let secret = SecretString::from(format!("{stem}{}", own.expose_secret()));
        Ok(Self { digest: Digest::new(secret.expose_secret()), line: Digest::new(stem), secret })
    }
}

/// Returns the common prefix of a refresh token's line; `None` for a token of an older version.
fn stem(token: &SecretString) -> Option<&str> {
    let whole = token.expose_secret();
    let length = REFRESH_PREFIX.len() + RANDOM;
    whole.get(..length).filter(|stem| stem.starts_with(REFRESH_PREFIX) && whole.len() == length + RANDOM)
}

/// The digest of that.
pub(crate) fn line_of(token: &SecretString) -> Option<Digest> {
    stem(token).map(Digest::new)
}

/// Narrows `granted` to a requested scope and resource (RFC 8707 §2.2) within it. A client that is no longer
/// admitted gets nothing.
pub(crate) fn narrow(
    granted: Granted,
    scope: Option<&str>,
    resource: Option<&str>,
    tokens: &Tokens,
    admission: ClientPolicy,
) -> std::result::Result<Granted, GrantError> {
    if !admission.takes(granted.kind) {
        return Err(GrantError::new("unauthorized_client", "clients of this kind are not admitted here any more"));
    }
    let rights = match scope {
        None => granted.rights.clone(),
        Some(asked) => granted.rights.up_to(grant::narrowed_scope(asked, granted.rights.widest())?),
    };
    let (rights, resource) = match resource {
        None => (rights, granted.resource),
        Some(asked) => {
            let whole = granted.resource.as_deref().map(|resource| grant::resource(resource, tokens)).transpose()?;
            let part = grant::resource(asked, tokens)?;
            if !part.is_open_to(&rights) || !whole.unwrap_or(Resource::Service).contains(&part) {
                return Err(GrantError::new("invalid_target", "the resource is not within what was granted"));
            }
            let one = part.part();
            (one.map_or_else(|| rights.clone(), |one| rights.intersection(&one)), Some(asked.to_owned()))
        }
    };
    Ok(Granted { rights, resource, ..granted })
}

/// Whether `text` can be a challenge: the SHA-256 of a verifier in base64url (RFC 7636 §4.2).
pub fn is_challenge(text: &str) -> bool {
    text.len() == 43 && URL_SAFE_NO_PAD.decode(text).is_ok_and(|octets| octets.len() == 32)
}

/// Returns true if `challenge` was made from `verifier` (RFC 7636 §4.6).
pub(crate) fn verifies(challenge: &str, verifier: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    (43..=128).contains(&verifier.len())
        && verifier.chars().all(plain)
        && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_example_of_the_standard_verifies() {
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(is_challenge(challenge) && verifies(challenge, verifier));
        for wrong in [challenge, "", "short", &verifier.to_lowercase(), &format!("{verifier} ")] {
            assert!(!verifies(challenge, wrong), "{wrong}");
        }
        assert!(!verifies(verifier, verifier), "the method plain is not known here");
        for wrong in ["", "plain", &"=".repeat(43), &format!("{challenge}=")] {
            assert!(!is_challenge(wrong), "{wrong}");
        }
    }
}

//! Access tokens: JWTs (RFC 7519) in the profile of RFC 9068, issued and verified. Whether the
//! client is still allowed what its token says is decided by the actor, not here.

use std::time::Duration;

use jsonwebtoken::{Header, Validation};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::clock::Timestamp;
use super::key::{SigningKey, VerifyingKey};
use crate::error::{Error, Result};
use crate::principal::{Reach, Scope};

/// How far the clocks of two machines may be apart.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// No token of ours is longer; what is longer is not even decoded.
const LONGEST: usize = 64 * 1024;

/// Why a token was refused: for the log and the tests alone, callers are never told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    UnknownKey,
    WrongAlgorithm,
    CriticalHeader,
    WrongSignature,
    WrongIssuer,
    WrongAudience,
    Expired,
    NotYetValid,
    NoScope,
    UnknownAccount,
    UnknownToken,
    AnotherUser,
}

impl Refusal {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Malformed => "not a token of ours",
            Self::UnknownKey => "signed with a key that is not in use",
            Self::WrongAlgorithm => "the token's algorithm is not its key's",
            Self::CriticalHeader => "the token demands a header that is not understood",
            Self::WrongSignature => "wrong signature",
            Self::WrongIssuer => "another issuer's token",
            Self::WrongAudience => "a token for another audience",
            Self::Expired => "expired",
            Self::NotYetValid => "not yet valid",
            Self::NoScope => "no scope that is known here",
            Self::UnknownAccount => "the service account is unknown, removed or disabled",
            Self::UnknownToken => "the personal access token is unknown or revoked",
            Self::AnotherUser => "the personal access token belongs to another user",
        }
    }
}

/// What a token says that was found genuine and in force.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) subject: String,
    pub(crate) scope: Scope,
    pub(crate) reach: Reach,
    /// From then on it is refused: its own end, or its key's.
    pub(crate) until: Timestamp,
}

/// What one token is to say.
#[derive(Debug)]
pub(crate) struct Issue<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) scope: Scope,
    pub(crate) connections: &'a [Uuid],
    /// The resource asked for; the issuer itself when absent.
    pub(crate) audience: Option<&'a str>,
}

/// Issues and verifies the tokens of one issuer.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    issuer: String,
    lifetime: Duration,
}

impl Tokens {
    /// A trailing slash of `issuer` is not part of its name: the metadata shows it without.
    pub(crate) fn new(issuer: &str, lifetime: Duration) -> Self {
        Self { issuer: issuer.trim_end_matches('/').to_owned(), lifetime }
    }

    /// How long tokens are valid that are issued from now on.
    pub(crate) fn set_lifetime(&mut self, lifetime: Duration) {
        self.lifetime = lifetime;
    }

    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Whether `audience` names this service or something within it.
    pub(crate) fn is_ours(&self, audience: &str) -> bool {
        audience.strip_prefix(&self.issuer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Until when `key` verifies; `None` while it signs.
    pub(crate) fn verifies_until(&self, key: &VerifyingKey) -> Option<Timestamp> {
        key.retired_at.map(|retired| retired.after(self.lifetime).after(CLOCK_SKEW))
    }

    pub(crate) fn issue(&self, key: &SigningKey, now: Timestamp, issue: &Issue<'_>) -> Result<SecretString> {
        let mut header = Header::new(key.algorithm.jwt());
        header.typ = Some("at+jwt".to_owned());
        header.kid = Some(key.kid.clone());
        let claims = Issued {
            iss: &self.issuer,
            sub: issue.client_id,
            aud: issue.audience.unwrap_or(&self.issuer),
            iat: now.seconds(),
            exp: now.after(self.lifetime).seconds(),
            jti: Uuid::new_v4(),
            client_id: issue.client_id,
            scope: issue.scope.list(),
            connection_ids: issue.connections,
        };
        jsonwebtoken::encode(&header, &claims, &key.encoding).map(SecretString::from).map_err(Error::internal)
    }

    /// Checks everything that the token alone can tell. `find` looks up a key by its `kid`.
    pub(crate) fn verify<'k>(
        &self,
        token: &str,
        now: Timestamp,
        find: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
    ) -> Result<Verified, Refusal> {
        if token.len() > LONGEST {
            return Err(Refusal::Malformed);
        }
        // An `alg` of `none`, and any that nobody knows, ends here. An embedded `jwk`, `jku` or
        // `x5u` is never looked at: the only keys are the ones in the store.
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refusal::Malformed)?;
        let key = header.kid.as_deref().and_then(find).ok_or(Refusal::UnknownKey)?;
        let key_until = self.verifies_until(key);
        if key_until.is_some_and(|until| now >= until) {
            return Err(Refusal::UnknownKey);
        }
        if header.alg != key.algorithm.jwt() {
            return Err(Refusal::WrongAlgorithm);
        }
        if header.crit.is_some() {
            return Err(Refusal::CriticalHeader);
        }
        let claims = jsonwebtoken::decode::<Received>(token, &key.decoding, &signature_alone(key)).map_err(
            |error| match error.kind() {
                jsonwebtoken::errors::ErrorKind::InvalidSignature => Refusal::WrongSignature,
                _ => Refusal::Malformed,
            },
        )?;
        self.check(claims.claims, now, key_until)
    }

    fn check(&self, claims: Received, now: Timestamp, key_until: Option<Timestamp>) -> Result<Verified, Refusal> {
        if claims.iss != self.issuer {
            return Err(Refusal::WrongIssuer);
        }
        let audiences: Vec<&str> = claims.aud.all().filter(|audience| self.is_ours(audience)).collect();
        if audiences.is_empty() {
            return Err(Refusal::WrongAudience);
        }
        let ends = Timestamp::from_seconds(claims.exp).after(CLOCK_SKEW);
        if now >= ends {
            return Err(Refusal::Expired);
        }
        let begins = claims.iat.max(claims.nbf.unwrap_or(i64::MIN));
        if now < Timestamp::from_seconds(begins).before(CLOCK_SKEW) {
            return Err(Refusal::NotYetValid);
        }
        let scope = claims.scope.as_deref().and_then(Scope::widest).ok_or(Refusal::NoScope)?;
        Ok(Verified {
            subject: claims.sub,
            scope,
            reach: connections_in(claims.connection_ids.as_ref()).and(&reach_of(&audiences)),
            until: key_until.map_or(ends, |until| until.min(ends)),
        })
    }
}

/// The library checks the signature; the claims are checked here, by a clock that can be set.
fn signature_alone(key: &VerifyingKey) -> Validation {
    let mut validation = Validation::new(key.algorithm.jwt());
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

/// Anything but an array opens nothing; in an array, what is not a connection's id opens nothing.
fn connections_in(claim: Option<&Value>) -> Reach {
    let listed = claim.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Reach::Only(listed.iter().filter_map(Value::as_str).filter_map(|id| Uuid::try_parse(id).ok()).collect())
}

/// The connection that a resource names, if its last segment is a connection's id.
pub(crate) fn connection_of(resource: &str) -> Option<Uuid> {
    let path = resource.split('?').next().unwrap_or(resource).trim_end_matches('/');
    Uuid::try_parse(path.rsplit('/').next()?).ok()
}

/// A token for single connections is good for nothing else (RFC 8707 §2); one for the service is
/// good for all of it.
fn reach_of(audiences: &[&str]) -> Reach {
    let connections: Option<Vec<Uuid>> = audiences.iter().map(|audience| connection_of(audience)).collect();
    connections.map_or(Reach::All, |connections| Reach::Only(connections.into()))
}

/// The claims as we write them.
#[derive(Serialize)]
struct Issued<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: Uuid,
    client_id: &'a str,
    scope: &'static str,
    connection_ids: &'a [Uuid],
}

/// The claims as we read them.
#[derive(Deserialize)]
struct Received {
    iss: String,
    sub: String,
    aud: Audience,
    exp: i64,
    iat: i64,
    nbf: Option<i64>,
    scope: Option<String>,
    connection_ids: Option<Value>,
}

/// One audience or several (RFC 7519 §4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn all(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(audience) => std::slice::from_ref(audience),
            Self::Several(audiences) => audiences,
        }
        .iter()
        .map(String::as_str)
    }
}

//! Access tokens: JWTs (RFC 7519) in the profile of RFC 9068, issued and verified. Whether the client still has the
//! token's rights is decided by the actor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::Header;
use secrecy::SecretString;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::keys::key::{SigningKey, VerifyingKey};
use crate::verify::jws::Signed;
use crate::verify::refusal::Refusal;
use crate::verify::resource::{self, Resource};
use portico_core::error::{Error, Result};
use portico_core::principal::{Endpoint, Rights, Scope, WorkspaceGrant};

/// The `typ` of access tokens (RFC 9068 §2.1).
const ACCESS_TOKEN: &str = "at+jwt";

/// The claims of one of our tokens that is genuine and in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) subject: String,
    pub(crate) client_id: String,
    pub(crate) jti: Uuid,
    pub(crate) rights: Rights,
    pub(crate) audiences: Vec<String>,
    pub(crate) issued_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    /// The grant that the token is a part of, if any.
    pub(crate) grant: Option<Uuid>,
    /// From then on it is refused: its own end with the clocks' skew, or its key's.
    pub(crate) until: Timestamp,
}

/// The claims of a token to be issued.
#[derive(Debug)]
pub(crate) struct AccessTokenClaims<'a> {
    /// A user's e-mail address, or a service account's client id.
    pub(crate) subject: &'a str,
    /// The client that it is given to.
    pub(crate) client_id: &'a str,
    /// The connections and workspaces that it names, each with its scope.
    pub(crate) rights: &'a Rights,
    /// The resource asked for; the issuer itself when absent.
    pub(crate) audience: Option<&'a str>,
    /// The grant that the token is a part of, if any: it ends with it.
    pub(crate) grant: Option<Uuid>,
}

/// Issues and verifies the tokens of our own issuer.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    issuer: String,
    lifetime: Duration,
    /// How far the clocks of two machines may be apart.
    skew: Duration,
}

impl Tokens {
    /// A trailing slash of `issuer` is not part of its name: the metadata shows it without.
    pub(crate) fn new(issuer: &str, lifetime: Duration, skew: Duration) -> Self {
        Self { issuer: issuer.trim_end_matches('/').to_owned(), lifetime, skew }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// How long tokens are valid that are issued from now on.
    pub(crate) fn set_lifetime(&mut self, lifetime: Duration) {
        self.lifetime = lifetime;
    }

    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    pub(crate) fn skew(&self) -> Duration {
        self.skew
    }

    /// Which of our addresses `audience` is.
    pub(crate) fn resource(&self, audience: &str) -> Option<Resource> {
        Resource::parse(&self.issuer, audience)
    }

    /// Returns until when `key` verifies; `None` while it signs.
    pub(crate) fn verifies_until(&self, key: &VerifyingKey) -> Option<Timestamp> {
        key.retired_at.map(|retired| retired.after(self.lifetime).after(self.skew))
    }

    pub(crate) fn issue(
        &self,
        key: &SigningKey,
        now: Timestamp,
        issue: &AccessTokenClaims<'_>,
    ) -> Result<SecretString> {
        let mut header = Header::new(key.algorithm.jwt());
        header.typ = Some(ACCESS_TOKEN.to_owned());
        header.kid = Some(key.kid.clone());
        let connections = issue.rights.list().unwrap_or_default();
        let ids: Vec<Uuid> = connections.iter().map(|(id, _)| *id).collect();
        let scope = issue.rights.widest();
        let narrower = connections.iter().filter(|(_, most)| *most < scope);
        let held = issue.rights.workspaces();
        let given = held.iter().filter_map(|(name, grant)| match grant {
            WorkspaceGrant::Given(most) if *most < scope => Some((name.as_ref(), most.as_str())),
            _ => None,
        });
        let through = held.iter().filter_map(|(name, grant)| match grant {
            WorkspaceGrant::Through(connections) => {
                Some((name.as_ref(), connections.iter().map(|(id, most)| (*id, most.as_str())).collect()))
            }
            WorkspaceGrant::Given(_) => None,
        });
        let claims = IssuedClaims {
            iss: &self.issuer,
            sub: issue.subject,
            aud: issue.audience.unwrap_or(&self.issuer),
            iat: now.seconds(),
            exp: now.after(self.lifetime).seconds(),
            jti: Uuid::new_v4(),
            client_id: issue.client_id,
            scope: scope.list(),
            connection_ids: &ids,
            connection_scopes: narrower.map(|(id, most)| (*id, most.as_str())).collect(),
            workspaces: held.iter().map(|(name, _)| name.as_ref()).collect(),
            workspace_scopes: given.collect(),
            workspace_connections: through.collect(),
            grant_id: issue.grant,
        };
        jsonwebtoken::encode(&header, &claims, &key.encoding).map(SecretString::from).map_err(Error::internal)
    }

    /// Checks everything that depends on the token alone. `find` looks up a key by its `kid`.
    pub(crate) fn verify<'k>(
        &self,
        token: &str,
        now: Timestamp,
        find: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
    ) -> Result<Verified, Refusal> {
        let signed = Signed::read(token)?;
        let key = signed.header.kid.as_deref().and_then(find).ok_or(Refusal::UnknownKey)?;
        let key_until = self.verifies_until(key);
        if key_until.is_some_and(|until| now >= until) {
            return Err(Refusal::UnknownKey);
        }
        let is_access_token = signed.header.is_of_type(ACCESS_TOKEN);
        let claims = signed.verified(key)?;
        // No other kind of JWT that these keys may sign one day is an access token (RFC 9068 §4).
        if !is_access_token {
            return Err(Refusal::WrongType);
        }
        let claims: ReceivedClaims = read(claims)?;
        // Signed by a thief of the key: our own private part is deleted.
        let last = key.retired_at.map(|retired| retired.after(self.skew));
        if last.is_some_and(|last| Timestamp::from_seconds(claims.iat.0) > last) {
            return Err(Refusal::RetiredKey);
        }
        self.check(claims, now, key_until)
    }

    /// Whether `audiences` open `endpoint`, and which connections there.
    pub(crate) fn reach_of(&self, audiences: &[String], endpoint: Endpoint) -> Result<Rights, Refusal> {
        let ours = audiences.iter().filter_map(|audience| self.resource(audience));
        resource::reach(ours, endpoint).ok_or(Refusal::WrongAudience)
    }

    /// Returns the id and the subject of a token with a genuine signature that was refused for another reason; the
    /// claim `subject` names the caller. Another issuer's subject is prefixed with that issuer's name, as it is when
    /// accepted; the id of such a token is not one of ours.
    pub(crate) fn identity(
        &self,
        token: &str,
        subject: &str,
        refusal: Refusal,
    ) -> Option<(Option<String>, Option<String>)> {
        let signed = Signed::read(token).ok().filter(|_| refusal.is_behind_signature())?;
        let text = |name| signed.claimed(name).map(str::to_owned);
        Some(match signed.claimed("iss") {
            Some(issuer) if issuer != self.issuer => (None, text(subject).map(|subject| format!("{issuer}#{subject}"))),
            _ => (text("jti"), text(subject)),
        })
    }

    fn check(&self, claims: ReceivedClaims, now: Timestamp, key_until: Option<Timestamp>) -> Result<Verified, Refusal> {
        if claims.iss != self.issuer {
            return Err(Refusal::WrongIssuer);
        }
        let audiences = claims.aud.all();
        if !audiences.iter().any(|audience| self.resource(audience).is_some()) {
            return Err(Refusal::WrongAudience);
        }
        let times = Times { exp: claims.exp, iat: Some(claims.iat), nbf: claims.nbf };
        let ends = times.check(now, self.skew)?;
        let scope = claims.scope.as_deref().and_then(Scope::widest).ok_or(Refusal::NoScope)?;
        Ok(Verified {
            rights: claims.named.rights().up_to(scope),
            subject: claims.sub,
            client_id: claims.client_id,
            jti: claims.jti,
            audiences,
            issued_at: Timestamp::from_seconds(claims.iat.0),
            expires_at: Timestamp::from_seconds(claims.exp.0),
            grant: claims.grant_id,
            until: key_until.map_or(ends, |until| until.min(ends)),
        })
    }
}

/// Claims as we want them.
pub(crate) fn read<T: DeserializeOwned>(claims: Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(claims)).map_err(|_| Refusal::Malformed)
}

/// The claims that bound a token in time (RFC 7519 §4.1.4 to §4.1.6), in seconds since 1970.
pub(crate) struct Times {
    pub(crate) exp: NumericDate,
    pub(crate) iat: Option<NumericDate>,
    pub(crate) nbf: Option<NumericDate>,
}

/// Seconds since 1970. A fraction, which RFC 7519 §2 allows, is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumericDate(i64);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        let whole = || format!("{:.0}", number.as_f64()?.floor()).parse().ok();
        let seconds = number.as_i64().or_else(whole);
        seconds.map(Self).ok_or_else(|| D::Error::custom("this is not a point in time"))
    }
}

impl Times {
    /// Whether the token's end is further away than `most`, from now or from when it was issued.
    pub(crate) fn last_longer_than(&self, most: Duration, now: Timestamp, skew: Duration) -> bool {
        let end = Timestamp::from_seconds(self.exp.0);
        let of_its_own = self.iat.is_some_and(|issued| end > Timestamp::from_seconds(issued.0).after(most));
        of_its_own || end > now.after(most).after(skew)
    }

    /// When the token ends for a clock that may be `skew` off, if it is in force now.
    pub(crate) fn check(&self, now: Timestamp, skew: Duration) -> Result<Timestamp, Refusal> {
        let ends = Timestamp::from_seconds(self.exp.0).after(skew);
        if now >= ends {
            return Err(Refusal::Expired);
        }
        let begins = [self.iat, self.nbf].into_iter().flatten().map(|date| date.0).max().unwrap_or(i64::MIN);
        if now < Timestamp::from_seconds(begins).before(skew) {
            return Err(Refusal::NotYetValid);
        }
        Ok(ends)
    }
}

/// Returns the texts of an array; a claim of another type, and other elements, are ignored.
fn texts(claim: Option<&Value>) -> impl Iterator<Item = &str> {
    claim.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str)
}

fn connections_in(claim: Option<&Value>) -> impl Iterator<Item = Uuid> {
    texts(claim).filter_map(|id| Uuid::try_parse(id).ok())
}

/// Returns the rights of the claims that name connections, by id, and workspaces, by name.
pub(crate) fn named_in(connections: Option<&Value>, workspaces: Option<&Value>) -> Rights {
    let given = texts(workspaces).map(|name| (name.into(), WorkspaceGrant::Given(Scope::Admin)));
    Rights::only(connections_in(connections), Scope::Admin).with_workspaces(given)
}

/// Returns the scope of a word; an invalid word grants nothing, and a missing one restricts nothing.
fn narrowed(word: Option<&String>) -> Option<Scope> {
    word.map_or(Some(Scope::Admin), |word| Scope::parse(word))
}

/// The claims with the rights of one of our tokens.
#[derive(Deserialize)]
struct Named {
    connection_ids: Option<Value>,
    #[serde(default)]
    connection_scopes: BTreeMap<Uuid, String>,
    workspaces: Option<Value>,
    #[serde(default)]
    workspace_scopes: BTreeMap<String, String>,
    #[serde(default)]
    workspace_connections: BTreeMap<String, BTreeMap<Uuid, String>>,
}

impl Named {
    fn rights(&self) -> Rights {
        let ids = connections_in(self.connection_ids.as_ref());
        let connections = ids.filter_map(|id| Some((id, narrowed(self.connection_scopes.get(&id))?)));
        let held = texts(self.workspaces.as_ref()).map(|name| {
            let through = self.workspace_connections.get(name).map(|connections| {
                let read = connections.iter().filter_map(|(id, word)| Some((*id, Scope::parse(word)?)));
                WorkspaceGrant::Through(read.collect())
            });
            let given = || narrowed(self.workspace_scopes.get(name)).map(WorkspaceGrant::Given);
            // Without a grant it would be reached by the connections.
            (name.into(), through.or_else(given).unwrap_or_else(|| WorkspaceGrant::Through(Arc::default())))
        });
        Rights::each(connections).with_workspaces(held)
    }
}

/// The claims as we write them.
#[derive(Serialize)]
struct IssuedClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: Uuid,
    client_id: &'a str,
    scope: &'static str,
    connection_ids: &'a [Uuid],
    /// The connections that are reached with less than `scope`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    connection_scopes: BTreeMap<Uuid, &'static str>,
    /// By name, beside those that are reached by `connection_ids`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workspaces: Vec<&'a str>,
    /// Workspaces that were granted with less than `scope`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    workspace_scopes: BTreeMap<&'a str, &'static str>,
    /// Workspaces that are reached through connections with other scopes than in `connection_ids`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    workspace_connections: BTreeMap<&'a str, BTreeMap<Uuid, &'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_id: Option<Uuid>,
}

/// The claims as we read them.
#[derive(Deserialize)]
struct ReceivedClaims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: NumericDate,
    iat: NumericDate,
    nbf: Option<NumericDate>,
    jti: Uuid,
    client_id: String,
    scope: Option<String>,
    #[serde(flatten)]
    named: Named,
    grant_id: Option<Uuid>,
}

/// One audience or several (RFC 7519 §4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(crate) fn all(self) -> Vec<String> {
        match self {
            Self::One(audience) => vec![audience],
            Self::Several(audiences) => audiences,
        }
    }
}

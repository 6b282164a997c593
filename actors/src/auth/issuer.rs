//! Issuers besides our own whose access tokens open connections here: what they are trusted with,
//! and what one of their tokens says. How their keys are fetched is not here, see `jwks`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, AsyncContext, Context};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::AuthActor;
use super::clock::Timestamp;
use super::jwks::{self, Fetched};
use super::key::{PublicKey, VerifyingKey};
use super::resource;
use super::token::{self, Audience, NumericDate, Refusal, Times, Tokens};
use crate::error::Result;
use crate::principal::{Endpoint, Principal, Rights, Scope};

/// Keys are asked for again no sooner than this, however many tokens name an unknown one.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// The same after a failure.
const BETWEEN_FAILURES: Duration = Duration::from_secs(5);
/// Keys that are older are fetched anew; a token is looked at again at least so often.
const FRESH: Duration = Duration::from_mins(10);
/// Requests that may wait for the keys of one issuer; further ones are refused.
const WAITING: usize = 1_000;
/// Characters of a subject at most.
const LONGEST_SUBJECT: usize = 256;

/// Whom to trust, and with what.
#[derive(Clone, Debug)]
pub struct TrustedIssuer {
    /// `iss` of its tokens, compared as it is.
    pub issuer: String,
    /// What its tokens are verified with.
    pub keys: IssuerKeys,
    /// `aud` that its tokens must name. Without one they must name this service or an endpoint of it.
    pub audience: Option<String>,
    /// The claim with the ids of connections: only an array of strings opens any.
    pub connections_claim: String,
    /// The claim with the scopes: a space-separated list, or an array of words.
    pub scope_claim: String,
    /// The claim that names the caller.
    pub subject_claim: String,
    /// The connections that its tokens reach at most.
    pub reach: Rights,
    /// The widest scope of its tokens. A token without a scope of its own has this one.
    pub scope: Option<Scope>,
}

/// The keys of an issuer.
#[derive(Clone, Debug)]
pub enum IssuerKeys {
    /// One that never changes.
    Fixed(IssuerKey),
    /// Those of the JWK set (RFC 7517 §5) at this address.
    Url(String),
}

/// One public key: what it signs with is its own matter, never the token's.
#[derive(Clone, Debug)]
pub struct IssuerKey(PublicKey);

impl IssuerKey {
    /// Reads a key in PEM (`-----BEGIN PUBLIC KEY-----`): Ed25519, P-256, or RSA of 2048 bits or more.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) for everything else.
    pub fn from_pem(text: &str) -> Result<Self> {
        PublicKey::from_pem(text).map(Self)
    }
}

impl TrustedIssuer {
    /// Whether `address` may be asked for a JWK set: https, or plain http on this very machine.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) with the remedy.
    pub fn check_url(address: &str) -> Result<()> {
        jwks::check_url(address)
    }
}

/// A trusted issuer with the keys that are known of it now.
pub(crate) struct Issuer {
    settings: TrustedIssuer,
    /// By `kid`; empty where the set names none.
    keys: HashMap<String, VerifyingKey>,
    fetched_at: Option<Timestamp>,
    next_fetch: Option<Timestamp>,
    fetching: bool,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Issuer {
    pub(crate) fn new(settings: TrustedIssuer) -> Result<Self> {
        let mut keys = HashMap::new();
        if let IssuerKeys::Fixed(IssuerKey(public)) = &settings.keys {
            keys.insert(String::new(), VerifyingKey::new(String::new(), public.clone(), None)?);
        }
        Ok(Self { settings, keys, fetched_at: None, next_fetch: None, fetching: false, waiting: Vec::new() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.issuer
    }

    /// Takes over the connections that its tokens reach at most.
    pub(crate) fn set_reach(&mut self, reach: Rights) {
        self.settings.reach = reach;
    }

    /// Who shows this token at `endpoint`, and until when that holds without another look.
    pub(crate) fn verify(
        &self,
        token: &str,
        ours: &Tokens,
        endpoint: Endpoint,
        now: Timestamp,
    ) -> Result<(Principal, Timestamp), Refusal> {
        let header = token::header(token)?;
        let key = self.key(header.kid.as_deref()).ok_or(Refusal::UnknownKey)?;
        let claims: Claims = token::claims(token, &header, key)?;
        if claims.iss != self.settings.issuer {
            return Err(Refusal::WrongIssuer);
        }
        let audiences = claims.aud.all();
        let for_us = match &self.settings.audience {
            Some(ours) => audiences.contains(ours).then_some(Rights::ALL),
            None => resource::reach(audiences.iter().filter_map(|audience| ours.resource(audience)), endpoint),
        };
        let for_us = for_us.ok_or(Refusal::WrongAudience)?;
        let times = Times { exp: claims.exp, iat: claims.iat, nbf: claims.nbf };
        let ends = times.check(now, ours.skew())?;
        let scope = self.scope(claims.rest.get(&self.settings.scope_claim)).ok_or(Refusal::NoScope)?;
        let connections = token::connections_in(claims.rest.get(&self.settings.connections_claim));
        let subject = claims.rest.get(&self.settings.subject_claim).and_then(Value::as_str);
        let subject = subject
            .filter(|subject| !subject.is_empty() && subject.chars().count() <= LONGEST_SUBJECT)
            .filter(|subject| !subject.chars().any(char::is_control))
            .ok_or(Refusal::Malformed)?;
        // No subject of another issuer is ever taken for one of ours, nor for a service account.
        let subject = format!("{}#{subject}", self.settings.issuer);
        let told = claims.rest.iter().filter(|(_, value)| value.as_str() != Some(&subject));
        let told = told.map(|(name, value)| (name.clone(), value.clone())).collect();
        let credential = claims.rest.get("jti").and_then(Value::as_str).map(Arc::from);
        let principal = Principal {
            credential,
            claims: Arc::new(told),
            subject,
            rights: connections.and(&for_us).and(&self.settings.reach).up_to(scope),
        };
        Ok((principal, ends.min(now.after(FRESH))))
    }

    fn key(&self, kid: Option<&str>) -> Option<&VerifyingKey> {
        match (&self.settings.keys, kid) {
            (IssuerKeys::Fixed(_), _) => self.keys.get(""),
            (IssuerKeys::Url(_), Some(kid)) => self.keys.get(kid),
            // Without a name there must be no choice.
            (IssuerKeys::Url(_), None) => self.keys.values().next().filter(|_| self.keys.len() == 1),
        }
    }

    fn scope(&self, claim: Option<&Value>) -> Option<Scope> {
        let said = match claim {
            None => return self.settings.scope,
            Some(Value::String(list)) => Scope::widest(list),
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).filter_map(Scope::from_word).max(),
            Some(_) => None,
        };
        said.map(|said| self.settings.scope.map_or(said, |most| most.min(said)))
    }

    /// Whether the keys are so old that they should be fetched anew.
    pub(crate) fn is_stale(&self, now: Timestamp) -> bool {
        matches!(self.settings.keys, IssuerKeys::Url(_))
            && self.fetched_at.is_none_or(|fetched| now >= fetched.after(FRESH))
    }

    /// Begins to fetch the keys, unless that was done a moment ago.
    pub(crate) fn fetch(&mut self, index: usize, client: &reqwest::Client, own: Addr<AuthActor>, now: Timestamp) {
        let IssuerKeys::Url(url) = &self.settings.keys else { return };
        if self.fetching || self.next_fetch.is_some_and(|next| now < next) {
            return;
        }
        self.fetching = true;
        let (client, url) = (client.clone(), url.clone());
        // A task of its own: whatever the other side does, nobody who is known already waits for it.
        actix::spawn(async move {
            let keys = jwks::fetch(&client, &url).await;
            own.do_send(Fetched { index, keys });
        });
    }

    /// Completes when the keys that are being fetched are there, or cannot be had.
    pub(crate) fn wait(&mut self) -> Option<oneshot::Receiver<()>> {
        if !self.fetching || self.waiting.len() >= WAITING {
            return None;
        }
        let (done, wait) = oneshot::channel();
        self.waiting.push(done);
        Some(wait)
    }

    /// Takes over what was fetched; after a failure the keys that are known stay. The failure's
    /// cause is for the log.
    pub(crate) fn fetched(
        &mut self,
        keys: std::result::Result<Vec<(String, PublicKey)>, String>,
        now: Timestamp,
    ) -> std::result::Result<(), String> {
        self.fetching = false;
        self.waiting.clear();
        self.next_fetch = Some(now.after(if keys.is_ok() { BETWEEN_FETCHES } else { BETWEEN_FAILURES }));
        let read = keys?.into_iter().filter_map(|(kid, public)| VerifyingKey::new(kid, public, None).ok());
        self.keys = read.map(|key| (key.kid.clone(), key)).collect();
        self.fetched_at = Some(now);
        Ok(())
    }
}

/// The issuer that a token claims to be of; nothing about it is proven yet.
pub(crate) fn claimed(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        iss: String,
    }
    let payload = token.split('.').nth(1).filter(|payload| payload.len() <= token::LONGEST)?;
    let claimed: Claimed = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Some(claimed.iss)
}

/// The claims that are read of every issuer, and the rest.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    exp: NumericDate,
    iat: Option<NumericDate>,
    nbf: Option<NumericDate>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl AuthActor {
    /// The trusted issuer that this token claims to be of.
    pub(crate) fn foreign(&self, token: &str) -> Option<usize> {
        if self.issuers.is_empty() {
            return None;
        }
        let claimed = claimed(token)?;
        self.issuers.iter().position(|issuer| issuer.name() == claimed)
    }

    /// Looks for newer keys of the issuer. Completes when there may be some; `None` when there is
    /// nothing to wait for.
    pub(crate) fn look_for_keys(&mut self, index: usize, context: &Context<Self>) -> Option<oneshot::Receiver<()>> {
        let now = self.clock.now();
        let issuer = self.issuers.get_mut(index)?;
        issuer.fetch(index, self.client.as_ref()?, context.address(), now);
        issuer.wait()
    }
}

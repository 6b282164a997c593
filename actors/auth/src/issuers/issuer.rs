//! Trusted issuers of access tokens besides our own: what they are trusted with, and how their tokens are
//! interpreted. Their keys are fetched in `jwks`.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::clock::{Moment, Timestamp};
use crate::issuers::jwks::{self, Keys};
use crate::keys::key::{PublicKey, VerifyingKey};
use crate::verify::jws::Signed;
use crate::verify::refusal::Refusal;
use crate::verify::resource;
use crate::verify::token::{self, Audience, NumericDate, Times, Tokens};
use portico_core::error::Result;
use portico_core::identity::RoleClaim;
use portico_core::name;
use portico_core::principal::{self, Asserted, Endpoint, Principal, Rights, Scope, Validity};

/// Keys are asked for again no sooner than this, however many tokens name an unknown one.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// The same after a failure.
pub(crate) const BETWEEN_FAILURES: Duration = Duration::from_secs(5);
/// Keys that are older are fetched anew; a token is looked at again at least so often.
const FRESH: Duration = Duration::from_mins(10);
/// Keys that are older, and that cannot be fetched anew, are used no more: one that was withdrawn
/// meanwhile would be good for ever.
const LONGEST_USE: Duration = Duration::from_hours(24);
/// Requests that may wait for the keys of one issuer; further ones are refused.
const WAITING: usize = 256;
/// Characters of a subject, and of a token's id, at most.
const LONGEST_TEXT: usize = 256;

/// A trusted issuer, and what it is trusted with.
#[derive(Clone, Debug)]
pub struct TrustedIssuer {
    /// `iss` of its tokens, compared as it is.
    pub issuer: String,
    /// The keys that verify its tokens.
    pub keys: IssuerKeys,
    /// `aud` that its tokens must name. Without one they must name this service or an endpoint of it.
    pub audience: Option<String>,
    /// The claim with the ids of connections: only an array of strings opens any.
    pub connections_claim: String,
    /// The claim with the names of workspaces: only an array of strings opens any.
    pub workspaces_claim: String,
    /// The claim with the scopes: a space-separated list, or an array of words.
    pub scope_claim: String,
    /// The claim that names the caller.
    pub subject_claim: String,
    /// The connections and workspaces that its tokens reach at most.
    pub reach: Rights,
    /// The widest scope of its tokens. A token without a scope claim has this one.
    pub scope: Option<Scope>,
    /// `typ` of its access tokens, one of these. A token without one is of the type `JWT`.
    pub types: Vec<String>,
    /// How far away a token's end may be, from now and from its beginning.
    pub max_age: Duration,
    /// Which of its claims are used in databases.
    pub identity: Option<IssuerIdentity>,
}

impl TrustedIssuer {
    /// The default `typ` of access tokens: that of RFC 9068, and the one that issuers from before write.
    pub const DEFAULT_TYPES: [&str; 2] = ["at+jwt", "JWT"];
    /// How far away a token's end may be, unless configured.
    pub const DEFAULT_MAX_AGE: Duration = Duration::from_hours(24);
}

/// Which of an issuer's claims select its callers' roles in databases, and are readable there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerIdentity {
    /// The claims that databases may read, and that a connection's own rules find roles by.
    pub claims: Vec<String>,
    /// The claim that selects the role, before a connection's own rules.
    pub claim: Option<RoleClaim>,
}

/// The keys of an issuer.
#[derive(Clone, Debug)]
pub enum IssuerKeys {
    /// One that never changes.
    Fixed(IssuerKey),
    /// The keys of the JWK set (RFC 7517 §5) at this address.
    Url(String),
}

/// One public key: its algorithm is a property of the key, never of the token.
#[derive(Clone, Debug)]
pub struct IssuerKey(PublicKey);

impl IssuerKey {
    /// Reads a key in PEM (`-----BEGIN PUBLIC KEY-----`): Ed25519, P-256, or RSA of 2048 bits or more.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for everything else.
    pub fn from_pem(text: &str) -> Result<Self> {
        PublicKey::from_pem(text).map(Self)
    }
}

impl TrustedIssuer {
    /// Whether `address` may be asked for a JWK set: https, or plain http on this very machine.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) with the remedy.
    pub fn check_url(address: &str) -> Result<()> {
        jwks::check_url(address)
    }

    /// Returns how many keys at its address can verify tokens; `None` if its key is a fixed one.
    ///
    /// # Errors
    /// The reason why the set of keys cannot be had, for an administrator.
    pub async fn count_keys(&self) -> Option<std::result::Result<usize, String>> {
        let IssuerKeys::Url(url) = &self.keys else { return None };
        Some(match jwks::client() {
            Ok(client) => jwks::fetch(&client, url).await.map(|keys| keys.len()),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// A trusted issuer with the keys that are known of it now.
pub(crate) struct Issuer {
    settings: TrustedIssuer,
    /// The keys in the order of the set. Several may have the same `kid`; a missing `kid` is kept as the empty one.
    keys: Vec<VerifyingKey>,
    fetched_at: Option<Moment>,
    /// When the last attempt to fetch them ended.
    tried_at: Option<Moment>,
    /// Whether it failed.
    failed: bool,
    fetching: bool,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Issuer {
    pub(crate) fn new(settings: TrustedIssuer) -> Result<Self> {
        let mut keys = Vec::new();
        if let IssuerKeys::Fixed(IssuerKey(public)) = &settings.keys {
            keys.push(VerifyingKey::new(String::new(), public.clone(), None)?);
        }
        let (fetched_at, tried_at, failed, fetching, waiting) = (None, None, false, false, Vec::new());
        Ok(Self { settings, keys, fetched_at, tried_at, failed, fetching, waiting })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.issuer
    }

    /// The claim that names the caller.
    pub(crate) fn subject_claim(&self) -> &str {
        &self.settings.subject_claim
    }

    /// Sets the maximal rights of its tokens.
    pub(crate) fn set_reach(&mut self, reach: Rights) {
        self.settings.reach = reach;
    }

    /// Verifies a token presented at `endpoint`. Returns the principal, and how long the verdict may be cached.
    pub(crate) fn verify(
        &self,
        token: &str,
        ours: &Tokens,
        endpoint: Endpoint,
        now: Timestamp,
    ) -> Result<(Principal, Timestamp), Refusal> {
        let signed = Signed::read(token)?;
        let kid = signed.header.kid.clone();
        let is_of_type = self.settings.types.iter().any(|typ| signed.header.is_of_type(typ));
        let members = signed.verified_by(self.candidates(kid.as_deref()));
        let members = members.map_err(|refusal| self.unverified(refusal, kid.as_deref()))?;
        let keys_until = self.keys_until(now);
        if keys_until.is_some_and(|until| now >= until) {
            return Err(Refusal::KeysTooOld);
        }
        if !is_of_type || !is_access_token(&members, &self.settings.scope_claim) {
            return Err(Refusal::WrongType);
        }
        let claims: Claims = token::read(members.clone())?;
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
        if times.last_longer_than(self.settings.max_age, now, ours.skew()) {
            return Err(Refusal::LastsTooLong);
        }
        let scope = self.scope(members.get(&self.settings.scope_claim)).ok_or(Refusal::NoScope)?;
        let claim = |name: &str| members.get(name);
        let named = token::named_in(claim(&self.settings.connections_claim), claim(&self.settings.workspaces_claim));
        let subject = counted(&members, &self.settings.subject_claim)?.and_then(Value::as_str);
        let subject = subject.filter(|subject| !subject.is_empty() && is_short(subject)).ok_or(Refusal::Malformed)?;
        let credential = claims.jti.filter(|id| is_short(id)).map(Arc::from);
        if name::has_invisible_characters(subject) || credential.as_deref().is_some_and(name::has_invisible_characters)
        {
            return Err(Refusal::Misleading);
        }
        let principal = Principal {
            credential,
            claims: self.asserted(&members)?,
            // A subject of another issuer must never equal one of ours, nor a service account.
            subject: format!("{}#{subject}", self.settings.issuer),
            rights: named.intersection(&for_us).intersection(&self.settings.reach).up_to(scope),
            validity: Validity::default(),
        };
        let until = ends.min(now.after(FRESH));
        Ok((principal, keys_until.map_or(until, |end| end.min(until))))
    }

    /// Returns the claims that are used here: only those that the issuer's own table names.
    fn asserted(&self, members: &Map<String, Value>) -> Result<principal::Claims, Refusal> {
        let mut asserted = Asserted::default();
        let Some(identity) = &self.settings.identity else { return Ok(asserted.into()) };
        for name in &identity.claims {
            if let Ok(Some(value)) = counted(members, name) {
                asserted.claims.insert(name.clone(), value.clone());
            }
        }
        if let Some(claim) = &identity.claim
            && let Ok(Some(value)) = counted(members, &claim.name)
        {
            asserted.role = claim.role(value);
        }
        let misleads = asserted.claims.values().any(misleads)
            || asserted.role.as_deref().is_some_and(name::has_control_or_bidi_characters);
        if misleads { Err(Refusal::Misleading) } else { Ok(asserted.into()) }
    }

    /// Returns how long the fetched keys are used; `None` if they are not fetched.
    fn keys_until(&self, now: Timestamp) -> Option<Timestamp> {
        let age = Moment::now(now).since(self.fetched_at?);
        Some(now.after(LONGEST_USE.saturating_sub(age)))
    }

    /// Whether the keys are those of a JWK set.
    fn is_fetched(&self) -> bool {
        matches!(self.settings.keys, IssuerKeys::Url(_))
    }

    /// The keys that a token with this `kid` may be signed with. A set need not name its keys, and those of different
    /// kinds may share a name (RFC 7517 §4.5); a token need not name one (RFC 7515 §4.1.4). A key without a name may be
    /// meant by every name that no key has.
    fn candidates(&self, kid: Option<&str>) -> impl Iterator<Item = &VerifyingKey> {
        let kid = kid.filter(|_| self.is_fetched()).map(|kid| if self.has(kid) { kid } else { "" });
        self.keys.iter().filter(move |key| kid.is_none_or(|kid| key.kid == kid))
    }

    /// Whether a key has this name.
    fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid == kid)
    }

    /// Returns why a token that no candidate has signed is refused.
    fn unverified(&self, refusal: Refusal, kid: Option<&str>) -> Refusal {
        let is_unknown = match refusal {
            Refusal::UnknownKey => true,
            // Without the name of a key of ours it may be signed with a newer one.
            Refusal::WrongAlgorithm | Refusal::WrongSignature => kid.is_none_or(|kid| kid.is_empty() || !self.has(kid)),
            _ => false,
        };
        if !is_unknown || !self.is_fetched() {
            return refusal;
        }
        if self.failed || self.fetched_at.is_none() { Refusal::KeysAway } else { Refusal::UnknownKey }
    }

    fn scope(&self, claim: Option<&Value>) -> Option<Scope> {
        let said = match claim {
            None => return self.settings.scope,
            Some(Value::String(list)) => Scope::widest(list),
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).filter_map(Scope::parse).max(),
            Some(_) => None,
        };
        said.map(|said| self.settings.scope.map_or(said, |most| most.min(said)))
    }

    /// Whether the keys are so old that they should be fetched anew.
    pub(crate) fn is_stale(&self, now: Timestamp) -> bool {
        self.is_fetched() && self.fetched_at.is_none_or(|fetched| Moment::now(now).is_past(fetched, FRESH))
    }

    /// Starts to fetch the keys, unless that was done a moment ago. `done` is called with the result.
    pub(crate) fn fetch(&mut self, client: &reqwest::Client, now: Timestamp, done: impl FnOnce(Keys) + 'static) {
        let IssuerKeys::Url(url) = &self.settings.keys else { return };
        let pause = if self.failed { BETWEEN_FAILURES } else { BETWEEN_FETCHES };
        if self.fetching || self.tried_at.is_some_and(|tried| !Moment::now(now).is_past(tried, pause)) {
            return;
        }
        self.fetching = true;
        let (client, url) = (client.clone(), url.clone());
        // A task of its own: however the other side behaves, known callers do not wait for it.
        actix::spawn(async move {
            done(jwks::fetch(&client, &url).await);
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

    /// Returns the text for a failure to fetch the keys.
    fn told(&self, cause: String, now: Moment) -> String {
        match self.fetched_at.filter(|fetched| now.since(*fetched) >= LONGEST_USE) {
            Some(fetched) => {
                let fetched = fetched.time();
                format!(
                    "{cause}; its keys were fetched at {fetched}, and its tokens are refused until newer keys are \
                     fetched"
                )
            }
            None => cause,
        }
    }

    /// Takes over fetched keys, and returns whether they are others than before; after a failure the known keys stay in
    /// use. The failure's cause is for the log.
    pub(crate) fn fetched(&mut self, keys: Keys, now: Timestamp) -> std::result::Result<bool, String> {
        self.fetching = false;
        self.waiting.clear();
        let now = Moment::now(now);
        self.tried_at = Some(now);
        self.failed = keys.is_err();
        let read = keys.map_err(|cause| self.told(cause, now))?;
        let read = read.into_iter().filter_map(|(kid, public)| VerifyingKey::new(kid, public, None).ok());
        let before = std::mem::replace(&mut self.keys, read.collect());
        let named = |key: &VerifyingKey| (key.kid.clone(), key.public.clone());
        let is_first = self.fetched_at.replace(now).is_none();
        Ok(is_first || !self.keys.iter().map(named).eq(before.iter().map(named)))
    }
}

fn is_short(text: &str) -> bool {
    text.chars().count() <= LONGEST_TEXT
}

/// Returns true if a text within a value could be displayed as another one.
fn misleads(value: &Value) -> bool {
    match value {
        Value::String(text) => name::has_control_or_bidi_characters(text),
        Value::Array(values) => values.iter().any(misleads),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name::has_control_or_bidi_characters(name) || misleads(value))
        }
        _ => false,
    }
}

/// Returns a claim if it may be used: an e-mail address only if its issuer has verified it (`OpenID` Connect Core
/// §5.1). A caller who could choose it freely would choose another person's.
fn counted<'c>(members: &'c Map<String, Value>, name: &str) -> Result<Option<&'c Value>, Refusal> {
    let value = members.get(name);
    if name == "email" && value.is_some() && members.get("email_verified") != Some(&Value::Bool(true)) {
        return Err(Refusal::UnverifiedEmail);
    }
    Ok(value)
}

/// Returns true if this can be an access token by its claims: its `typ` may be `JWT`, as that of all other kinds
/// may.
///
/// Security events and logout tokens have `events` (RFC 8417 §2.2, `OpenID` Connect Back-Channel Logout §2.4). An
/// ID token has a hash of the access token or code that came with it (`OpenID` Connect Core §3.1.3.6, §3.3.2.11),
/// and a `nonce`; some issuers also write a nonce into access tokens, but then with a scope. Two widely used
/// issuers state the kind in a claim of their own: `token_use` is `access` or `id` (Amazon Cognito), `typ` is
/// `Bearer`, `ID`, `Refresh`, `Offline` or `Logout` (Keycloak).
fn is_access_token(members: &Map<String, Value>, scope_claim: &str) -> bool {
    let has = |name: &str| members.contains_key(name);
    let says = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let of_another_kind = ["events", "at_hash", "c_hash", "s_hash"].into_iter().any(has)
        || has("nonce") && !has(scope_claim)
        || has("token_use") && says("token_use") != "access"
        || ["id", "refresh", "offline", "logout"].contains(&says("typ").as_str());
    !of_another_kind
}

/// The claims that are read of every issuer.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    exp: NumericDate,
    iat: Option<NumericDate>,
    nbf: Option<NumericDate>,
    jti: Option<String>,
}

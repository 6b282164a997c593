//! The store as it was last read: every credential is verified against it, in memory. Changes are noticed in
//! `sync`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aws_lc_rs::hkdf::Prk;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::clock::{Now, Timestamp};
use crate::keys::key::{SigningKey, VerifyingKey};
use crate::keys::shared_secret;
use crate::oauth::client::{ClientKind, ClientPolicy};
use crate::secret::Digest;
use crate::store::{AccountRow, Contents, GrantRow, KeyRow, Store, TokenRow, UserRow, email_key};
use crate::verify::refusal::Refusal;
use crate::verify::token::{Tokens, Verified};
use portico_core::error::Result;
use portico_core::principal::{Claims, Endpoint, Principal, Rights, Validity};

/// One personal access token.
struct Token {
    /// Why it is refused, whatever its end.
    refused: Option<Refusal>,
    email_key: String,
    expires_at: Option<Timestamp>,
    /// With the token's rights, limited by the user's.
    principal: Arc<Principal>,
}

impl Token {
    /// The token of a row, by its digest.
    fn from_row(row: TokenRow, lifetime: Lifetime) -> (Digest, Self) {
        let refused = match (lifetime.is_revoked, lifetime.is_disabled) {
            (true, _) => Some(Refusal::RevokedToken),
            (false, true) => Some(Refusal::DisabledUser),
            (false, false) => None,
        };
        let principal = Principal {
            credential: Some(row.id.to_string().into()),
            claims: claims(&[("email", &row.email)]),
            subject: row.email,
            rights: row.rights,
            validity: Validity::default(),
        };
        let (email_key, expires_at, principal) = (row.email_key, lifetime.ends, Arc::new(principal));
        (row.digest, Self { refused, email_key, expires_at, principal })
    }
}

/// The principal of a personal access token, and when the token ends, if it does.
pub(crate) type Personal = (Arc<Principal>, Option<Timestamp>);

/// How long a token is valid: no longer than what it derives from.
#[derive(Clone, Copy, Default)]
struct Lifetime {
    is_revoked: bool,
    /// Whether a user of one of them is.
    is_disabled: bool,
    ends: Option<Timestamp>,
}

impl Lifetime {
    fn is_over(self, now: Now) -> bool {
        self.is_revoked || self.is_disabled || self.ends.is_some_and(|ends| now.is_over(ends))
    }
}

/// The lifetimes of personal access tokens; parents are added before their children.
#[derive(Default)]
struct Lifetimes(HashMap<Uuid, Lifetime>);

impl Lifetimes {
    /// Returns the lifetime for what derives from a token, or from none. A missing token was revoked long ago.
    fn get(&self, token: Option<Uuid>) -> Lifetime {
        let Some(token) = token else { return Lifetime::default() };
        self.0.get(&token).copied().unwrap_or(Lifetime { is_revoked: true, ..Lifetime::default() })
    }

    fn add(&mut self, row: &TokenRow) -> Lifetime {
        let parent = self.get(row.parent);
        let ends = [row.expires_at, parent.ends].into_iter().flatten().min();
        let (is_revoked, is_disabled) = (row.is_revoked || parent.is_revoked, row.is_disabled || parent.is_disabled);
        let lifetime = Lifetime { is_revoked, is_disabled, ends };
        self.0.insert(row.id, lifetime);
        lifetime
    }
}

/// A possible holder of an access token: a user or a service account that is not disabled.
pub(crate) struct Holder {
    /// A user's e-mail address, or a service account's client id.
    pub(crate) subject: String,
    pub(crate) rights: Rights,
    /// When it was created or last disabled: an earlier token belongs to a former holder of the name, or has ended.
    pub(crate) since: Timestamp,
    /// That of a service account's secret.
    lifetime: Lifetime,
    claims: Claims,
}

impl Holder {
    /// The user of a row, by the key of the address.
    fn from_row(row: UserRow) -> (String, Self) {
        let claims = claims(&[("email", &row.email)]);
        let (since, lifetime) = (row.created_at, Lifetime::default());
        (row.email_key, Self { subject: row.email, rights: row.rights, since, lifetime, claims })
    }
}

/// One service account that is not disabled.
pub(crate) struct Account {
    pub(crate) holder: Holder,
    secret: Digest,
    /// The maximal rights of the secret.
    pub(crate) seen: Rights,
}

impl Account {
    /// The account of a row, by its id.
    fn from_row(row: AccountRow, lifetimes: &Lifetimes) -> (String, Self) {
        // A name chosen by an administrator of some connections must not select a role.
        let known = [("client_id", row.client_id.as_str()), ("name", &row.name)];
        let claims = claims(if row.named { &known } else { &known[..1] });
        let (subject, since, lifetime) = (row.client_id.clone(), row.since, lifetimes.get(row.parent));
        let holder = Holder { subject, rights: row.rights, since, lifetime, claims };
        (row.client_id, Self { holder, secret: row.digest, seen: row.seen })
    }
}

/// One grant of a person to a client, in force.
struct ActiveGrant {
    /// Its rights, limited by those of the person and of the token that they signed in with.
    rights: Rights,
    expires_at: Timestamp,
    /// The client's kind; `None` if it is no longer stored.
    kind: Option<ClientKind>,
}

impl ActiveGrant {
    /// Returns the grant of a row, by its id; `None` if the token that it was given with is not valid any more.
    fn from_row(row: GrantRow, lifetimes: &Lifetimes) -> Option<(Uuid, Self)> {
        let lifetime = lifetimes.get(row.token);
        if lifetime.is_revoked || lifetime.is_disabled {
            return None;
        }
        let expires_at = lifetime.ends.map_or(row.expires_at, |ends| ends.min(row.expires_at));
        Some((row.id, Self { rights: row.rights, expires_at, kind: row.kind }))
    }
}

/// Everything that credentials are verified against. The default one knows no caller.
#[derive(Default)]
pub(crate) struct Snapshot {
    tokens: HashMap<Digest, Token>,
    /// By [`email_key`].
    users: HashMap<String, Holder>,
    accounts: HashMap<String, Account>,
    revoked: HashSet<Uuid>,
    grants: HashMap<Uuid, ActiveGrant>,
    /// Subjects of other issuers.
    refused: HashSet<String>,
    admission: ClientPolicy,
    signing: Option<SigningKey>,
    /// Of the key that signs.
    secret: Option<Prk>,
    /// The newest first.
    verifying: Vec<VerifyingKey>,
}

impl Snapshot {
    /// Reads the whole store, as it is at one moment.
    pub(crate) fn load(store: &Store) -> Result<Self> {
        let Contents { users, tokens, accounts, grants, keys, revoked, refused } = store.contents()?;
        let mut lifetimes = Lifetimes::default();
        let token = |row: TokenRow| {
            let lifetime = lifetimes.add(&row);
            Token::from_row(row, lifetime)
        };
        let tokens = tokens.into_iter().map(token).collect();
        let mut snapshot = Self {
            tokens,
            users: users.into_iter().map(Holder::from_row).collect(),
            accounts: accounts.into_iter().map(|row| Account::from_row(row, &lifetimes)).collect(),
            grants: grants.into_iter().filter_map(|row| ActiveGrant::from_row(row, &lifetimes)).collect(),
            revoked: revoked.into_iter().collect(),
            refused: refused.into_iter().collect(),
            ..Self::default()
        };
        snapshot.add_keys(keys)?;
        Ok(snapshot)
    }

    /// Adds the keys: all of them verify, and the one with its private part signs.
    fn add_keys(&mut self, keys: Vec<KeyRow>) -> Result<()> {
        for row in keys {
            let key = VerifyingKey::new(row.kid, row.public, row.retired_at)?;
            if let Some(private) = row.private {
                self.secret = Some(shared_secret::extract(private.expose_secret()));
                self.signing = Some(SigningKey::new(key.kid.clone(), key.algorithm, &private));
            }
            self.verifying.push(key);
        }
        Ok(())
    }

    /// Takes over from the contents before: a personal access token keeps its validity, unless it opens
    /// less now.
    pub(crate) fn succeed(&mut self, before: &Self) {
        self.admission = before.admission;
        for (digest, was) in before.tokens.iter().filter(|(_, was)| was.refused.is_none()) {
            let now = self.tokens.get_mut(digest).filter(|now| now.refused.is_none());
            match now.map(|now| &mut now.principal).filter(|now| was.principal.is_within(now)).and_then(Arc::get_mut) {
                Some(now) => now.validity = was.principal.validity.clone(),
                None => was.principal.validity.lose(),
            }
        }
    }

    /// Clients that people may give access to from now on.
    pub(crate) fn set_client_policy(&mut self, admission: ClientPolicy) {
        self.admission = admission;
    }

    /// Returns the principal of this personal access token, and until when that holds: with a user name, or without
    /// one, since the token identifies its user. Each way to fail takes the same steps.
    pub(crate) fn personal(&self, shown: &Digest, email: Option<&str>, now: Now) -> Result<Personal, Refusal> {
        let name = email.map(email_key);
        let found = self.tokens.get_key_value(shown);
        let fits = found.map_or(&Digest::NONE, |(digest, _)| digest).fits(shown);
        let (_, token) = found.filter(|_| fits).ok_or(Refusal::UnknownToken)?;
        if name.is_some_and(|name| token.email_key != name) {
            return Err(Refusal::AnotherUser);
        }
        if let Some(refusal) = token.refused {
            return Err(refusal);
        }
        if token.expires_at.is_some_and(|end| now.is_over(end)) {
            return Err(Refusal::Expired);
        }
        Ok((Arc::clone(&token.principal), token.expires_at.map(|end| now.over_from(end))))
    }

    /// The id of a personal access token, also of one that is refused.
    pub(crate) fn id_of(&self, token: &Digest) -> Option<&str> {
        self.tokens.get(token)?.principal.credential.as_deref()
    }

    /// Returns the service account with this id and this secret. Each way to fail takes the same steps.
    pub(crate) fn client(&self, client_id: &str, secret: &SecretString, now: Now) -> Option<&Account> {
        let shown = Digest::new(secret.expose_secret());
        let account = self.accounts.get(client_id);
        let fits = account.map_or(&Digest::NONE, |account| &account.secret).fits(&shown);
        account.filter(|account| fits && !account.holder.lifetime.is_over(now))
    }

    /// The user or service account of that name, unless it is disabled.
    pub(crate) fn holder(&self, subject: &str) -> Option<&Holder> {
        match self.accounts.get(subject) {
            Some(account) => Some(&account.holder),
            None => self.users.get(&email_key(subject)),
        }
    }

    /// Returns the claims of one of our access tokens, if it is genuine, in force and not revoked, with its
    /// remaining rights: no more than its holder has now.
    pub(crate) fn inspect(&self, token: &str, tokens: &Tokens, now: Now) -> Result<Verified, Refusal> {
        let mut verified = tokens.verify(token, now.time(), |kid| self.verifying.iter().find(|key| key.kid == kid))?;
        if self.revoked.contains(&verified.jti) {
            return Err(Refusal::Revoked);
        }
        let holder = self.holder(&verified.subject).ok_or(Refusal::UnknownAccount)?;
        if verified.issued_at < holder.since || holder.lifetime.is_over(now) {
            return Err(Refusal::UnknownAccount);
        }
        verified.until = holder.lifetime.ends.map_or(verified.until, |ends| verified.until.min(now.over_from(ends)));
        if let Some(grant) = verified.grant {
            let in_force =
                |granted: &&ActiveGrant| !now.is_over(granted.expires_at) && self.admission.takes(granted.kind);
            let granted = self.grants.get(&grant).filter(in_force).ok_or(Refusal::UnknownGrant)?;
            verified.rights = verified.rights.intersection(&granted.rights);
            verified.until = verified.until.min(now.over_from(granted.expires_at));
        }
        verified.rights = verified.rights.intersection(&holder.rights);
        verified.subject.clone_from(&holder.subject);
        Ok(verified)
    }

    /// Returns the principal of this access token at `endpoint`, and until when that holds.
    pub(crate) fn bearer(
        &self,
        token: &str,
        tokens: &Tokens,
        endpoint: Endpoint,
        now: Now,
    ) -> Result<(Principal, Timestamp), Refusal> {
        let verified = self.inspect(token, tokens, now)?;
        let rights = verified.rights.intersection(&tokens.reach_of(&verified.audiences, endpoint)?);
        let claims = self.claims_of(&verified);
        let credential = Some(verified.jti.to_string().into());
        let validity = Validity::default();
        let principal = Principal { subject: verified.subject, rights, claims, credential, validity };
        Ok((principal, verified.until))
    }

    /// Returns the claims about the token's holder, and about the client that acts for a person, that a source may
    /// read.
    fn claims_of(&self, verified: &Verified) -> Claims {
        let Some(holder) = self.holder(&verified.subject) else { return Claims::default() };
        if holder.claims.verified("client_id").is_some() {
            return holder.claims.clone();
        }
        let mut claims = holder.claims.all().clone();
        claims.insert("client_id".to_owned(), Value::from(verified.client_id.as_str()));
        claims.into()
    }

    /// Whether this subject of another issuer is refused.
    pub(crate) fn refuses(&self, subject: &str) -> bool {
        self.refused.contains(subject)
    }

    /// Refuses the token with this `jti` from now on, as just written to the store.
    pub(crate) fn revoke(&mut self, jti: Uuid) {
        self.revoked.insert(jti);
    }

    pub(crate) fn signing_key(&self) -> Option<&SigningKey> {
        self.signing.as_ref()
    }

    /// Returns the secret from which all processes on the store derive keys.
    pub(crate) fn secret(&self) -> Option<&Prk> {
        self.secret.as_ref()
    }

    /// The JWK set (RFC 7517 §5) of the keys that verify now.
    pub(crate) fn jwks(&self, tokens: &Tokens, now: Now) -> Value {
        let keys: Vec<_> = self
            .verifying
            .iter()
            .filter(|key| tokens.verifies_until(key).is_none_or(|until| now.time() < until))
            .map(VerifyingKey::jwk)
            .collect();
        json!({ "keys": keys })
    }
}

/// Makes claims of what is known of a caller.
fn claims(pairs: &[(&str, &str)]) -> Claims {
    let claims: Map<String, Value> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    claims.into()
}

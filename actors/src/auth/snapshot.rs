//! What the store held when it was last read: every credential is judged by this, in memory. How a
//! change is noticed is not here, see `watch`.

use std::collections::HashMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::clock::Timestamp;
use super::key::{SigningKey, VerifyingKey};
use super::secret::Digest;
use super::store::{Contents, Store, email_key};
use super::token::{Refusal, Tokens};
use crate::error::Result;
use crate::principal::{Claims, Principal, Reach, Scope};

/// One personal access token that is not revoked.
struct Token {
    email_key: String,
    expires_at: Option<Timestamp>,
    /// The user's reach and scope, narrowed by the token's own.
    principal: Arc<Principal>,
}

/// One service account that is not disabled.
pub(crate) struct Account {
    pub(crate) scope: Scope,
    pub(crate) connections: Arc<[Uuid]>,
    secret: Digest,
    claims: Claims,
}

/// Everything that credentials are judged by.
pub(crate) struct Snapshot {
    tokens: HashMap<Digest, Token>,
    accounts: HashMap<String, Account>,
    signing: Option<SigningKey>,
    verifying: HashMap<String, VerifyingKey>,
    /// The order of publication: the newest key first.
    kids: Vec<String>,
}

impl Snapshot {
    /// Reads the whole store, as it is at one moment.
    pub(crate) fn load(store: &Store) -> Result<Self> {
        let Contents { tokens, accounts, keys } = store.contents()?;
        let tokens = tokens
            .into_iter()
            .map(|row| {
                let principal = Principal {
                    claims: claims(&[("email", &row.email)]),
                    subject: row.email,
                    scope: row.token_scope.map_or(row.user_scope, |scope| scope.min(row.user_scope)),
                    reach: row.user_reach.and(&row.token_reach),
                };
                let token =
                    Token { email_key: row.email_key, expires_at: row.expires_at, principal: Arc::new(principal) };
                (row.digest, token)
            })
            .collect();
        let accounts = accounts
            .into_iter()
            .map(|row| {
                let claims = claims(&[("client_id", &row.client_id), ("name", &row.name)]);
                let account = Account { scope: row.scope, connections: row.connections, secret: row.digest, claims };
                (row.client_id, account)
            })
            .collect();
        let mut snapshot =
            Self { tokens, accounts, signing: None, verifying: HashMap::new(), kids: Vec::with_capacity(keys.len()) };
        for row in keys {
            let key = VerifyingKey::new(row.kid.clone(), row.public, row.retired_at)?;
            if let Some(private) = row.private {
                snapshot.signing = Some(SigningKey::new(row.kid.clone(), key.algorithm, &private));
            }
            snapshot.kids.push(row.kid.clone());
            snapshot.verifying.insert(row.kid, key);
        }
        Ok(snapshot)
    }

    /// Who shows this personal access token under this name. Each way to fail takes the same steps.
    pub(crate) fn basic(&self, email: &str, token: &SecretString, now: Timestamp) -> Result<Arc<Principal>, Refusal> {
        let shown = Digest::of(token.expose_secret());
        let email_key = email_key(email);
        let found = self.tokens.get_key_value(&shown);
        let fits = found.map_or(&Digest::NONE, |(digest, _)| digest).fits(&shown);
        let (_, token) = found.filter(|_| fits).ok_or(Refusal::UnknownToken)?;
        if token.email_key != email_key {
            return Err(Refusal::AnotherUser);
        }
        if token.expires_at.is_some_and(|end| now >= end) {
            return Err(Refusal::Expired);
        }
        Ok(Arc::clone(&token.principal))
    }

    /// The service account with this id and this secret. Each way to fail takes the same steps.
    pub(crate) fn client(&self, client_id: &str, secret: &SecretString) -> Option<&Account> {
        let shown = Digest::of(secret.expose_secret());
        let account = self.accounts.get(client_id);
        let fits = account.map_or(&Digest::NONE, |account| &account.secret).fits(&shown);
        account.filter(|_| fits)
    }

    /// Who shows this access token: what it says, and no more than its account may do now. Also
    /// until when that holds.
    pub(crate) fn bearer(
        &self,
        token: &SecretString,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<(Principal, Timestamp), Refusal> {
        let verified = tokens.verify(token.expose_secret(), now, |kid| self.verifying.get(kid))?;
        let account = self.accounts.get(&verified.subject).ok_or(Refusal::UnknownAccount)?;
        let principal = Principal {
            scope: verified.scope.min(account.scope),
            reach: verified.reach.and(&Reach::Only(Arc::clone(&account.connections))),
            subject: verified.subject,
            claims: Arc::clone(&account.claims),
        };
        Ok((principal, verified.until))
    }

    pub(crate) fn signing_key(&self) -> Option<&SigningKey> {
        self.signing.as_ref()
    }

    /// The JWK set (RFC 7517 §5) of the keys that verify now.
    pub(crate) fn jwks(&self, tokens: &Tokens, now: Timestamp) -> Value {
        let keys: Vec<_> = self
            .kids
            .iter()
            .filter_map(|kid| self.verifying.get(kid))
            .filter(|key| tokens.verifies_until(key).is_none_or(|until| now < until))
            .map(VerifyingKey::jwk)
            .collect();
        json!({ "keys": keys })
    }
}

/// What is known of a caller, as claims.
fn claims(pairs: &[(&str, &str)]) -> Claims {
    let claims: Map<String, Value> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    Arc::new(claims)
}

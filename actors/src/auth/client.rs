//! What a client that proves who it is may ask about its own access tokens: revocation (RFC 7009) and
//! introspection (RFC 7662). How a form spells it is the business of the endpoints.

use std::fmt;
use std::net::IpAddr;

use actix::{Handler, Message};
use secrecy::{ExposeSecret, SecretString};

use super::AuthActor;
use super::grant::GrantError;
use super::token::Verified;
use crate::error::Kind;

/// How a client proves who it is (RFC 6749 §2.3). Its `Debug` never prints the secret.
#[derive(Clone)]
pub struct ClientProof {
    /// The client id.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// Where it is shown from, if that is known.
    pub from: Option<IpAddr>,
}

impl fmt::Debug for ClientProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientProof({})", self.client_id)
    }
}

/// What introspection tells of a token that is in force (RFC 7662 §2.2), with the rights that are
/// left of it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introspection {
    /// A user's e-mail address, or a service account's client id.
    pub subject: String,
    /// The client that it was given to.
    pub client_id: String,
    /// A space-separated list.
    pub scope: &'static str,
    /// The connections within reach now.
    pub connections: Vec<uuid::Uuid>,
    /// `aud`.
    pub audience: Vec<String>,
    /// `iss`.
    pub issuer: String,
    /// `jti`.
    pub id: uuid::Uuid,
    /// `iat`, in seconds since 1970-01-01T00:00:00Z.
    pub issued_at: i64,
    /// `exp`, in seconds since 1970-01-01T00:00:00Z.
    pub expires_at: i64,
}

impl AuthActor {
    /// The client id of the service account that `proof` is of.
    ///
    /// # Errors
    /// `invalid_client`, whatever is wrong with it, and `temporarily_unavailable` after too many failures.
    pub(crate) fn client(&mut self, proof: &ClientProof) -> Result<String, GrantError> {
        if let Some(account) = self.snapshot.client(&proof.client_id, &proof.client_secret) {
            return Ok(account.holder.subject.clone());
        }
        Err(match self.attempts.failed(proof.from, Some(&proof.client_id)) {
            None => GrantError::new("invalid_client", "the client id or its secret is not valid"),
            Some(quota) => {
                GrantError::throttled("too many credentials that are not valid; wait before the next one", quota)
            }
        })
    }

    /// The access token, if it is in force and was given to the client.
    fn own_token(&self, client_id: &str, token: &SecretString) -> Option<Verified> {
        let verified = self.snapshot.inspect(token.expose_secret(), &self.tokens, self.clock.now()).ok()?;
        (verified.client_id == client_id).then_some(verified)
    }

    /// Refuses a token of the client's own from now on.
    fn refuse(&mut self, client_id: &str, token: &SecretString) -> Result<(), GrantError> {
        let Some(token) = self.own_token(client_id, token) else { return Ok(()) };
        let store = self.watch.store();
        let kept = store.and_then(|store| store.revoke_access_token(token.jti, &token.client_id, token.until));
        kept.map_err(|error| {
            if error.kind != Kind::Busy {
                self.tell(error.cause().unwrap_or(&error.message).to_owned());
            }
            GrantError::new("service_unavailable", "the token cannot be revoked at the moment; try again")
        })?;
        // Our own writing is no change that the watch tells of.
        self.snapshot.revoke(token.jti);
        self.cache.clear();
        Ok(())
    }
}

/// Asks to refuse an access token from now on. A token that is unknown, expired or another client's
/// is answered alike: there is nothing left to do (RFC 7009 §2.2).
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), GrantError>")]
pub struct Revoke {
    /// Who asks.
    pub client: ClientProof,
    /// The token.
    pub token: SecretString,
}

impl Handler<Revoke> for AuthActor {
    type Result = Result<(), GrantError>;

    fn handle(&mut self, Revoke { client, token }: Revoke, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        self.client(&client)?;
        self.refuse(&client.client_id, &token)
    }
}

/// Asks the same for a client that is known to be who it says: the clients of people are not judged
/// here.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), GrantError>")]
pub(crate) struct RevokeFor {
    /// Who asks.
    pub(crate) client_id: String,
    /// The token.
    pub(crate) token: SecretString,
}

impl Handler<RevokeFor> for AuthActor {
    type Result = Result<(), GrantError>;

    fn handle(&mut self, RevokeFor { client_id, token }: RevokeFor, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        self.refuse(&client_id, &token)
    }
}

/// Asks what an access token opens now. `None` for a token that is not in force, and for another
/// client's (RFC 7662 §2.2).
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<Introspection>, GrantError>")]
pub struct Introspect {
    /// Who asks.
    pub client: ClientProof,
    /// The token.
    pub token: SecretString,
}

impl Handler<Introspect> for AuthActor {
    type Result = Result<Option<Introspection>, GrantError>;

    fn handle(&mut self, Introspect { client, token }: Introspect, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        self.client(&client)?;
        let Some(token) = self.own_token(&client.client_id, &token) else { return Ok(None) };
        let connections = token.reach.list().unwrap_or_default();
        Ok(Some(Introspection {
            scope: token.reach.widest(token.scope).list(),
            subject: token.subject,
            client_id: token.client_id,
            connections: connections.into_iter().map(|(id, _)| id).collect(),
            audience: token.audiences,
            issuer: self.tokens.issuer().to_owned(),
            id: token.jti,
            issued_at: token.issued_at.seconds(),
            expires_at: token.expires_at.seconds(),
        }))
    }
}

//! What an authenticated client may do with its own access tokens: revocation (RFC 7009) and introspection (RFC
//! 7662). The form's syntax is left to the endpoints.

use std::net::IpAddr;

use actix::{AsyncContext, Context, Handler, Message, Response};
use secrecy::{ExposeSecret, SecretString};

use crate::actor::AuthActor;
use crate::oauth::grant::{ClientAuthentication, GrantError};
use crate::recording::AuditContext;
use crate::sync::lookup::{CachedAnswer, CredentialQuery, GrantAnswer, RevokeEverywhere, StoreUnavailable};
use crate::verify::refusal::Refusal;
use crate::verify::token::Verified;
use portico_core::error::{Error, Kind};
use portico_core::principal::Rights;

/// The introspection of a token in force (RFC 7662 §2.2), with its remaining rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introspection {
    /// A user's e-mail address, or a service account's client id.
    pub subject: String,
    /// The client that it was given to.
    pub client_id: String,
    /// Its current rights.
    pub rights: Rights,
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
    /// Returns the client id of the service account that `proof` authenticates, and the maximal rights of its
    /// secret.
    pub(crate) fn known(&self, proof: &ClientAuthentication) -> Option<(String, Rights)> {
        let account = self.snapshot.client(&proof.client_id, &proof.client_secret, self.settings.clock.now())?;
        Some((account.holder.subject.clone(), account.seen.clone()))
    }

    /// Counts a failed attempt of a client: the refusal, or the limit that is used up.
    pub(crate) fn count_failure(&self, proof: &ClientAuthentication, refusal: GrantError) -> GrantError {
        if refusal.code != "invalid_client" {
            return refusal;
        }
        self.failures.of_client(proof.from, Some(&proof.client_id), refusal)
    }

    /// Returns the answer for a token that is not valid. An unknown token is counted as a failed attempt.
    fn opens_nothing<T>(&self, refusal: Refusal, from: Option<IpAddr>) -> GrantAnswer<Option<T>> {
        let unknown = GrantError::new(UNKNOWN_TOKEN, "there is no such token");
        if refusal.may_be_behind() {
            return CachedAnswer::MaybeStale(unknown);
        }
        if refusal.was_genuine() {
            return CachedAnswer::Fresh(Ok(None));
        }
        CachedAnswer::Fresh(self.count_token(from, unknown))
    }

    /// The final answer, once it is certain that the token, or the client, is unknown.
    fn about_token<T>(&self, proof: &ClientAuthentication, refusal: GrantError) -> Result<Option<T>, GrantError> {
        if refusal.code == UNKNOWN_TOKEN {
            return self.count_token(proof.from, refusal);
        }
        Err(self.count_failure(proof, refusal))
    }

    /// Counts an unknown token.
    fn count_token<T>(&self, from: Option<IpAddr>, unknown: GrantError) -> Result<Option<T>, GrantError> {
        let counted = self.failures.of_client(from, None, unknown);
        if counted.code == UNKNOWN_TOKEN { Ok(None) } else { Err(counted) }
    }

    /// Finds the client's own token, and refuses it from now on.
    fn revoke(&self, find: Find, context: &Context<Self>) -> Revoking {
        let own = context.address();
        Response::fut(async move {
            let found = own.send(find).await.unwrap_or_else(|_| Err(GrantError::store_unavailable()))?;
            let Some(refuse) = found else { return Ok(()) };
            let kept = own.send(refuse).await.map_err(Error::internal).flatten();
            kept.map_err(|error| {
                if error.kind != Kind::Busy {
                    own.do_send(ReportStoreFailure(error.cause().unwrap_or(&error.message).to_owned()));
                }
                GrantError::new("service_unavailable", "the token cannot be revoked at the moment; try again")
            })
        })
    }

    /// Returns what to revoke: nothing for a token that is unknown, expired or another client's.
    fn to_refuse(
        &self,
        client_id: &str,
        token: &SecretString,
        from: Option<IpAddr>,
        audit_context: AuditContext,
    ) -> GrantAnswer<Option<RevokeEverywhere>> {
        match self.snapshot.inspect(token.expose_secret(), &self.tokens, self.settings.clock.now()) {
            Ok(found) if found.client_id == client_id => {
                let (jti, client_id, until) = (found.jti, found.client_id, found.until);
                CachedAnswer::Fresh(Ok(Some(RevokeEverywhere { jti, client_id, until, audit_context })))
            }
            Ok(_) => CachedAnswer::Fresh(Ok(None)),
            Err(refusal) => self.opens_nothing(refusal, from),
        }
    }
}

/// Internal marker for an unknown token; never sent.
const UNKNOWN_TOKEN: &str = "unknown_token";

type Revoking = Response<Result<(), GrantError>>;

/// A client that is not known, or another secret than the known one.
pub(crate) fn unknown() -> GrantError {
    GrantError::new("invalid_client", "the client id or its secret is not valid")
}

/// Revokes an access token. A token that is unknown, expired or another client's gets the same answer: there is
/// nothing left to do (RFC 7009 §2.2).
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), GrantError>")]
pub struct Revoke {
    /// The client.
    pub client: ClientAuthentication,
    /// The token.
    pub token: SecretString,
    /// In which context.
    pub audit_context: AuditContext,
}

impl Handler<Revoke> for AuthActor {
    type Result = Revoking;

    fn handle(&mut self, revoke: Revoke, context: &mut Self::Context) -> Self::Result {
        let Revoke { client, token, audit_context } = revoke;
        self.revoke(Find { client: Asking::Proof(client), token, audit_context }, context)
    }
}

/// The client that asks.
#[derive(Clone, Debug)]
enum Asking {
    /// A client that authenticates itself.
    Proof(ClientAuthentication),
    /// A client that was authenticated elsewhere, by its id.
    Known(String),
}

/// Asks which token is to be refused.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<RevokeEverywhere>, GrantError>")]
struct Find {
    client: Asking,
    token: SecretString,
    audit_context: AuditContext,
}

impl CredentialQuery for Find {
    type Reply = Option<RevokeEverywhere>;
    type Failure = GrantError;
    type Refusal = GrantError;

    fn ask(&self, actor: &mut AuthActor, _: &Context<AuthActor>) -> GrantAnswer<Option<RevokeEverywhere>> {
        let proof = match &self.client {
            Asking::Known(client_id) => {
                return actor.to_refuse(client_id, &self.token, self.audit_context.address, self.audit_context.clone());
            }
            Asking::Proof(proof) => proof,
        };
        let Some((client_id, _)) = actor.known(proof) else { return CachedAnswer::MaybeStale(unknown()) };
        let audit_context = AuditContext { principal: Some(client_id.clone()), ..self.audit_context.clone() };
        actor.to_refuse(&client_id, &self.token, proof.from, audit_context)
    }

    fn refused(&self, actor: &mut AuthActor, refusal: GrantError) -> Result<Option<RevokeEverywhere>, GrantError> {
        match &self.client {
            Asking::Proof(proof) => actor.about_token(proof, refusal),
            Asking::Known(_) if refusal.code == UNKNOWN_TOKEN => actor.count_token(self.audit_context.address, refusal),
            Asking::Known(_) => Err(refusal),
        }
    }
}

/// Revokes an access token for a client that was authenticated elsewhere: clients of people are not authenticated
/// here.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), GrantError>")]
pub(crate) struct RevokeFor {
    /// The client.
    pub(crate) client_id: String,
    /// The token.
    pub(crate) token: SecretString,
    /// In which context.
    pub(crate) audit_context: AuditContext,
}

impl Handler<RevokeFor> for AuthActor {
    type Result = Revoking;

    fn handle(&mut self, revoke: RevokeFor, context: &mut Self::Context) -> Self::Result {
        let RevokeFor { client_id, token, audit_context } = revoke;
        self.revoke(Find { client: Asking::Known(client_id), token, audit_context }, context)
    }
}

/// Reports a failure of the store.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
struct ReportStoreFailure(String);

impl Handler<ReportStoreFailure> for AuthActor {
    type Result = ();

    fn handle(&mut self, ReportStoreFailure(cause): ReportStoreFailure, _: &mut Self::Context) {
        if !self.watch.reports_outages() {
            self.report_store_failure(cause);
        }
    }
}

/// Asks for the current rights of an access token. Returns `None` for a token that is not in force, and for another
/// client's (RFC 7662 §2.2).
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<Introspection>, GrantError>")]
pub struct Introspect {
    /// The client.
    pub client: ClientAuthentication,
    /// The token.
    pub token: SecretString,
}

impl CredentialQuery for Introspect {
    type Reply = Option<Introspection>;
    type Failure = GrantError;
    type Refusal = GrantError;

    fn ask(&self, actor: &mut AuthActor, _: &Context<AuthActor>) -> GrantAnswer<Option<Introspection>> {
        let Some((client_id, _)) = actor.known(&self.client) else { return CachedAnswer::MaybeStale(unknown()) };
        match actor.snapshot.inspect(self.token.expose_secret(), &actor.tokens, actor.settings.clock.now()) {
            Ok(token) if token.client_id == client_id => {
                CachedAnswer::Fresh(Ok(Some(described(token, actor.tokens.issuer()))))
            }
            Ok(_) => CachedAnswer::Fresh(Ok(None)),
            Err(refusal) => actor.opens_nothing(refusal, self.client.from),
        }
    }

    fn refused(&self, actor: &mut AuthActor, refusal: GrantError) -> Result<Option<Introspection>, GrantError> {
        actor.about_token(&self.client, refusal)
    }
}

fn described(token: Verified, issuer: &str) -> Introspection {
    Introspection {
        rights: token.rights,
        subject: token.subject,
        client_id: token.client_id,
        audience: token.audiences,
        issuer: issuer.to_owned(),
        id: token.jti,
        issued_at: token.issued_at.seconds(),
        expires_at: token.expires_at.seconds(),
    }
}

//! Who shows a credential, as the actor answers that: at once, or once keys of an issuer or the store were looked at.

use std::sync::Arc;

use actix::{AsyncContext, Context, Handler, Response};
use secrecy::ExposeSecret;
use tokio::sync::oneshot;

use crate::actor::AuthActor;
use crate::records;
use crate::sync::lookup::{AfterSync, StoreUnavailable};
use crate::verify::authenticate::VerifyCredential;
use crate::verify::refusal::Refusal;
use crate::verify::token;
use portico_core::error::{Error, Result};
use portico_core::principal::{Credential, Principal};

impl AuthActor {
    /// The answer to a credential that does not open anything.
    fn refused(&mut self, VerifyCredential { asked, token: shown, .. }: &VerifyCredential, refusal: Refusal) -> Error {
        let name = match &asked.credential {
            Credential::Basic { email, .. } => Some(email.as_str()),
            Credential::Bearer(_) => None,
        };
        let (id, claimed) = match &asked.credential {
            Credential::Basic { email, .. } => {
                // An `@` where no usual address is may be one of a password in the wrong place.
                let is_told =
                    !email.contains('@') || records::is_usual_address(email) || self.snapshot.holder(email).is_some();
                (self.snapshot.id_of(shown).map(str::to_owned), is_told.then(|| email.to_owned()))
            }
            Credential::Bearer(token) => token::identity(token.expose_secret(), refusal).unwrap_or_default(),
        };
        let because = |mut error: Error| {
            error = error.because(refusal.message());
            if let Some(id) = &id {
                error = error.of_credential(id);
            }
            if let Some(name) = &claimed {
                error = error.claimed(name);
            }
            error
        };
        match refusal {
            // Whoever holds a genuine token may know what it is for.
            Refusal::WrongAudience => {
                let error = Error::unauthenticated("the access token is for another audience than this endpoint");
                return because(
                    error.hint("ask for one whose resource is this endpoint, or for one without a resource"),
                );
            }
            Refusal::NoScope => {
                let error = Error::forbidden("the access token has no scope that is known here").needs("read");
                return because(error.hint("ask for one with the scope read, write or admin"));
            }
            _ => {}
        }
        // What was good once is no attempt to guess.
        let quota = if refusal.was_genuine() { None } else { self.failures.count(asked.from, name) };
        because(match quota {
            None => Error::unauthenticated("the credential is not valid, or it has expired"),
            Some(quota) => Error::throttled("too many credentials that are not valid; wait before the next one", quota),
        })
    }

    /// Looks for an issuer's newer keys where a token names an unknown one, or where the known ones
    /// are old. What is to be waited for, if the judgement may be another one then.
    fn newer_keys(
        &mut self,
        credential: &Credential,
        refusal: Option<Refusal>,
        context: &Context<Self>,
    ) -> Option<oneshot::Receiver<()>> {
        let Credential::Bearer(token) = credential else { return None };
        if refusal.is_some_and(|refusal| !refusal.is_for_want_of_a_key()) {
            return None;
        }
        let index = self.foreign(token.expose_secret())?;
        if refusal.is_some() {
            return self.look_for_keys(index, context);
        }
        if self.issuers.get(index)?.is_stale(self.clock.now().time()) {
            drop(self.look_for_keys(index, context));
        }
        None
    }
    /// Judges, and waits for what may change the judgement: keys of an issuer, and a look at the store,
    /// unless that was tried, with or without success.
    fn answer(
        &mut self,
        query: VerifyCredential,
        synced: Option<bool>,
        context: &Context<Self>,
    ) -> Response<Result<Arc<Principal>>> {
        let judged = self.authenticate(&query);
        let own = context.address();
        if let Some(wait) = self.newer_keys(&query.asked.credential, judged.as_ref().err().copied(), context) {
            return Response::fut(async move {
                // Whether they came or not: they are not asked for again so soon, and so this ends.
                let _ = wait.await;
                own.send(query).await.map_err(Error::internal)?
            });
        }
        let refusal = match judged {
            Ok(principal) => return Response::reply(Ok(principal)),
            Err(refusal) => refusal,
        };
        let ours = match &query.asked.credential {
            Credential::Basic { .. } => true,
            Credential::Bearer(token) => self.foreign(token.expose_secret()).is_none(),
        };
        if ours && refusal.may_be_behind() {
            if synced.is_none() && self.watch.is_eventually_consistent() {
                let look = self.watch.sync();
                return Response::fut(async move {
                    let synced = AfterSync::after(query, look).await;
                    own.send(synced).await.map_err(Error::internal)?
                });
            }
            if self.store_failed || synced == Some(false) {
                return Response::reply(Err(Error::store_unavailable()));
            }
        }
        Response::reply(Err(self.refused(&query, refusal)))
    }
}

impl Handler<VerifyCredential> for AuthActor {
    type Result = Response<Result<Arc<Principal>>>;

    fn handle(&mut self, query: VerifyCredential, context: &mut Self::Context) -> Self::Result {
        self.refresh_from_store();
        if let Some(principal) = self.cache.of(&query.key) {
            return Response::reply(Ok(principal));
        }
        self.answer(query, None, context)
    }
}

impl Handler<AfterSync<VerifyCredential>> for AuthActor {
    type Result = Response<Result<Arc<Principal>>>;

    fn handle(&mut self, synced: AfterSync<VerifyCredential>, context: &mut Self::Context) -> Self::Result {
        self.refresh_from_store();
        self.answer(synced.query, Some(synced.succeeded), context)
    }
}

//! The actor's answer about a credential: at once, or after keys of an issuer or the store were read.

use std::sync::Arc;

use actix::Context;
use secrecy::ExposeSecret;
use tokio::sync::oneshot;

use crate::actor::AuthActor;
use crate::issuers::issuer::{BETWEEN_FAILURES, Issuer};
use crate::records;
use crate::sync::lookup::{CachedAnswer, CredentialQuery};
use crate::verify::refusal::Refusal;
use crate::verify::request::VerifyCredential;
use portico_core::error::{Error, Kind, Result};
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
            Credential::Bearer(token) => {
                let token = token.expose_secret();
                let issuer = self.foreign(token).and_then(|index| self.issuers.get(index));
                let subject = issuer.map_or("sub", Issuer::subject_claim);
                self.tokens.identity(token, subject, refusal).unwrap_or_default()
            }
        };
        let because = |error: Error| {
            error
                .because(refusal.message())
                .with(id.as_ref(), Error::of_credential)
                .with(claimed.as_ref(), Error::claimed)
        };
        if refusal == Refusal::NoScope {
            let error = Error::forbidden("the access token has no scope that is known here").needs("read");
            return because(error.hint("ask for one with the scope read, write or admin"));
        }
        // It may be good. Who takes it for a bad one signs in anew, for the same.
        if matches!(refusal, Refusal::KeysAway | Refusal::KeysTooOld) {
            let told = "this credential cannot be checked at the moment: the keys of its issuer could not be fetched";
            return because(Error::new(Kind::Unavailable, told).retry_after(BETWEEN_FAILURES).judged());
        }
        // A credential that was valid once is not a guess.
        let quota = if refusal.was_genuine() { None } else { self.failures.count(asked.from, name) };
        because(match quota {
            None => Error::unauthenticated("the credential is not valid, or it has expired"),
            Some(quota) => Error::throttled("too many credentials that are not valid; wait before the next one", quota),
        })
    }

    /// Looks for an issuer's newer keys if a token names an unknown one, or if the known ones are old. Returns what
    /// to wait for, if the verdict may change then.
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
        if self.issuers.get(index)?.is_stale(self.settings.clock.now().time()) {
            drop(self.look_for_keys(index, context));
        }
        None
    }
}

impl CredentialQuery for VerifyCredential {
    type Reply = Arc<Principal>;
    type Failure = Error;
    type Refusal = Refusal;

    fn ask(
        &self,
        actor: &mut AuthActor,
        context: &Context<AuthActor>,
    ) -> CachedAnswer<Result<Arc<Principal>>, Refusal> {
        if let Some(principal) = actor.cache.get(&self.key) {
            return CachedAnswer::Fresh(Ok(principal));
        }
        let judged = actor.authenticate(self);
        // Whether they come or not: they are not asked for again so soon, and so this ends.
        if let Some(wait) = actor.newer_keys(&self.asked.credential, judged.as_ref().err().copied(), context) {
            // A hanging issuer keeps no credentials of others out.
            if let Some(pending) = &self.pending {
                pending.release_stranger();
            }
            return CachedAnswer::After(wait);
        }
        let ours = match &self.asked.credential {
            Credential::Basic { .. } => true,
            Credential::Bearer(token) => actor.foreign(token.expose_secret()).is_none(),
        };
        match judged {
            Err(refusal) if ours && refusal.may_be_behind() => CachedAnswer::MaybeStale(refusal),
            judged => CachedAnswer::Fresh(judged.or_else(|refusal| self.refused(actor, refusal))),
        }
    }

    fn refused(&self, actor: &mut AuthActor, refusal: Refusal) -> Result<Arc<Principal>> {
        Err(actor.refused(self, refusal))
    }
}

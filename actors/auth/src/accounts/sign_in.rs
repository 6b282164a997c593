//! People sign in and out, and show their sessions.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};

use crate::accounts::session::Session;
use crate::accounts::store_queue::Requester;
use crate::accounts::{Accounts, password};
use crate::secret::{self, Digest, PAT_PREFIX};
use crate::store::email_key;
use portico_core::error::{Error, Kind, Result};

/// Begins the secret of every session.
const SESSION_PREFIX: &str = "ptc_se_";

impl Accounts {
    /// Signs a person in at that address, with a password or a personal access token. Returns the secret of a new
    /// session and the e-mail address as it is stored. Unknown names, wrong passwords and names without a password
    /// take the same time.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`] if the two do not match, with the user as the claimed identity if there is one;
    /// [`Kind::Busy`] after too many failures of that address, and if too many sign in at once.
    pub async fn sign_in(
        &self,
        email: String,
        secret: SecretString,
        from: Option<IpAddr>,
    ) -> Result<(SecretString, String)> {
        let (session, digest) = secret::mint(SESSION_PREFIX)?;
        if secret.expose_secret().starts_with(PAT_PREFIX) {
            let token = Digest::new(secret.expose_secret());
            let name = email.clone();
            let requester = Requester::Stranger(from);
            let begun = self.store_for(requester, move |store| store.begin_session_by_token(&email, &token, &digest));
            return begun.await.map(|own| (session, own)).map_err(|refusal| {
                let wrong = refusal.kind == Kind::Unauthenticated;
                match wrong.then(|| self.failures.count(from, Some(&name))).flatten() {
                    Some(quota) => {
                        let words = "too many failed attempts; come back when Retry-After says";
                        claimed(refusal.get_claimed(), Error::throttled(words, quota))
                    }
                    None => refusal,
                }
            });
        }
        let name = email_key(&email);
        // An attempt that must wait costs neither the store nor a core meanwhile.
        let slot = self.limiter.acquire(&name, from).await?;
        let requester = Requester::Stranger(from);
        let found = self.store_for(requester, move |store| store.password(&name)).await?;
        let (own, kept) = found.map_or((None, None), |(own, kept)| (Some(own), kept));
        // The slot is held by the work: a caller that leaves does not let another attempt start.
        let compared = tokio::task::spawn_blocking(move || {
            let fits = password::fits(&secret, kept.as_deref());
            (slot, kept.filter(|_| fits))
        });
        let (slot, Some(kept)) = compared.await.map_err(Error::internal)? else {
            let refusal = Error::unauthenticated("the address or the secret is not right");
            let because = "the name is unknown or disabled, or the password is wrong";
            return Err(claimed(own.as_deref(), refusal.because(because)));
        };
        let own = own.unwrap_or_else(|| email.clone());
        self.store(move |store| store.begin_session(&email, &kept, &digest)).await?;
        slot.succeeded();
        Ok((session, own))
    }

    /// Returns the valid session with this secret, which is presented from that address.
    ///
    /// # Errors
    /// [`Kind::Busy`] after too many unknown secrets.
    pub async fn session(&self, secret: &SecretString, from: Option<IpAddr>) -> Result<Option<Session>> {
        let digest = Digest::new(secret.expose_secret());
        let requester = if self.known.get(&digest).is_some() { Requester::Known } else { Requester::Stranger(from) };
        let found = self.store_for(requester, move |store| match store.session(&digest)? {
            None => Ok(Err(store.knows_session(&digest)?)),
            Some(session) => Ok(Ok(session)),
        });
        match found.await? {
            Ok(session) => {
                self.known.insert(digest, ());
                Ok(Some(session))
            }
            Err(true) => Ok(None),
            Err(false) => match self.failures.count(from, None) {
                None => Ok(None),
                Some(quota) => Err(Error::throttled("too many unknown sessions; sign in again later", quota)),
            },
        }
    }

    /// Ends a session, or with `everywhere` every session of its person.
    pub async fn sign_out(&self, secret: &SecretString, everywhere: bool) -> Result<()> {
        let digest = Digest::new(secret.expose_secret());
        self.store(move |store| store.end_session(&digest, everywhere)).await
    }
}

/// Adds the user to `refusal` as the claimed identity, if there is a user of that address.
fn claimed(own: Option<&str>, refusal: Error) -> Error {
    match own {
        Some(own) => refusal.claimed(own),
        None => refusal,
    }
}

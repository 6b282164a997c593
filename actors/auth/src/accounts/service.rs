//! The operations for people, and how they are passed to the actor.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use actix::{Actor, Addr, Arbiter};
use quick_cache::sync::Cache;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::accounts::actor::{AccountsActor, StoreJob};
use crate::accounts::password_limiter::PasswordLimiter;
use crate::accounts::store_queue::{Requester, StoreQueue};
use crate::issue::token_request::IssueToken;
use crate::limits::Failures;
use crate::oauth::authorization::{
    self, Approval, AuthorizationCodeRequest, CODE_PREFIX, ClientCredential, Consent, Granted, IssuedTokens,
    NextRefresh, REFRESH_PREFIX, RefreshTokenRequest,
};
use crate::oauth::client::{Client, NewClient};
use crate::oauth::grant::{self, GrantError, TokenSpec};
use crate::oauth::introspection::RevokeFor;
use crate::recording::AuditContext;
use crate::records::{NewPat, PersonalAccessToken};
use crate::secret::{self, Digest};
use crate::settings::AuthSettings;
use crate::store::{ReconnectingStore, Store};
use crate::supervisor::Auth;
use crate::verify::token::Tokens;
use portico_core::error::{Error, Result};
use portico_core::principal::{Rights, Scope};

/// The number of sessions remembered as valid: their callers do not wait behind strangers.
const KNOWN: usize = 10_000;

/// The operations for people. Cheap to clone.
#[derive(Clone)]
pub struct Accounts {
    actor: Addr<AccountsActor>,
    auth: Auth,
    tokens: Tokens,
    pub(super) limiter: PasswordLimiter,
    queue: StoreQueue,
    /// Sessions that were in force when they were shown last.
    pub(super) known: Arc<Cache<Digest, ()>>,
    pub(super) failures: Failures,
    audit_context: Arc<AuditContext>,
}

/// A client's claimed id and its address, under which its failures are counted.
struct Claimant {
    id: String,
    from: Option<IpAddr>,
}

impl Claimant {
    fn new(client: &ClientCredential) -> Self {
        Self { id: client.client_id.clone(), from: client.from }
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Accounts")
    }
}

impl Accounts {
    /// Opens the store once more and starts the actor; `auth` issues the access tokens. Must be
    /// called within an actix system. A store that is a database may be away: it is opened when it is
    /// needed.
    ///
    /// # Errors
    /// When a store that is a file cannot be opened.
    pub async fn start(settings: &AuthSettings, auth: Auth) -> Result<Self> {
        let (place, clock, uses) = (settings.store.clone(), settings.clock.clone(), settings.uses.clone());
        let (recording, observer) = (settings.recording.clone(), Arc::clone(&settings.observer));
        let opened = tokio::task::spawn_blocking(move || {
            let is_file = place.file().is_some();
            let mut store = ReconnectingStore::new(place, clock.clone());
            if is_file {
                store.with(|_| Ok(()))?;
            }
            Ok::<_, Error>(AccountsActor { store, uses, recording, observer })
        });
        let actor = opened.await.map_err(Error::internal)??;
        Ok(Self {
            actor: AccountsActor::start_in_arbiter(&Arbiter::new().handle(), |_| actor),
            auth,
            tokens: Tokens::new(&settings.issuer, settings.token_lifetime, settings.clock.skew()),
            limiter: PasswordLimiter::new(&settings.limits, settings.failures()),
            queue: StoreQueue::default(),
            known: Arc::new(Cache::new(KNOWN)),
            failures: settings.failures(),
            audit_context: Arc::default(),
        })
    }

    /// Returns a copy whose changes are recorded with `audit_context`.
    #[must_use]
    pub fn at(&self, audit_context: AuditContext) -> Self {
        Self { audit_context: Arc::new(audit_context), ..self.clone() }
    }

    async fn run_job<T: Send + 'static>(
        &self,
        requester: Requester,
        work: impl FnOnce(&mut AccountsActor) -> T + Send + 'static,
    ) -> Result<T> {
        let slot = self.queue.take(requester).await?;
        let work = StoreJob(Box::new(move |actor| {
            // It is held even if the caller has left.
            let _slot = slot;
            work(actor)
        }));
        self.actor.send(work).await.map_err(Error::internal)
    }

    /// Runs `work` at the store. Its changes of rights are recorded when this returns.
    pub(super) async fn store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.store_for(Requester::Known, work).await
    }

    /// As [`Accounts::store`], with the priority of `requester`.
    pub(super) async fn store_for<T: Send + 'static>(
        &self,
        requester: Requester,
        work: impl FnOnce(&mut Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let audit_context = Arc::clone(&self.audit_context);
        self.run_job(requester, move |actor| actor.work(&audit_context, work)).await?
    }

    /// As [`Accounts::store`], for a change that revokes something: it is in force when this returns.
    pub(super) async fn changing<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = self.store(work).await?;
        self.auth.sync().await;
        Ok(done)
    }

    /// Counts a refused client credential, and replaces the refusal if there were too many.
    fn counted(&self, refusal: GrantError, client: &Claimant) -> GrantError {
        if !matches!(refusal.code, "invalid_client" | "invalid_grant") {
            return refusal;
        }
        self.failures.of_client(client.from, Some(&client.id), refusal)
    }

    /// The client with that id, if it is kept here and admitted.
    pub async fn client(&self, client_id: String) -> Result<Option<Client>> {
        let admission = self.auth.admission();
        let is_known = self.audit_context.principal.is_some();
        let requester = if is_known { Requester::Known } else { Requester::Stranger(self.audit_context.address) };
        let client = self.store_for(requester, move |store| store.client(&client_id)).await?;
        Ok(client.filter(|client| admission.takes(Some(client.kind))))
    }

    /// Stores a client that registers itself.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid), naming what is wrong;
    /// [`Kind::Busy`](portico_core::error::Kind::Busy) if there are too many, in all or from that address.
    pub async fn register(&self, new: NewClient, from: Option<IpAddr>) -> Result<(Client, Option<SecretString>)> {
        self.limiter.registers(from)?;
        self.auth.admission().dynamic.admit(&new.redirect_uris)?;
        self.store_for(Requester::Stranger(from), move |store| store.register_client(&new)).await
    }

    /// Returns the one connection or workspace that a resource (RFC 8707) names, if it names exactly one, with the
    /// widest scope there.
    ///
    /// # Errors
    /// `invalid_target` if it is not a resource of this service.
    pub fn target(&self, resource: &str) -> Result<Option<Rights>, GrantError> {
        grant::resource(resource, &self.tokens).map(|resource| resource.part())
    }

    /// Stores the consent of the session's person, and returns the code for the client.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`](portico_core::error::Kind::Unauthenticated) if the session has ended,
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) if it exceeds the session's rights.
    pub async fn approve(&self, session: &SecretString, approval: Approval) -> Result<SecretString> {
        let session = Digest::new(session.expose_secret());
        let (code, digest) = secret::mint(CODE_PREFIX)?;
        self.store(move |store| store.approve(&session, &approval, &digest)).await?;
        Ok(code)
    }

    /// Answers an authorization code with tokens.
    ///
    /// # Errors
    /// In the words of RFC 6749 §5.2.
    pub async fn redeem(&self, redemption: AuthorizationCodeRequest) -> Result<IssuedTokens, GrantError> {
        let (client, next) = (Claimant::new(&redemption.client), NextRefresh::mint(None)?);
        let narrow = self.narrowing(None, redemption.resource.clone());
        self.issue(client, next, move |store, next| store.redeem(&redemption, next, narrow)).await
    }

    /// Answers a refresh token with the next tokens.
    ///
    /// # Errors
    /// In the words of RFC 6749 §5.2; for a scope or a resource that was not granted, the refresh
    /// token stays good.
    pub async fn refresh(&self, asked: RefreshTokenRequest) -> Result<IssuedTokens, GrantError> {
        let (client, next) = (Claimant::new(&asked.client), NextRefresh::mint(Some(&asked.token))?);
        let narrow = self.narrowing(asked.scope.clone(), asked.resource.clone());
        self.issue(client, next, move |store, next| store.refresh(&asked, next, narrow)).await
    }

    /// Returns the function that narrows a grant to what the client asks for.
    fn narrowing(
        &self,
        scope: Option<String>,
        resource: Option<String>,
    ) -> impl FnOnce(Granted) -> Result<Granted, GrantError> + Send + use<> {
        let (tokens, admission) = (self.tokens.clone(), self.auth.admission());
        move |granted| authorization::narrow(granted, scope.as_deref(), resource.as_deref(), &tokens, admission)
    }

    /// Ends the grant of a refresh token, or revokes an access token (RFC 7009).
    ///
    /// # Errors
    /// `invalid_client`; an unknown token is not an error.
    pub async fn revoke(&self, client: ClientCredential, token: SecretString) -> Result<(), GrantError> {
        let claimant = Claimant::new(&client);
        let requester = Requester::Stranger(claimant.from);
        let refused = |refusal| self.counted(refusal, &claimant);
        if token.expose_secret().starts_with(REFRESH_PREFIX) {
            let revoked = self.store_for(requester, move |store| store.revoke_refresh(&client, &token)).await?;
            self.auth.sync().await;
            if revoked.map_err(refused)? {
                return Ok(());
            }
            // A client that presents many unknown tokens is guessing.
            let quota = self.failures.count(claimant.from, None);
            return quota.map_or(Ok(()), |quota| Err(GrantError::throttled("too many unknown tokens", quota)));
        }
        let has_secret = client.secret.is_some();
        self.store_for(requester, move |store| store.judge_client(&client)).await?.map_err(refused)?;
        let client_id = claimant.id;
        // A client without a secret only claims its id.
        let principal = has_secret.then(|| client_id.clone());
        let audit_context = AuditContext { principal, ..AuditContext::clone(&self.audit_context) };
        self.auth.send(RevokeFor { client_id, token, audit_context }).await?
    }

    /// Issues tokens for the grant that `take` finds. A second use of a code or refresh token ends everything
    /// derived from the first: that is in force when this returns.
    async fn issue(
        &self,
        client: Claimant,
        next: NextRefresh,
        take: impl FnOnce(&mut Store, &NextRefresh) -> Result<Result<Granted, GrantError>> + Send + 'static,
    ) -> Result<IssuedTokens, GrantError> {
        let refresh = next.secret.clone();
        let granted = self.store_for(Requester::Stranger(client.from), move |store| take(store, &next)).await?;
        if granted.is_err() {
            self.auth.sync().await;
        }
        let granted = granted.map_err(|refusal| self.counted(refusal, &client))?;
        let subject = granted.subject.clone();
        let spec = TokenSpec {
            subject: granted.subject,
            client_id: client.id,
            scope: None,
            rights: granted.rights,
            resource: granted.resource,
            grant: Some(granted.grant),
        };
        let access = self.auth.send(IssueToken(spec)).await??;
        Ok(IssuedTokens { access, refresh, subject })
    }

    /// The person's tokens that are not revoked, with the time of their last use.
    pub async fn tokens(&self, session: &SecretString) -> Result<Vec<PersonalAccessToken>> {
        let digest = Digest::new(session.expose_secret());
        self.run_job(Requester::Known, AccountsActor::carry_uses).await?;
        self.store(move |store| store.tokens_of(&digest)).await
    }

    /// Makes a token for the session's person.
    ///
    /// # Errors
    /// As [`Store::create_pat`]; [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) in a session that was
    /// narrowed.
    pub async fn create_token(
        &self,
        session: &SecretString,
        new: NewPat,
    ) -> Result<(PersonalAccessToken, SecretString)> {
        let digest = Digest::new(session.expose_secret());
        self.store(move |store| store.create_own_pat(&digest, new)).await
    }

    /// Revokes a token of the session's person.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) when it is not theirs,
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) in a session that was narrowed.
    pub async fn revoke_token(&self, session: &SecretString, token: Uuid) -> Result<PersonalAccessToken> {
        let digest = Digest::new(session.expose_secret());
        self.changing(move |store| store.revoke_own_pat(&digest, token)).await
    }

    /// The applications that the session's person gave access to.
    pub async fn grants(&self, session: &SecretString) -> Result<Vec<Consent>> {
        let digest = Digest::new(session.expose_secret());
        self.store(move |store| store.grants(&digest)).await
    }

    /// Takes the access back that the session's person gave to an application.
    pub async fn revoke_own_consent(&self, session: &SecretString, grant: Uuid) -> Result<()> {
        let digest = Digest::new(session.expose_secret());
        self.changing(move |store| store.revoke_own_consent(&digest, grant)).await
    }

    /// Returns the number of grants without effect, because clients of their kind are not admitted.
    pub async fn ineffective_grants(&self) -> Result<usize> {
        let admission = self.auth.admission();
        self.store(move |store| store.ineffective_grants(admission)).await
    }

    /// Every scope that a session may give away, the smallest first.
    pub fn scopes_up_to(most: Scope) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| *scope <= most)
    }
}

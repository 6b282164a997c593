//! People in front of a browser: they sign in, grant clients access, and look after their tokens.
//! An actor of its own with its own handle on the store, because it writes and the
//! [`AuthActor`](super::AuthActor) must not wait for a disk. Pages and forms are not known here.

mod attempts;
pub mod authorization;
pub mod client;
pub(crate) mod password;
pub mod session;
mod uses;

use std::fmt;
use std::sync::Arc;

use actix::{Actor, Addr, Arbiter, AsyncContext, Context, Handler, Message, MessageResult};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use uuid::Uuid;

pub use self::password::SHORTEST_PASSWORD;
pub use self::uses::Uses;

use self::attempts::Attempts;
use self::authorization::{Approval, CODE_PREFIX, GrantRecord, Granted, Issued, REFRESH_PREFIX, Redemption, Refresh};
use self::client::{Client, NewClient};
use self::session::Session;
use super::client::RevokeFor;
use super::clock::Clock;
use super::grant::{self, GrantError, Ticket};
use super::records::{NewPat, NewServiceAccount, NewUser, PersonalAccessToken, ServiceAccount, User};
use super::resource::Resource;
use super::secret::{self, Digest, PAT_PREFIX};
use super::store::Store;
use super::token::Tokens;
use super::{Auth, AuthSettings, Mint};
use crate::error::{Error, Kind, Result};
use crate::principal::Scope;

/// How often the uses of tokens are carried to the store.
const CARRY_EVERY: std::time::Duration = std::time::Duration::from_mins(1);
/// Passwords that are compared at once: each takes 19 MiB and a whole core.
const HASHES_AT_ONCE: usize = 2;
/// Begins the secret of every session.
const SESSION_PREFIX: &str = "ptc_se_";

/// Owns the store's second handle, on a thread of its own.
struct PeopleActor {
    store: Store,
    attempts: Attempts,
    uses: Uses,
    clock: Clock,
}

impl Actor for PeopleActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(CARRY_EVERY, |actor, _| actor.carry_uses());
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.carry_uses();
        Arbiter::current().stop();
    }
}

impl PeopleActor {
    /// A failure loses some minutes of "last used", and the next one tells of it.
    fn carry_uses(&mut self) {
        let uses = self.uses.take();
        if !uses.is_empty() && self.store.note_uses(&uses).is_err() {
            for (digest, at) in uses {
                self.uses.note(digest, at);
            }
        }
    }
}

/// One turn of work at the store.
struct Turn<T>(Box<dyn FnOnce(&mut PeopleActor) -> T + Send>);

impl<T: Send + 'static> Message for Turn<T> {
    type Result = T;
}

impl<T: Send + 'static> Handler<Turn<T>> for PeopleActor {
    type Result = MessageResult<Turn<T>>;

    fn handle(&mut self, Turn(work): Turn<T>, _: &mut Self::Context) -> Self::Result {
        MessageResult(work(self))
    }
}

/// Everything that an administrator's page shows.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Every user.
    pub users: Vec<User>,
    /// Every service account.
    pub accounts: Vec<ServiceAccount>,
}

/// What an administrator may ask for, besides making something new.
#[derive(Clone, Debug)]
pub enum Change {
    /// A service account, by its client id.
    DisableAccount(String),
    /// Takes that back.
    EnableAccount(String),
    /// For ever.
    RemoveAccount(String),
    /// A user, by address: tokens and sessions are refused until it is taken back.
    DisableUser(String),
    /// Takes that back.
    EnableUser(String),
    /// For ever.
    RemoveUser(String),
}

/// What people may ask for. Cheap to clone.
#[derive(Clone)]
pub struct People {
    actor: Addr<PeopleActor>,
    auth: Auth,
    tokens: Tokens,
    hashes: Arc<Semaphore>,
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("People")
    }
}

impl People {
    /// Opens the store once more and starts the actor; `auth` issues the access tokens. Must be
    /// called within an actix system.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn start(settings: &AuthSettings, auth: Auth) -> Result<Self> {
        let (path, clock, uses) = (settings.store_path.clone(), settings.clock.clone(), settings.uses.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let store = Store::open_with(path, clock.clone())?;
            Ok::<_, Error>(PeopleActor { store, attempts: Attempts::default(), uses, clock })
        });
        let actor = opened.await.map_err(Error::internal)??;
        Ok(Self {
            actor: PeopleActor::start_in_arbiter(&Arbiter::new().handle(), |_| actor),
            auth,
            tokens: Tokens::new(&settings.issuer, settings.token_lifetime, settings.clock_skew),
            hashes: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
        })
    }

    async fn turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut PeopleActor) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.actor.send(Turn(Box::new(work))).await.map_err(Error::internal)?
    }

    async fn store<T: Send + 'static>(&self, work: impl FnOnce(&mut Store) -> Result<T> + Send + 'static) -> Result<T> {
        self.turn(|actor| work(&mut actor.store)).await
    }

    /// Signs a person in, with a password or a personal access token, and answers the secret of a
    /// fresh session. Unknown names, wrong passwords and names without one take the same time.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`] when the two do not belong together, [`Kind::Busy`] after too many
    /// failures.
    pub async fn sign_in(&self, email: String, secret: SecretString) -> Result<SecretString> {
        let (session, digest) = secret::mint(SESSION_PREFIX)?;
        if secret.expose_secret().starts_with(PAT_PREFIX) {
            let token = Digest::of(secret.expose_secret());
            self.store(move |store| store.begin_session_by_token(&email, &token, &digest)).await?;
            return Ok(session);
        }
        let name = email.to_lowercase();
        let kept = self
            .turn(move |actor| {
                if let Some(wait) = actor.attempts.begin(&name, actor.clock.now()) {
                    return Err(Error::new(Kind::Busy, "too many failed attempts with this address")
                        .hint("wait a few minutes, or sign in with a personal access token")
                        .retry_after(wait));
                }
                actor.store.password(&name)
            })
            .await?;
        let compared = kept.clone();
        let permit = self.hashes.acquire().await.map_err(Error::internal)?;
        let fits = tokio::task::spawn_blocking(move || password::fits(&secret, compared.as_deref()));
        let fits = fits.await.map_err(Error::internal)?;
        drop(permit);
        let Some(kept) = kept.filter(|_| fits) else {
            return Err(Error::unauthenticated("the address or the secret is not right"));
        };
        self.turn(move |actor| {
            actor.store.begin_session(&email, &kept, &digest)?;
            actor.attempts.succeeded(&email.to_lowercase());
            Ok(())
        })
        .await?;
        Ok(session)
    }

    /// The session in force that has this secret.
    pub async fn session(&self, secret: &SecretString) -> Result<Option<Session>> {
        let digest = Digest::of(secret.expose_secret());
        self.store(move |store| store.session(&digest)).await
    }

    /// Ends a session, or with `everywhere` every session of its person.
    pub async fn sign_out(&self, secret: &SecretString, everywhere: bool) -> Result<()> {
        let digest = Digest::of(secret.expose_secret());
        self.store(move |store| store.end_session(&digest, everywhere)).await
    }

    /// The client with that id, if it is kept here.
    pub async fn client(&self, client_id: String) -> Result<Option<Client>> {
        self.store(move |store| store.client(&client_id)).await
    }

    /// Keeps a client that registers itself.
    ///
    /// # Errors
    /// [`Kind::Invalid`], naming what is wrong; [`Kind::Busy`] when there are too many.
    pub async fn register(&self, new: NewClient) -> Result<(Client, Option<SecretString>)> {
        self.store(move |store| store.register_client(&new)).await
    }

    /// The connection that a resource (RFC 8707) names, if it names a single one.
    ///
    /// # Errors
    /// `invalid_target` when it is not one of this service.
    pub fn target(&self, resource: &str) -> Result<Option<Uuid>, GrantError> {
        let ours = self.tokens.resource(resource);
        ours.map(Resource::connection).ok_or_else(|| grant::target("the resource is not one of this service"))
    }

    /// Keeps what the person of the session agreed to, and answers the code for the client.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`] when the session has ended, [`Kind::Forbidden`] for more than it has.
    pub async fn approve(&self, session: &SecretString, approval: Approval) -> Result<SecretString> {
        let session = Digest::of(session.expose_secret());
        let (code, digest) = secret::mint(CODE_PREFIX)?;
        self.store(move |store| store.approve(&session, &approval, &digest)).await?;
        Ok(code)
    }

    /// Answers an authorization code with tokens.
    ///
    /// # Errors
    /// In the words of RFC 6749 §5.2.
    pub async fn redeem(&self, redemption: Redemption) -> Result<Issued, GrantError> {
        let (refresh, digest) = secret::mint(REFRESH_PREFIX).map_err(ours)?;
        let (client_id, resource) = (redemption.client.client_id.clone(), redemption.resource.clone());
        let granted = self.store(move |store| store.redeem(&redemption, &digest)).await.map_err(ours)??;
        self.issue(client_id, granted, None, resource, refresh).await
    }

    /// Answers a refresh token with the next tokens.
    ///
    /// # Errors
    /// In the words of RFC 6749 §5.2.
    pub async fn refresh(&self, asked: Refresh) -> Result<Issued, GrantError> {
        let (next, digest) = secret::mint(REFRESH_PREFIX).map_err(ours)?;
        let (client_id, scope, resource) =
            (asked.client.client_id.clone(), asked.scope.clone(), asked.resource.clone());
        let granted = self.store(move |store| store.refresh(&asked, &digest)).await.map_err(ours)??;
        self.issue(client_id, granted, scope, resource, next).await
    }

    /// Ends the grant of a refresh token, or the life of an access token (RFC 7009).
    ///
    /// # Errors
    /// `invalid_client`; a token that is unknown is no failure.
    pub async fn revoke(&self, client: authorization::ClientCredential, token: SecretString) -> Result<(), GrantError> {
        if token.expose_secret().starts_with(REFRESH_PREFIX) {
            let digest = Digest::of(token.expose_secret());
            return self.store(move |store| store.revoke_refresh(&client, &digest)).await.map_err(ours)?;
        }
        let client_id = client.client_id.clone();
        self.store(move |store| store.judge_client(&client)).await.map_err(ours)??;
        self.auth.send(RevokeFor { client_id, token }).await.map_err(|_| ours(Error::internal("stopped")))?
    }

    async fn issue(
        &self,
        client_id: String,
        granted: Granted,
        scope: Option<String>,
        resource: Option<String>,
        refresh: SecretString,
    ) -> Result<Issued, GrantError> {
        let resource = resource.filter(|resource| !resource.is_empty());
        let resource = match resource.filter(|asked| Some(asked) != granted.resource.as_ref()) {
            None => granted.resource,
            Some(asked) if granted.resource.is_none() || self.target(&asked)?.is_some() => Some(asked),
            Some(_) => return Err(GrantError::new("invalid_target", "the resource is not within what was granted")),
        };
        let subject = granted.subject.clone();
        let ticket = Ticket {
            subject: granted.subject,
            client_id,
            scope,
            most: granted.scope,
            connections: Some(granted.connections),
            resource,
            grant: Some(granted.grant),
        };
        let access = self.auth.send(Mint(ticket)).await.map_err(|_| ours(Error::internal("stopped")))??;
        Ok(Issued { access, refresh, subject })
    }

    /// The person's tokens that are not revoked, with the time of their last use.
    pub async fn tokens(&self, session: &SecretString) -> Result<Vec<PersonalAccessToken>> {
        let digest = Digest::of(session.expose_secret());
        self.turn(move |actor| {
            actor.carry_uses();
            actor.store.tokens_of(&digest)
        })
        .await
    }

    /// Makes a token for the session's person.
    ///
    /// # Errors
    /// As [`Store::create_pat`]; [`Kind::Forbidden`] in a session that was narrowed.
    pub async fn create_token(
        &self,
        session: &SecretString,
        new: NewPat,
    ) -> Result<(PersonalAccessToken, SecretString)> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            let session = store.required(&digest)?;
            session.must_be_whole()?;
            store.create_pat(&session.email, session.bound(new))
        })
        .await
    }

    /// Revokes a token of the session's person.
    ///
    /// # Errors
    /// [`Kind::NotFound`] when it is not theirs, [`Kind::Forbidden`] in a session that was narrowed.
    pub async fn revoke_token(&self, session: &SecretString, token: Uuid) -> Result<PersonalAccessToken> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            store.required(&digest)?.must_be_whole()?;
            if !store.tokens_of(&digest)?.iter().any(|own| own.id == token) {
                return Err(Error::not_found("there is no such token of yours"));
            }
            store.revoke_pat(&token.to_string())
        })
        .await
    }

    /// The applications that the session's person gave access to.
    pub async fn grants(&self, session: &SecretString) -> Result<Vec<GrantRecord>> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| store.grants(&digest)).await
    }

    /// Takes the access back that the session's person gave to an application.
    pub async fn revoke_grant(&self, session: &SecretString, grant: Uuid) -> Result<()> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| store.revoke_grant(&digest, grant)).await
    }

    /// Every user and service account, for administrators.
    pub async fn directory(&self, session: &SecretString) -> Result<Directory> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            store.required(&digest)?.must_administer()?;
            Ok(Directory { users: store.users()?, accounts: store.service_accounts()? })
        })
        .await
    }

    /// Makes a service account.
    pub async fn create_account(
        &self,
        session: &SecretString,
        new: NewServiceAccount,
    ) -> Result<(ServiceAccount, SecretString)> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            store.required(&digest)?.must_administer()?;
            store.create_service_account(new)
        })
        .await
    }

    /// Replaces the secret of a service account.
    pub async fn rotate_account(
        &self,
        session: &SecretString,
        which: String,
    ) -> Result<(ServiceAccount, SecretString)> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            store.required(&digest)?.must_administer()?;
            store.rotate_service_account(&which)
        })
        .await
    }

    /// Adds a user, with a first token to sign in with.
    pub async fn add_user(&self, session: &SecretString, new: NewUser, first: NewPat) -> Result<(User, SecretString)> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            store.required(&digest)?.must_administer()?;
            let user = store.add_user(new)?;
            let (_, secret) = store.create_pat(&user.email, first)?;
            Ok((user, secret))
        })
        .await
    }

    /// Changes a user or a service account. Administrators cannot shut themselves out.
    pub async fn change(&self, session: &SecretString, change: Change) -> Result<()> {
        let digest = Digest::of(session.expose_secret());
        self.store(move |store| {
            let session = store.required(&digest)?;
            session.must_administer()?;
            match change {
                Change::DisableAccount(id) => store.disable_service_account(&id).map(drop),
                Change::EnableAccount(id) => store.enable_service_account(&id).map(drop),
                Change::RemoveAccount(id) => store.remove_service_account(&id).map(drop),
                Change::DisableUser(email) | Change::RemoveUser(email)
                    if email.eq_ignore_ascii_case(&session.email) =>
                {
                    Err(Error::invalid("you cannot shut yourself out; another administrator can, or the command line"))
                }
                Change::DisableUser(email) => store.disable_user(&email).map(drop),
                Change::EnableUser(email) => store.enable_user(&email).map(drop),
                Change::RemoveUser(email) => store.remove_user(&email).map(drop),
            }
        })
        .await
    }

    /// Every scope that a session may give away, the smallest first.
    pub fn scopes_up_to(most: Scope) -> impl Iterator<Item = Scope> {
        [Scope::Read, Scope::Write, Scope::Admin].into_iter().filter(move |scope| *scope <= most)
    }
}

/// The fault is ours: the client is told no more.
fn ours(_: Error) -> GrantError {
    GrantError::new("server_error", "no token can be issued at the moment; the log says why")
}

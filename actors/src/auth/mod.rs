//! Identity: who calls, and how far they reach. The command line changes the [`store`], and the
//! [`AuthActor`] answers from memory what the store holds. How a credential travels is not known
//! here.
//!
//! Changes need no message: before every answer the actor looks whether another process has
//! written (one `stat` and one `PRAGMA data_version`), so that what was revoked is refused by the
//! very next request.

mod cache;
pub mod clock;
mod grant;
mod key;
pub mod records;
mod secret;
mod snapshot;
pub mod store;
mod token;
mod watch;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, Context, Handler, Message, MessageResult, System};
use secrecy::ExposeSecret;

pub use self::grant::{AccessToken, Grant, GrantError};
pub use self::secret::{CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};

use self::cache::Cache;
use self::clock::Clock;
use self::secret::Digest;
use self::snapshot::Snapshot;
use self::store::Store;
use self::token::{Refusal, Tokens};
use self::watch::Watch;
use crate::error::{Error, Result};
use crate::event::{Event, Observer};
use crate::principal::{Credential, Principal};

/// How long an access token is valid unless the settings say otherwise.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(1);

/// Verified access tokens kept in memory, at most.
const REMEMBERED_TOKENS: usize = 10_000;

/// What the actor is started with.
#[derive(Clone)]
pub struct AuthSettings {
    /// The store's file; made if it does not exist.
    pub store_path: PathBuf,
    /// The origin that clients see: `iss` of our tokens, and the stem of every audience.
    pub issuer: String,
    /// How long an access token is valid.
    pub token_lifetime: Duration,
    /// Hears when the store cannot be read.
    pub observer: Observer,
    /// Tells the time.
    pub clock: Clock,
}

impl AuthSettings {
    /// Settings with the usual lifetime and the system's clock.
    pub fn new(store_path: impl Into<PathBuf>, issuer: impl Into<String>, observer: Observer) -> Self {
        Self {
            store_path: store_path.into(),
            issuer: issuer.into(),
            token_lifetime: TOKEN_LIFETIME,
            observer,
            clock: Clock::system(),
        }
    }
}

impl fmt::Debug for AuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthSettings")
            .field("store_path", &self.store_path)
            .field("issuer", &self.issuer)
            .field("token_lifetime", &self.token_lifetime)
            .finish_non_exhaustive()
    }
}

/// Judges credentials and issues access tokens, on a thread of its own: it may read the store
/// without holding up anybody else.
pub struct AuthActor {
    watch: Watch,
    snapshot: Snapshot,
    cache: Cache,
    tokens: Tokens,
    observer: Observer,
    clock: Clock,
    /// Whether the last look at the store failed: an outage is told once.
    store_failed: bool,
}

impl AuthActor {
    /// Opens the store, makes the first signing key if there is none, reads everything, and starts
    /// the actor. Must be called within an actix system.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn start(settings: AuthSettings) -> Result<Addr<Self>> {
        if System::try_current().is_none() {
            return Err(Error::internal("an actor needs a running actix system"));
        }
        let actor = tokio::task::spawn_blocking(move || Self::open(settings)).await.map_err(Error::internal)??;
        Ok(Self::start_in_arbiter(&Arbiter::new().handle(), |_| actor))
    }

    fn open(settings: AuthSettings) -> Result<Self> {
        let mut store = Store::open_with(&settings.store_path, settings.clock.clone())?;
        store.ensure_key()?;
        let mut watch = Watch::new(settings.store_path, store)?;
        let snapshot =
            watch.changed()?.ok_or_else(|| Error::internal("the store was not read at its first opening"))?;
        Ok(Self {
            watch,
            snapshot,
            cache: Cache::new(REMEMBERED_TOKENS),
            tokens: Tokens::new(&settings.issuer, settings.token_lifetime),
            observer: settings.observer,
            clock: settings.clock,
            store_failed: false,
        })
    }

    /// Takes over what another process wrote. If the store cannot be read, memory stays in force.
    fn look_at_the_store(&mut self) {
        match self.watch.changed() {
            Ok(None) => self.store_failed = false,
            Ok(Some(snapshot)) => {
                self.snapshot = snapshot;
                self.cache.clear();
                self.store_failed = false;
            }
            Err(error) => {
                if !self.store_failed {
                    self.tell(error.cause().unwrap_or(&error.message).to_owned());
                }
                self.store_failed = true;
            }
        }
    }

    fn tell(&self, cause: String) {
        (self.observer)(&Event::StoreFailed { cause });
    }

    fn authenticate(&mut self, credential: &Credential) -> Result<Arc<Principal>, Refusal> {
        let now = self.clock.now();
        let token = match credential {
            Credential::Basic { email, token } => return self.snapshot.basic(email, token, now),
            Credential::Bearer(token) => token,
        };
        let digest = Digest::of(token.expose_secret());
        if let Some(principal) = self.cache.get(&digest, now) {
            return Ok(principal);
        }
        let (principal, until) = self.snapshot.bearer(token, &self.tokens, now)?;
        let principal = Arc::new(principal);
        self.cache.insert(digest, Arc::clone(&principal), until);
        Ok(principal)
    }
}

impl Actor for AuthActor {
    type Context = Context<Self>;

    /// The thread was this actor's alone.
    fn stopped(&mut self, _: &mut Self::Context) {
        Arbiter::current().stop();
    }
}

/// Asks who shows this credential.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Principal>>")]
pub struct Authenticate(pub Credential);

impl Handler<Authenticate> for AuthActor {
    type Result = Result<Arc<Principal>>;

    fn handle(&mut self, Authenticate(credential): Authenticate, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        self.authenticate(&credential).map_err(|refusal| {
            Error::unauthenticated("the credential is not valid, or it has expired").because(refusal.words())
        })
    }
}

/// Asks for an access token.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<AccessToken, GrantError>")]
pub struct Exchange(pub Grant);

impl Handler<Exchange> for AuthActor {
    type Result = Result<AccessToken, GrantError>;

    fn handle(&mut self, Exchange(grant): Exchange, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        grant::exchange(&grant, &self.snapshot, &self.tokens, self.clock.now()).map_err(|failed| {
            if let Some(cause) = failed.cause {
                self.tell(cause);
            }
            failed.answer
        })
    }
}

/// Asks for the JWK set (RFC 7517 §5) of every key that verifies now.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "serde_json::Value")]
pub struct Jwks;

impl Handler<Jwks> for AuthActor {
    type Result = MessageResult<Jwks>;

    fn handle(&mut self, _: Jwks, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        MessageResult(self.snapshot.jwks(&self.tokens, self.clock.now()))
    }
}

/// Takes over settings that were read anew.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Reconfigure {
    /// How long an access token is valid that is issued from now on.
    pub token_lifetime: Duration,
}

impl Handler<Reconfigure> for AuthActor {
    type Result = ();

    fn handle(&mut self, settings: Reconfigure, _: &mut Self::Context) {
        self.tokens.set_lifetime(settings.token_lifetime);
        self.cache.clear();
    }
}

//! The actor that judges credentials and issues access tokens: what it knows, and how it begins and ends. What it is
//! asked stands in the files of its handlers.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, ArbiterHandle, AsyncContext, Context, System};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::issuers::issuer::{Issuer, IssuerKeys, TrustedIssuer};
use crate::issuers::jwks;
use crate::limits::{self, Failures};
use crate::secret::Digest;
use crate::settings::AuthSettings;
use crate::sync::StoreWatcher;
use crate::throttle::Throttle;
use crate::verify::active_tokens::ActiveTokens;
use crate::verify::cache::VerifiedCache;
use crate::verify::snapshot::Snapshot;
use crate::verify::token::Tokens;
use portico_core::error::{Error, Result};
use portico_core::heartbeat::Heartbeat;

/// How often the store is looked at: whoever is known asks nobody.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Tokens that were revoked here, each until it would be refused anyway: what is read from the store
/// may be older.
pub(super) type Revoked = HashMap<Uuid, Timestamp>;

/// Judges credentials and issues access tokens, on a thread of its own: it may read the store
/// without holding up anybody else.
pub struct AuthActor {
    pub(super) settings: AuthSettings,
    pub(super) watch: StoreWatcher,
    pub(super) snapshot: Snapshot,
    pub(super) cache: VerifiedCache,
    /// What was let in with access tokens.
    pub(super) active: ActiveTokens,
    pub(super) tokens: Tokens,
    pub(super) failures: Failures,
    pub(super) issued: Throttle<Digest>,
    pub(super) issuers: Vec<Issuer>,
    /// What keys of issuers are fetched with; none where nobody's are.
    pub(super) client: Option<reqwest::Client>,
    /// Whether the last look at the store failed: an outage is told once.
    pub(super) store_failed: bool,
    /// What was revoked here.
    pub(super) revoked: Revoked,
    pub(super) death_notice: ExitNotifier,
}

impl AuthActor {
    /// Opens the store, makes the first signing key if there is none, reads everything, and starts
    /// the actor. Must be called within an actix system.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    #[cfg(test)]
    pub(crate) async fn start(settings: AuthSettings) -> Result<actix::Addr<Self>> {
        Ok(Self::launch(settings, ExitNotifier(None)).await?.address)
    }

    /// The same, with a thread of its own; `death_notice` tells of its end.
    pub(super) async fn launch(settings: AuthSettings, death_notice: ExitNotifier) -> Result<RunningActor> {
        if System::try_current().is_none() {
            return Err(Error::internal("an actor needs a running actix system"));
        }
        let opened = tokio::task::spawn_blocking(move || Self::open(settings, death_notice));
        let actor = opened.await.map_err(Error::internal)??;
        let arbiter = Arbiter::new().handle();
        let beat = Heartbeat::start(&arbiter, "auth");
        Ok(RunningActor { address: Self::start_in_arbiter(&arbiter, |_| actor), arbiter, beat })
    }

    fn open(settings: AuthSettings, mut death_notice: ExitNotifier) -> Result<Self> {
        // Until it lives, nobody has died.
        let died = death_notice.0.take();
        let admission = settings.admission;
        let mut actor = Self::read(settings)?;
        actor.snapshot.set_client_policy(admission);
        actor.reverify();
        actor.death_notice.0 = died;
        Ok(actor)
    }

    fn read(settings: AuthSettings) -> Result<Self> {
        let mut watch = StoreWatcher::open(&settings)?;
        let read = match watch.changed() {
            Ok(snapshot) => {
                settings.store_read.store(true, Ordering::Release);
                Some(snapshot.ok_or_else(|| Error::internal("the store was not read at its first opening"))?)
            }
            // It is tried again, and until then nobody is known but to an actor before.
            Err(_) if watch.reports_outages() => None,
            Err(error) => return Err(error),
        };
        let (snapshot, active) = settings.handover.pass_on(read);
        settings.shared.replace(snapshot.secret());
        let fetched = |issuer: &TrustedIssuer| matches!(issuer.keys, IssuerKeys::Url(_));
        let cache = VerifiedCache::new(settings.memory.clone(), settings.clock.clone(), settings.uses.clone());
        let client = settings.issuers.iter().any(fetched).then(jwks::client).transpose()?;
        Ok(Self {
            watch,
            snapshot,
            cache,
            active,
            tokens: Tokens::new(&settings.issuer, settings.token_lifetime, settings.clock.skew()),
            failures: settings.failures(),
            issued: limits::issued(&settings.limits),
            issuers: settings.issuers.iter().cloned().map(Issuer::new).collect::<Result<_>>()?,
            client,
            store_failed: false,
            revoked: Revoked::new(),
            death_notice: ExitNotifier(None),
            settings,
        })
    }
}

impl Actor for AuthActor {
    type Context = Context<Self>;

    /// What goes on under a credential is to end with it, also when nobody asks for anything.
    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(LOOK_EVERY, |actor, _| actor.refresh_from_store());
    }

    /// The thread was this actor's alone.
    fn stopped(&mut self, _: &mut Self::Context) {
        Arbiter::current().stop();
    }
}

impl Drop for AuthActor {
    fn drop(&mut self) {
        // Nobody looks at the store until there is a successor.
        self.cache.clear();
        *self.settings.handover.lock() = (std::mem::take(&mut self.snapshot), std::mem::take(&mut self.active));
    }
}

/// An actor and the thread that is its alone.
pub(super) struct RunningActor {
    pub(super) address: Addr<AuthActor>,
    pub(super) arbiter: ArbiterHandle,
    pub(super) beat: Heartbeat,
}

/// Tells of its actor's death when it is dropped with it, also on a panic.
pub(super) struct ExitNotifier(pub(super) Option<mpsc::UnboundedSender<bool>>);

impl Drop for ExitNotifier {
    fn drop(&mut self) {
        if let Some(died) = &self.0 {
            // Nobody listens any more: then nobody needs another one.
            let _ = died.send(std::thread::panicking());
        }
    }
}

//! The actor that authenticates credentials and issues access tokens: its state, its start and its end. Its
//! messages are handled in the files that define them.

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

/// The interval at which the store is checked: known callers do not trigger a check.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Tokens that were revoked here, each with the time at which it would expire anyway. A snapshot of the store may be
/// older than the revocation.
pub(super) type Revoked = HashMap<Uuid, Timestamp>;

/// Authenticates credentials and issues access tokens, on a thread of its own: it may read the store without
/// blocking others.
pub struct AuthActor {
    pub(super) settings: AuthSettings,
    pub(super) watch: StoreWatcher,
    pub(super) snapshot: Snapshot,
    pub(super) cache: VerifiedCache,
    /// The principals authenticated with access tokens.
    pub(super) active: ActiveTokens,
    pub(super) tokens: Tokens,
    pub(super) failures: Failures,
    pub(super) issued: Throttle<Digest>,
    pub(super) issuers: Vec<Issuer>,
    /// The HTTP client for issuers' keys; `None` if no issuer needs one.
    pub(super) client: Option<reqwest::Client>,
    /// Whether the last check of the store failed: an outage is reported once.
    pub(super) store_failed: bool,
    /// What was revoked here.
    pub(super) revoked: Revoked,
    pub(super) death_notice: ExitNotifier,
}

impl AuthActor {
    /// Opens the store, makes the first signing key if there is none, reads everything, and starts the actor. Must
    /// be called within an actix system.
    ///
    /// # Errors
    /// If the store cannot be opened or read.
    #[cfg(test)]
    pub(crate) async fn start(settings: AuthSettings) -> Result<actix::Addr<Self>> {
        Ok(Self::launch(settings, ExitNotifier(None)).await?.address)
    }

    /// Starts the actor on a thread of its own; `death_notice` reports its end.
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
        // Before the actor runs, there is no death to report.
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
            // The store is tried again. Until then only what the previous actor knew is known.
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

    /// Whatever runs under a credential must end with it, even without further requests.
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
        // Until there is a successor, the store is not checked.
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

/// Reports its actor's death when it is dropped with the actor, also on a panic.
pub(super) struct ExitNotifier(pub(super) Option<mpsc::UnboundedSender<bool>>);

impl Drop for ExitNotifier {
    fn drop(&mut self) {
        if let Some(died) = &self.0 {
            // If the receiver is gone, no successor is needed.
            let _ = died.send(std::thread::panicking());
        }
    }
}

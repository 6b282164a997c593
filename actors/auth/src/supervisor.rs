//! Keeps one [`AuthActor`] alive. An actor that panics is gone for good in actix; a new one takes its place after a
//! backoff, with the same store. State that was only in memory starts anew.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler, Message};
use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::actor::{AuthActor, ExitNotifier, RunningActor};
use crate::keys::shared_secret::SharedSecret;
use crate::oauth::client::ClientPolicy;
use crate::settings::AuthSettings;
use crate::sync::announce::AnnounceCatalog;
use crate::sync::lookup::SyncStore;
use crate::sync::peers::PeerMessages;
use crate::verify::cache::VerifiedCache;
use crate::verify::in_flight::InFlight;
use crate::verify::pending::PendingRequests;
use crate::verify::request::{self, Authenticate, CredentialKey, VerifyCredential};
use portico_core::backoff::Backoff;
use portico_core::error::{Error, Kind, Result};
use portico_core::event::Event;
use portico_core::heartbeat::Heartbeat;
use portico_core::principal::{Principal, Rights};

/// The first delay before a fresh actor is started; it doubles with each death.
const RESTART_MIN: Duration = Duration::from_millis(100);
/// The longest one.
const RESTART_MAX: Duration = Duration::from_secs(30);
/// An actor that ran for so long did not die of its predecessor's cause.
const HEALTHY: Duration = Duration::from_secs(60);

/// Where credentials are judged: the actor that does it, whichever it is at the moment.
#[derive(Clone)]
pub struct Auth {
    current: Arc<ArcSwap<RunningActor>>,
    /// The settings that the next actor is started with.
    settings: Arc<ArcSwap<AuthSettings>>,
    cache: VerifiedCache,
    /// The requests that wait for the actor.
    pending: PendingRequests,
    in_flight: InFlight,
}

impl Auth {
    /// Starts the actor and watches over it. Must be called within an actix system.
    ///
    /// # Errors
    /// When a store that is a file cannot be opened or read now, or the place of the store holds something
    /// else. Later on, and for a database from the beginning, that is tried until it can.
    pub async fn start(settings: AuthSettings) -> Result<Self> {
        let (died, deaths) = mpsc::unbounded_channel();
        let running = AuthActor::launch(settings.clone(), ExitNotifier(Some(died.clone()))).await?;
        let current = Arc::new(ArcSwap::from_pointee(running));
        let cache = VerifiedCache::new(settings.memory.clone(), settings.clock.clone(), settings.uses.clone());
        let settings = Arc::new(ArcSwap::from_pointee(settings));
        actix::spawn(supervise(Arc::downgrade(&current), Arc::clone(&settings), died, deaths));
        Ok(Self { current, settings, cache, pending: PendingRequests::default(), in_flight: InFlight::default() })
    }

    /// Authenticates a credential, and checks that it may be used at an endpoint. Cached verdicts are returned at
    /// once.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`], [`Kind::Forbidden`] and the rate limit for guesses; [`Kind::Unavailable`] if it
    /// cannot be decided at the moment.
    pub async fn authenticate(&self, asked: Authenticate) -> Result<Arc<Principal>> {
        let key = request::key(&asked);
        match self.cache.get(&key) {
            Some(by) => Ok(by),
            // It is seldom gone, and must not make every call larger.
            None => Box::pin(self.in_flight.join(key, asked.from, self.judge(asked, key))).await,
        }
    }

    async fn judge(&self, asked: Authenticate, key: CredentialKey) -> Result<Arc<Principal>> {
        // After a change of the store all credentials are verified again: strangers must not keep known callers
        // away.
        let is_known = self.cache.knew(&key);
        let waiting = if is_known { self.pending.admit()? } else { self.pending.admit_stranger(asked.from)? };
        self.pass(VerifyCredential::new(asked, key, Some(waiting))).await?
    }

    /// Takes over settings that were read anew, for this actor and for each that replaces it. An
    /// actor that is being replaced needs no message.
    pub async fn reconfigure(&self, change: Reconfigure) {
        self.settings.rcu(|settings| {
            let mut settings = AuthSettings::clone(settings);
            change.apply(&mut settings);
            settings
        });
        // A dead actor has a successor, which starts with the change or receives it.
        let _ = self.pass(change).await;
    }

    /// Returns true once the store was read: before that, no caller is known.
    pub fn has_read(&self) -> bool {
        self.settings.load().store_read.load(Ordering::Acquire)
    }

    /// Returns the secret from which all processes on the store derive keys: it follows the store from now on.
    pub fn shared_secret(&self) -> SharedSecret {
        self.settings.load().shared.clone()
    }

    /// Which clients people may give access to now.
    pub(super) fn admission(&self) -> ClientPolicy {
        self.settings.load().admission
    }

    /// Subscribes to the messages of other processes on the store. A file has no other processes.
    pub fn peer_messages(&self) -> PeerMessages {
        self.settings.load().peers.listen()
    }

    /// Notifies the other processes that the catalogue of a connection has changed, unless the store is
    /// unavailable. Returns at once.
    pub fn on_catalog_changed(&self, connection: Uuid) {
        self.address().do_send(AnnounceCatalog(connection));
    }

    /// Waits until the store's current content is in force here. Does not wait for a store that is unavailable.
    pub async fn sync(&self) {
        // A dead actor has a successor, which reads everything.
        let _ = self.pass(SyncStore).await;
    }

    /// The sign of life of the thread that judges at the moment.
    pub fn beat(&self) -> Heartbeat {
        self.current.load().beat.clone()
    }

    /// The actor that judges at the moment.
    pub(super) fn address(&self) -> Addr<AuthActor> {
        self.current.load().address.clone()
    }

    /// Sends `message` and waits for the answer.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when the actor died over it, or is being replaced; at once, when too many wait.
    pub async fn send<M>(&self, message: M) -> Result<M::Result>
    where
        M: Message<Result: Send> + Send + 'static,
        AuthActor: Handler<M>,
        <AuthActor as Actor>::Context: ToEnvelope<AuthActor, M>,
    {
        let _waiting = self.pending.admit()?;
        self.pass(message).await
    }

    /// As above, for messages that are not refused, or were counted.
    async fn pass<M>(&self, message: M) -> Result<M::Result>
    where
        M: Message<Result: Send> + Send + 'static,
        AuthActor: Handler<M>,
        <AuthActor as Actor>::Context: ToEnvelope<AuthActor, M>,
    {
        self.address().send(message).await.map_err(|error| {
            Error::new(Kind::Unavailable, "credentials cannot be checked at the moment; try again")
                .retry_after(Duration::from_secs(1))
                .because(error)
        })
    }
}

/// Takes over settings that were read anew.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Reconfigure {
    /// How long an access token is valid that is issued from now on.
    pub token_lifetime: Duration,
    /// Every connection that is configured now.
    pub connections: Arc<[Uuid]>,
    /// The connections that the tokens of each trusted issuer reach at most: its tables name them, and
    /// names can move from one connection to another.
    pub reaches: Vec<(String, Rights)>,
    /// Which clients people may give access to.
    pub admission: ClientPolicy,
}

impl Reconfigure {
    fn new(settings: &AuthSettings) -> Self {
        let reaches = settings.issuers.iter().map(|issuer| (issuer.issuer.clone(), issuer.reach.clone()));
        Self {
            token_lifetime: settings.token_lifetime,
            connections: Arc::clone(&settings.connections),
            reaches: reaches.collect(),
            admission: settings.admission,
        }
    }

    fn apply(&self, settings: &mut AuthSettings) {
        settings.token_lifetime = self.token_lifetime;
        settings.connections = Arc::clone(&self.connections);
        settings.admission = self.admission;
        for issuer in &mut settings.issuers {
            if let Some((_, reach)) = self.reaches.iter().find(|(name, _)| *name == issuer.issuer) {
                issuer.reach = reach.clone();
            }
        }
    }
}

impl Handler<Reconfigure> for AuthActor {
    type Result = ();

    fn handle(&mut self, change: Reconfigure, _: &mut Self::Context) {
        self.tokens.set_lifetime(change.token_lifetime);
        for (name, reach) in &change.reaches {
            if let Some(issuer) = self.issuers.iter_mut().find(|issuer| issuer.name() == name) {
                issuer.set_reach(reach.clone());
            }
        }
        change.apply(&mut self.settings);
        self.snapshot.set_client_policy(change.admission);
        self.reverify();
    }
}

/// Replaces each actor that dies, until all handles are dropped.
async fn supervise(
    current: Weak<ArcSwap<RunningActor>>,
    settings: Arc<ArcSwap<AuthSettings>>,
    died: mpsc::UnboundedSender<bool>,
    mut deaths: mpsc::UnboundedReceiver<bool>,
) {
    let seed = u64::from(std::process::id());
    let mut backoff = Backoff::new(RESTART_MIN, RESTART_MAX, seed);
    let mut born = Instant::now();
    while let Some(panicked) = deaths.recv().await {
        if born.elapsed() > HEALTHY {
            backoff.reset();
        }
        let mut store_failed = false;
        loop {
            let restart_in = backoff.delay();
            (settings.load().observer)(&Event::AuthDied { panicked, restart_in });
            tokio::time::sleep(restart_in).await;
            let Some(current) = current.upgrade() else { return };
            let begun = settings.load_full();
            match AuthActor::launch(AuthSettings::clone(&begun), ExitNotifier(Some(died.clone()))).await {
                Ok(running) => {
                    let address = running.address.clone();
                    let before = current.swap(Arc::new(running));
                    // Its thread has survived it.
                    before.arbiter.stop();
                    if store_failed {
                        (begun.observer)(&Event::StoreResumed);
                    }
                    let now = settings.load_full();
                    if !Arc::ptr_eq(&begun, &now) {
                        address.do_send(Reconfigure::new(&now));
                    }
                    born = Instant::now();
                    break;
                }
                Err(error) => {
                    let cause = error.cause().unwrap_or(&error.message).to_owned();
                    (begun.observer)(&Event::StoreFailed { cause });
                    store_failed = true;
                }
            }
        }
    }
}

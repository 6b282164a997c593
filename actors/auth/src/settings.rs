//! The settings that the actor is started with.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use uuid::Uuid;

use crate::accounts::Uses;
use crate::clock::Clock;
use crate::issuers::issuer::TrustedIssuer;
use crate::keys::sealing::StoreKey;
use crate::keys::shared_secret::SharedSecret;
use crate::limits::{AuthLimits, Failures};
use crate::oauth::client::ClientPolicy;
use crate::recording::Recording;
use crate::store::StoreLocation;
use crate::sync::peers::Peers;
use crate::verify::active_tokens::Handover;
use crate::verify::cache::CacheStorage;
use portico_core::event::Observer;

/// How long an access token is valid unless the settings say otherwise.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(1);

/// The settings that the actor is started with.
#[derive(Clone)]
pub struct AuthSettings {
    /// The store; a file is made if it does not exist.
    pub store: StoreLocation,
    /// The origin that clients see: `iss` of our tokens, and the stem of every audience.
    pub issuer: String,
    /// How long an access token is valid.
    pub token_lifetime: Duration,
    /// The key that encrypts private keys in the store, if there is one.
    pub store_key: Option<StoreKey>,
    /// All configured connections: the token of a user who reaches all connections lists them.
    pub connections: Arc<[Uuid]>,
    /// Limits of rates.
    pub limits: AuthLimits,
    /// Trusted issuers besides our own.
    pub issuers: Vec<TrustedIssuer>,
    /// Which clients people may give access to.
    pub admission: ClientPolicy,
    /// Receives an event if the store cannot be read.
    pub observer: Observer,
    /// The current time, and the maximal clock skew of other machines.
    pub clock: Clock,
    /// Records the use of personal access tokens.
    pub uses: Uses,
    /// Records changes of rights.
    pub recording: Recording,
    /// The other processes on the store.
    pub(crate) peers: Peers,
    /// The secret from which all processes on the store derive keys.
    pub(crate) shared: SharedSecret,
    /// The failed credentials of all endpoints; set once the limits are known.
    pub(super) failures: Arc<OnceLock<Failures>>,
    /// The cached verdicts on credentials.
    pub(crate) memory: CacheStorage,
    /// What an actor leaves to its successor.
    pub(crate) handover: Handover,
    /// Becomes true when the store was read for the first time.
    pub(crate) store_read: Arc<AtomicBool>,
}

impl AuthSettings {
    /// Settings with the usual lifetime and the system's clock.
    pub fn new(store: impl Into<StoreLocation>, issuer: impl Into<String>, observer: Observer) -> Self {
        Self {
            store: store.into(),
            issuer: issuer.into(),
            token_lifetime: TOKEN_LIFETIME,
            store_key: None,
            connections: Arc::new([]),
            limits: AuthLimits::default(),
            issuers: Vec::new(),
            admission: ClientPolicy::default(),
            observer,
            clock: Clock::system(),
            uses: Uses::default(),
            recording: Recording::default(),
            peers: Peers::default(),
            shared: SharedSecret::default(),
            failures: Arc::default(),
            memory: CacheStorage::default(),
            handover: Handover::default(),
            store_read: Arc::default(),
        }
    }

    /// Returns the failure counters, shared by all that are started with these settings.
    pub(crate) fn failures(&self) -> Failures {
        self.failures.get_or_init(|| Failures::new(&self.limits)).clone()
    }
}

impl fmt::Debug for AuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthSettings")
            .field("store", &self.store)
            .field("issuer", &self.issuer)
            .field("token_lifetime", &self.token_lifetime)
            .finish_non_exhaustive()
    }
}

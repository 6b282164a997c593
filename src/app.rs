//! The shared state of all handlers. How it takes over new settings is in `reload`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use arc_swap::ArcSwap;
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::recording::{AuditRecorder, Recording};
use portico_actors::auth::throttle::Throttle;
use portico_actors::auth::{Auth, AuthSettings};
use portico_actors::budget::Budget;
use portico_actors::directory::{self, ConnectionEntry, Directory, Intensity};
use portico_actors::error::{Error, Quota, Result};
use portico_actors::event::Observer;
use portico_actors::heartbeat::Heartbeat;
use portico_actors::mutex::lock;
use portico_actors::principal::{Principal, Rights};
use portico_actors::source::{self, Settings};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use uuid::Uuid;

use crate::audit::Audit;
use crate::client_metadata::Documents;
use crate::config::{Config, Connection, Server};
use crate::federation::Federation;
use crate::mcp::connection::ConnectionFeatures;
use crate::mcp::extensions::request_state::StateSigner;
use crate::mcp::extensions::tasks::Tasks;
use crate::mcp::features::Features;
use crate::mcp::sessions::Sessions;
use crate::net::tls::Certificates;
use crate::net::validity::{self, Validity};
use crate::observe::Metrics;
use crate::observe::traces::Traces;
use crate::peer_events;
use crate::workspace::{self, ConfiguredWorkspace, Reachable};
use portico_actors::shares::{Allowance, Share, ShareExceeded, ShareLimits, Shares};

/// The maximal number of callers whose requests are counted at one time.
const PRINCIPALS: usize = 20_000;

/// Everything a handler may reach.
pub struct App {
    /// The connections.
    pub directory: Directory,
    /// Issues and verifies tokens.
    pub auth: Auth,
    /// The operations for people in a browser.
    pub people: Accounts,
    /// The descriptions of clients that are found at their own addresses.
    pub documents: Documents,
    /// Takes every event.
    pub observer: Observer,
    /// The audit trail, if there is one.
    pub audit: Option<Arc<Audit>>,
    /// Metrics, counted from events.
    pub metrics: Arc<Metrics>,
    /// Records the spans of calls, where they are wanted.
    pub traces: Traces,
    /// The MCP sessions of the 2025 revisions.
    pub sessions: Sessions,
    /// MCP calls that go on after they were answered.
    pub tasks: Tasks,
    /// Seals data that MCP clients carry for us.
    pub state_signer: StateSigner,
    /// Runs statements over several connections.
    pub federation: Federation,
    /// The memory budget that large rows of all connections share.
    pub budget: Budget,
    features: Arc<dyn Features>,
    /// By the digest of the caller's name, which may be long.
    requests: Mutex<Throttle<[u8; 32]>>,
    /// The TLS certificate and the client authorities, if configured.
    pub certificates: Option<Arc<Certificates>>,
    /// Heartbeats of the main thread and the HTTP workers.
    pub(crate) beats: ArcSwap<Vec<Heartbeat>>,
    pub(crate) current: ArcSwap<Current>,
    /// Held while settings are taken over: one reload at a time.
    pub(crate) reloading: tokio::sync::Mutex<()>,
    attempted: AtomicBool,
    /// Cancelled when the service stops: it is no longer ready, and open streams end.
    pub(crate) draining: CancellationToken,
    /// Requests that are worked on, by their principals' subjects.
    calls: Shares<String>,
    /// The bytes of their bodies.
    pub(crate) bodies: Shares<String>,
    /// Octets of the answers of MCP that are prepared whole.
    pub(crate) answers: Shares<String>,
    /// Requests of unauthenticated callers, by address.
    pub(crate) strangers: Shares<Option<IpAddr>>,
    /// Requests that are being answered, to the last byte.
    running: TaskTracker,
}

/// The current configuration: one value, so that no reader sees half a change.
pub(crate) struct Current {
    config: Arc<Config>,
    connections: HashMap<Uuid, Arc<Connection>>,
    workspaces: Vec<ConfiguredWorkspace>,
}

impl Current {
    pub(crate) fn new(config: Config) -> Self {
        let connections = config.connections.iter().map(|connection| (connection.id, Arc::clone(connection))).collect();
        Self { workspaces: ConfiguredWorkspace::all(&config), config: Arc::new(config), connections }
    }
}

/// Sets the metric of the end of `server`'s certificate. Returns why its clients would refuse it, and logs that
/// too.
pub(crate) fn look_at_certificate(metrics: &Metrics, server: &Server) -> Option<String> {
    let shown = validity::shown(server.tls.as_ref()?)?;
    if let Some(validity) = Validity::of(shown) {
        metrics.shown_certificate_ends(validity.end);
    }
    let complaint = validity::complaint(server, SystemTime::now().into());
    complaint.inspect(|complaint| log::warn!("{complaint}; {}", validity::REMEDY))
}

impl App {
    /// Opens the store and starts every actor. Must run inside an actix system. No source is
    /// waited for: a database that is away does not stop the service.
    ///
    /// # Errors
    /// When the store's or the audit trail's file cannot be opened, or spans can never be sent. A store
    /// that is a database may be away, as sources may.
    pub async fn start(config: Config, observer: Observer) -> Result<Arc<Self>> {
        Self::start_offering(config, observer, Arc::new(ConnectionFeatures::default())).await
    }

    /// Starts a service whose MCP endpoints all offer `features`.
    ///
    /// # Errors
    /// As [`App::start`].
    pub async fn start_offering(config: Config, observer: Observer, features: Arc<dyn Features>) -> Result<Arc<Self>> {
        let metrics = Arc::new(Metrics::default());
        let observer = counting(&metrics, observer);
        let budget = Budget::new(config.server.bounds.max_decoding);
        let connections = config.connections.iter().map(|connection| runnable(connection, &budget)).collect();
        let mut settings = auth_settings(&config, &observer);
        // Before anything that makes changes to be recorded.
        let audit = Audit::start(&config.audit, &config.store.place, Arc::clone(&observer))?;
        if let Some(audit) = &audit {
            settings.recording = Recording::by(Arc::clone(audit) as Arc<dyn AuditRecorder>);
        }
        let auth = Auth::start(settings.clone()).await?;
        let people = Accounts::start(&settings, auth.clone()).await?;
        let documents = Documents::new(config.oauth.private_client_documents);
        let requests = Throttle::new("requests", config.limits.requests(), PRINCIPALS);
        let traces = Traces::start(&config.telemetry, &metrics)?;
        let certificates = config.server.tls.as_ref().map(Certificates::new).transpose().map_err(Error::internal)?;
        look_at_certificate(&metrics, &config.server);
        let telling = peer_events::telling(auth.clone(), Arc::clone(&observer));
        let directory = Directory::start(connections, Intensity::default(), telling);
        let draining = CancellationToken::new();
        tokio::spawn(peer_events::follow(auth.peer_messages(), directory.clone(), draining.clone()));
        Ok(Arc::new(Self {
            tasks: Tasks::new(config.server.tasks.clone()),
            state_signer: StateSigner::new(auth.shared_secret(), config.tokens.clock_skew),
            federation: Federation::new(config.federation.clone()),
            budget,
            certificates,
            beats: ArcSwap::from_pointee(vec![Heartbeat::here("main")]),
            current: ArcSwap::from_pointee(Current::new(config)),
            reloading: tokio::sync::Mutex::default(),
            directory,
            auth,
            people,
            documents,
            observer,
            audit,
            metrics,
            traces,
            sessions: Sessions::default(),
            features,
            requests: Mutex::new(requests),
            attempted: AtomicBool::new(false),
            draining,
            running: TaskTracker::new(),
            calls: Shares::default(),
            bodies: Shares::default(),
            answers: Shares::default(),
            strangers: Shares::default(),
        }))
    }

    /// Returns the current configuration. Read it once for all values of one decision.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.current.load().config)
    }

    /// Counts a request as running until the returned token is dropped.
    pub fn begin(&self) -> TaskTrackerToken {
        self.running.token()
    }

    /// Completes when no request is being answered.
    pub async fn idle(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Whether every connection had its first attempt.
    pub fn started(&self) -> bool {
        if !self.attempted.load(Ordering::Relaxed) && self.directory.ready() {
            self.attempted.store(true, Ordering::Relaxed);
        }
        self.attempted.load(Ordering::Relaxed)
    }

    /// Whether the service is going down.
    pub fn draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Returns what MCP endpoints offer.
    pub fn features(&self) -> &Arc<dyn Features> {
        &self.features
    }

    /// Counts a request of `by`. Returns the rest of the limit, if there is one.
    ///
    /// # Errors
    /// The limit is used up; the error has its state.
    pub fn count_request(&self, by: &Principal) -> Result<Option<Quota>, Quota> {
        let (subject, now) = (Sha256::digest(&by.subject).into(), Instant::now());
        lock(&self.requests).take(subject, now)
    }

    /// Takes a place for a request of `by` among those in progress.
    ///
    /// # Errors
    /// The limit of this principal or of all is reached.
    pub(crate) fn slot(&self, by: &Principal) -> std::result::Result<Share<String>, ShareExceeded> {
        let config = self.config();
        let bounds = &config.server.bounds;
        let most = ShareLimits { each: bounds.calls_per_principal(), all: bounds.max_calls };
        self.calls.take(by.subject.clone(), 1, most)
    }

    /// Returns an allowance for the memory of answers to `by`.
    pub(crate) fn room(&self, by: &Principal) -> Allowance<String> {
        let all = self.config().server.bounds.max_answers;
        self.answers.room(by.subject.clone(), ShareLimits { each: all / 2, all })
    }

    /// How many requests are worked on.
    pub fn active_calls(&self) -> usize {
        self.calls.taken()
    }

    /// The connections within the caller's reach, ordered by name.
    pub fn reachable(&self, by: &Principal) -> Vec<ConnectionEntry> {
        self.directory.list_of(|id| by.rights.covers(id))
    }

    /// Returns the reachable connections with these names. If a name is unknown, returns all reachable ones, so
    /// that the error can list them.
    pub fn reachable_by_name<'n>(&self, by: &Principal, names: impl Iterator<Item = &'n str>) -> Vec<ConnectionEntry> {
        let found = |name| self.directory.named(name).filter(|entry: &ConnectionEntry| by.rights.covers(entry.id));
        match names.map(found).collect::<Option<Vec<_>>>() {
            Some(found) if !found.is_empty() => found,
            _ => self.reachable(by),
        }
    }

    /// The workspaces within the caller's reach, ordered by name.
    pub fn workspaces(&self, by: &Principal) -> Vec<Reachable> {
        self.workspaces_within(&by.rights)
    }

    /// The workspaces within `rights`, ordered by name.
    pub fn workspaces_within(&self, rights: &Rights) -> Vec<Reachable> {
        workspace::within(&self.current.load().workspaces, rights)
    }

    /// Returns the workspace of that name.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_actors::error::Kind::NotFound) if there is none within the caller's reach.
    pub fn workspace(&self, by: &Principal, name: &str) -> Result<Reachable> {
        workspace::named(self.workspaces(by), name)
    }

    /// How the connection was configured.
    ///
    /// # Errors
    /// A reload is about to change it: what is found of it and what is known of it do not belong together.
    pub fn connection(&self, entry: &ConnectionEntry) -> Result<Arc<Connection>> {
        let found = self.current.load().connections.get(&entry.id).cloned();
        let found = found.filter(|connection| connection.fingerprint.source == entry.fingerprint);
        found.ok_or_else(|| directory::changed(&entry.name))
    }

    /// The MCP endpoint of all that a credential opens.
    pub fn mcp_url_of_all(&self) -> String {
        format!("{}/mcp", self.config().server.public_url)
    }

    /// The MCP endpoint of a connection.
    pub fn mcp_url(&self, id: Uuid) -> String {
        format!("{}/mcp/connections/{id}", self.config().server.public_url)
    }

    /// The MCP endpoint of a workspace.
    pub fn workspace_url(&self, name: &str) -> String {
        format!("{}/mcp/workspaces/{name}", self.config().server.public_url)
    }
}

/// Returns an observer that counts each event in `metrics` and passes it on to `observer`.
fn counting(metrics: &Arc<Metrics>, observer: Observer) -> Observer {
    let metrics = Arc::clone(metrics);
    Arc::new(move |event| {
        metrics.count(event);
        observer(event);
    })
}

/// Returns the settings of authentication.
fn auth_settings(config: &Config, observer: &Observer) -> AuthSettings {
    let mut settings = AuthSettings::new(&config.store.place, &config.server.public_url, Arc::clone(observer));
    settings.token_lifetime = config.tokens.lifetime;
    settings.clock = config.tokens.clock();
    settings.store_key.clone_from(&config.store.key);
    settings.limits = config.limits.auth();
    settings.issuers.clone_from(&config.issuers);
    settings.admission = config.oauth.admission();
    settings.connections = config.connections.iter().map(|connection| connection.id).collect();
    settings
}

/// Returns the settings for opening a source.
pub fn source_settings(connection: &Connection) -> Settings {
    Settings {
        name: Arc::clone(&connection.name),
        access: connection.access,
        pool: connection.pool,
        connect_timeout: connection.connect_timeout,
        declared: Arc::clone(&connection.procedures),
        has_roles: connection.identity.is_some(),
        exposure: Arc::new(connection.exposure.clone()),
        budget: Budget::default(),
    }
}

/// Returns the Directory's settings for a connection; its large rows share `budget` with those of others.
pub(crate) fn runnable(connection: &Arc<Connection>, budget: &Budget) -> directory::ConnectionSpec {
    let driver = connection.location.driver();
    let (settings, budget) = (Arc::clone(connection), budget.clone());
    let open = move || {
        let source = settings.location.open(Settings { budget: budget.clone(), ..source_settings(&settings) })?;
        Ok(source::narrow(source, settings.exposure.clone(), driver))
    };
    directory::ConnectionSpec {
        id: connection.id,
        name: Arc::clone(&connection.name),
        fingerprint: connection.fingerprint.source,
        open: Arc::new(open),
        driver,
        access: connection.access,
        permits: connection.pool,
        queue: connection.queue,
        share: connection.usage.pool_per_principal,
        queue_timeout: connection.queue_timeout,
        reader_timeout: connection.usage.reader_timeout,
        trace_comments: connection.trace_comments,
        cost_limit: connection.explain_cost_limit,
        instructions: connection.instructions.clone(),
        refresh: connection.refresh_interval,
        identity: connection.identity.clone(),
        start: connection.usage.start,
        idle_timeout: connection.usage.idle_timeout,
    }
}

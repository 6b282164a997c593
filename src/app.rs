//! The only shared state: what every handler may reach.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::Addr;
use portico_actors::auth::{AuthActor, AuthSettings};
use portico_actors::directory::{self, Directory, Entry, Intensity};
use portico_actors::error::{Error, Result};
use portico_actors::event::Observer;
use portico_actors::principal::Principal;
use portico_actors::source::{self, Locator, Settings};
use portico_actors::sql::Dialect;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::{Config, Connection};
use crate::mcp::sessions::Sessions;
use crate::observe::Metrics;

/// Everything a handler may reach.
pub struct App {
    /// What the service was configured with.
    pub config: Config,
    /// The connections.
    pub directory: Directory,
    /// Who issues and validates tokens.
    pub auth: Addr<AuthActor>,
    /// Takes every event.
    pub observer: Observer,
    /// Counts them.
    pub metrics: Arc<Metrics>,
    /// The MCP sessions of the 2025 revisions.
    pub sessions: Sessions,
    settings: HashMap<Uuid, Arc<Connection>>,
    attempted: AtomicBool,
    draining: CancellationToken,
    /// One for each request that may be worked on.
    slots: Arc<Semaphore>,
}

impl App {
    /// Opens the store and starts every actor. Must run inside an actix system. No source is
    /// waited for: a database that is away does not stop the service.
    ///
    /// # Errors
    /// When the store cannot be opened, or a source's address cannot be understood.
    pub async fn start(config: Config, observer: Observer) -> Result<Arc<Self>> {
        let metrics = Arc::new(Metrics::default());
        let observer: Observer = {
            let metrics = Arc::clone(&metrics);
            Arc::new(move |event| {
                metrics.count(event);
                observer(event);
            })
        };
        let mut connections = Vec::with_capacity(config.connections.len());
        for connection in &config.connections {
            connections.push(open(connection)?);
        }
        let mut auth = AuthSettings::new(&config.store.path, &config.server.public_url, Arc::clone(&observer));
        auth.token_lifetime = config.tokens.lifetime;
        let auth = AuthActor::start(auth).await?;
        let directory = Directory::start(connections, Intensity::default(), Arc::clone(&observer));
        let settings =
            config.connections.iter().map(|connection| (connection.id, Arc::new(connection.clone()))).collect();
        let slots = Arc::new(Semaphore::new(config.server.bounds.max_calls));
        Ok(Arc::new(Self {
            config,
            directory,
            auth,
            observer,
            metrics,
            sessions: Sessions::default(),
            settings,
            attempted: AtomicBool::new(false),
            draining: CancellationToken::new(),
            slots,
        }))
    }

    /// Whether every connection had its first attempt. Once true, a connection that goes away is
    /// its own matter and not the service's.
    pub fn ready(&self) -> bool {
        if !self.attempted.load(Ordering::Relaxed) && self.directory.ready() {
            self.attempted.store(true, Ordering::Relaxed);
        }
        self.attempted.load(Ordering::Relaxed) && !self.draining()
    }

    /// Whether the service is going down.
    pub fn draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Takes the service out of readiness: it is going down. Streams that would stay open end.
    pub fn drain(&self) {
        self.draining.cancel();
    }

    /// Cancelled when the service goes down.
    pub fn closing(&self) -> CancellationToken {
        self.draining.clone()
    }

    /// A place among the requests that are worked on, unless as many are as the service takes.
    pub fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    /// How many requests are worked on.
    pub fn running(&self) -> usize {
        self.config.server.bounds.max_calls - self.slots.available_permits()
    }

    /// The connections within the caller's reach, ordered by name.
    pub fn reachable(&self, by: &Principal) -> Vec<Entry> {
        let mut entries = self.directory.list();
        entries.retain(|entry| by.reach.covers(entry.id));
        entries
    }

    /// How the connection was configured.
    pub fn connection(&self, id: Uuid) -> Result<&Arc<Connection>> {
        self.settings.get(&id).ok_or_else(|| Error::internal("a connection without settings"))
    }

    /// The MCP endpoint of a connection.
    pub fn mcp_url(&self, id: Uuid) -> String {
        format!("{}/mcp/connections/{id}", self.config.server.public_url)
    }
}

/// What a source is opened with.
pub fn source_settings(connection: &Connection) -> Settings {
    Settings {
        name: Arc::clone(&connection.name),
        locator: connection.locator.clone(),
        access: connection.access,
        pool: connection.pool,
        connect_timeout: connection.connect_timeout,
        declared: Arc::clone(&connection.procedures),
    }
}

fn open(connection: &Connection) -> Result<directory::Connection> {
    let dialect = match connection.locator {
        Locator::Postgres(_) => Dialect::PostgreSql,
        Locator::Sqlite(_) => Dialect::Sqlite,
    };
    Ok(directory::Connection {
        id: connection.id,
        name: Arc::clone(&connection.name),
        source: source::narrow(source::open(source_settings(connection))?, connection.exposure.clone(), dialect),
        kind: connection.locator.source(),
        dialect,
        access: connection.access,
        permits: connection.pool,
        queue: connection.queue,
        queue_timeout: connection.queue_timeout,
        trace_comments: connection.trace_comments,
        instructions: connection.instructions.clone(),
        refresh: connection.refresh,
    })
}

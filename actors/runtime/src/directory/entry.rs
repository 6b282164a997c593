//! One connection as callers find it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use uuid::Uuid;

use super::usage::Usage;
use crate::connection::{ConnectionState, LiveConnection, PingReason, Probe, unavailable};
use crate::queue::{Load, Queue};
use portico_core::error::{Error, Kind, Result};
use portico_sources::{Access, Driver, Pool, Profile, Source};

/// The delay reported to callers of a connection that was given up: only a restart of the service brings it back.
const GIVEN_UP_DELAY: Duration = Duration::from_mins(1);

/// One connection as callers find it.
#[derive(Clone)]
pub struct ConnectionEntry {
    /// Addresses it in URLs.
    pub id: Uuid,
    /// The first part of `connection.schema.table`.
    pub name: Arc<str>,
    /// The driver of its database.
    pub driver: &'static Driver,
    /// Whether it may write.
    pub access: Access,
    /// The digest of its declaration.
    pub fingerprint: u64,
    pub(super) state: Arc<EntryState>,
}

/// The state of a connection, for callers that have looked it up.
pub(super) struct EntryState {
    pub(super) queue: Arc<Queue>,
    pub(super) source: Option<Arc<dyn Source>>,
    pub(super) state: watch::Receiver<ConnectionState>,
    pub(super) slot: ActorSlot,
    pub(super) usage: Arc<Usage>,
}

/// The actor of an entry.
#[derive(Clone)]
pub(super) enum ActorSlot {
    /// None: the next use starts an actor.
    Idle,
    Alive(Arc<LiveConnection>),
    /// A fresh actor is started at that time.
    Replaced(Instant),
    /// It has died too often.
    GivenUp,
}

impl ConnectionEntry {
    /// One word: `idle`, `connecting`, `up`, `down`, `restarting` or `failed`.
    pub fn status(&self) -> &'static str {
        match self.state.slot {
            ActorSlot::Idle => "idle",
            ActorSlot::Alive(_) => self.state.state.borrow().as_str(),
            ActorSlot::Replaced(_) => "restarting",
            ActorSlot::GivenUp => "failed",
        }
    }

    /// Whether it waits for its next use, and holds no session until then.
    pub fn is_idle(&self) -> bool {
        matches!(self.state.slot, ActorSlot::Idle)
    }

    /// Returns the actor that takes its calls.
    pub(super) fn actor(&self) -> Result<&Arc<LiveConnection>> {
        match &self.state.slot {
            ActorSlot::Alive(connection) => Ok(connection),
            ActorSlot::Idle => Err(unavailable(&self.name, Instant::now(), None)),
            ActorSlot::Replaced(until) => Err(unavailable(&self.name, *until, None)),
            ActorSlot::GivenUp => Err(Error::new(Kind::Unavailable, format!("connection {} has failed", self.name))
                .retry_after(GIVEN_UP_DELAY)
                .hint("an administrator has to look at it; the log tells why")),
        }
    }

    /// How many calls run and how many wait.
    pub fn load(&self) -> Load {
        self.state.queue.load()
    }

    /// Returns the number of sessions open at the source; `None` if the source has no pool, and while the
    /// connection is idle.
    pub fn pool(&self) -> Option<Pool> {
        self.state.source.as_ref()?.pool()
    }

    /// Returns the source's profile as last read; `None` until it first answered, and while it is unavailable or
    /// idle.
    pub fn profile(&self) -> Option<Arc<Profile>> {
        match &*self.state.state.borrow() {
            ConnectionState::Up(profile) => Some(Arc::clone(profile)),
            _ => None,
        }
    }

    /// Returns how often the source was read; anything derived earlier may be outdated.
    pub fn refreshes(&self) -> u64 {
        match &self.state.slot {
            ActorSlot::Alive(connection) => connection.refreshes(),
            _ => 0,
        }
    }

    /// Returns true if no first attempt to reach the source is in progress: it has ended, or waits for the first
    /// use.
    pub fn attempted(&self) -> bool {
        !matches!(self.state.slot, ActorSlot::Alive(_))
            || !matches!(*self.state.state.borrow(), ConnectionState::Connecting)
    }

    /// Returns a receiver of the connection's state.
    pub fn watch(&self) -> watch::Receiver<ConnectionState> {
        self.state.state.clone()
    }

    pub(super) fn on_catalog_changed(&self) {
        if let ActorSlot::Alive(connection) = &self.state.slot {
            connection.monitor.do_send(Probe(PingReason::Told));
        }
    }

    /// Completes when no first attempt is in progress.
    pub(super) async fn settled(&self) {
        // An actor that died has ended its attempt too.
        let _ = self.watch().wait_for(|state| !matches!(state, ConnectionState::Connecting)).await;
    }
}

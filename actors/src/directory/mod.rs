//! The supervisor: one [`ConnectionActor`] for each connection, each watched and restarted on its
//! own, and a snapshot in which callers look them up without a hop.

mod idle;
mod snapshot;
mod supervisor;
mod usage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::watch;
use uuid::Uuid;

use crate::beat::Beat;
use crate::call::{Call, Limits, Notices, Op, Origin};
use crate::connection::{ConnectionActor, Look, State, Why, unavailable};
use crate::error::{Error, Kind, Result};
use crate::event::Observer;
use crate::identity::Mapping;
use crate::principal::Principal;
use crate::queue::{Load, Queue};
use crate::reply::Reply;
use crate::source::{Access, Open, Pool, Profile, Source};
use crate::sql::Dialect;

use idle::{Wake, gone};
use snapshot::Snapshot;
use supervisor::{Drain, Reload, Supervisor};
use usage::Usage;

pub use usage::InUse;

/// What callers of a connection that was given up are told to wait: only a restart of the service
/// brings it back.
const GIVEN_UP_DELAY: Duration = Duration::from_mins(1);

/// What the Directory needs to run one connection.
#[derive(Clone)]
pub struct Connection {
    /// Addresses it in URLs.
    pub id: Uuid,
    /// The first part of `connection.schema.table`.
    pub name: Arc<str>,
    /// Makes its source: its database behind a driver.
    pub open: Open,
    /// One word for listings: the driver's name.
    pub kind: &'static str,
    /// Whose SQL it speaks.
    pub dialect: Dialect,
    /// Whether it may write at all.
    pub access: Access,
    /// Calls that may run at once.
    pub permits: usize,
    /// How many of these one caller may have; absent: all but one, and at least one.
    pub share: Option<usize>,
    /// Calls that may wait for a permit.
    pub queue: usize,
    /// How long a call may wait for its turn.
    pub queue_timeout: Duration,
    /// How long a reader may take nothing of an answer whose statement still runs.
    pub reader_timeout: Duration,
    /// Whether statements carry the caller's trace as a comment.
    pub trace_comments: bool,
    /// The administrator's own words for `get_instructions`.
    pub instructions: Option<String>,
    /// How often the source is asked for a sign of life, and its profile read anew.
    pub refresh: Duration,
    /// Which role each caller has at the source; absent where all share the connection's own user.
    pub identity: Option<Arc<Mapping>>,
    /// When it is started.
    pub start: Start,
    /// How long nobody uses it until it lets go of its sessions; absent means never.
    pub idle_timeout: Option<Duration>,
}

/// When a connection is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// With the service.
    #[default]
    Eager,
    /// With its first use; until then it is idle.
    Lazy,
}

impl Connection {
    /// How often the source is looked at, unless configured.
    pub const DEFAULT_REFRESH: Duration = Duration::from_secs(30);
    /// How long a call may wait for its turn, unless configured.
    pub const DEFAULT_QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
    /// How long an answer waits for its reader, unless configured.
    pub const DEFAULT_READER_TIMEOUT: Duration = Duration::from_secs(30);
}

/// How often an actor may die before the supervisor gives up, and how fast it is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Intensity {
    /// Deaths within [`Intensity::within`] after which the supervisor gives up.
    pub deaths: usize,
    /// The time in which deaths are counted.
    pub within: Duration,
    /// The first delay before a fresh actor is started; it doubles with each death.
    pub backoff: Duration,
}

impl Default for Intensity {
    fn default() -> Self {
        Self { deaths: 5, within: Duration::from_secs(60), backoff: Duration::from_millis(100) }
    }
}

/// One connection as callers find it.
#[derive(Clone)]
pub struct Entry {
    /// Addresses it in URLs.
    pub id: Uuid,
    /// The first part of `connection.schema.table`.
    pub name: Arc<str>,
    /// One word for listings: the driver's name.
    pub kind: &'static str,
    /// Whether it may write at all.
    pub access: Access,
    standing: Arc<Standing>,
}

/// How a connection stands, for those who found it.
struct Standing {
    queue: Arc<Queue>,
    source: Option<Arc<dyn Source>>,
    state: watch::Receiver<State>,
    occupant: Occupant,
    usage: Arc<Usage>,
}

/// Who answers for an entry.
#[derive(Clone)]
enum Occupant {
    /// Nobody: the next use starts an actor.
    Idle,
    Alive(Addr<ConnectionActor>),
    /// A fresh actor is started at that time.
    Replaced(Instant),
    /// It has died too often.
    GivenUp,
}

impl Entry {
    /// One word: `idle`, `connecting`, `up`, `down`, `restarting` or `failed`.
    pub fn status(&self) -> &'static str {
        match self.standing.occupant {
            Occupant::Idle => "idle",
            Occupant::Alive(_) => self.standing.state.borrow().word(),
            Occupant::Replaced(_) => "restarting",
            Occupant::GivenUp => "failed",
        }
    }

    /// Whether it waits for its next use, and holds no session until then.
    pub fn is_idle(&self) -> bool {
        matches!(self.standing.occupant, Occupant::Idle)
    }

    /// How many calls run and how many wait.
    pub fn load(&self) -> Load {
        self.standing.queue.load()
    }

    /// The sessions that are open at the source; `None` where a source has none to count, and while
    /// the connection is idle.
    pub fn pool(&self) -> Option<Pool> {
        self.standing.source.as_ref()?.pool()
    }

    /// What the source said of itself when it was last asked; `None` until it first answered and
    /// while it is away or idle.
    pub fn profile(&self) -> Option<Arc<Profile>> {
        match &*self.standing.state.borrow() {
            State::Up(profile) => Some(Arc::clone(profile)),
            _ => None,
        }
    }

    /// Whether no first attempt to reach the source is under way: it has ended, one way or the
    /// other, or it waits for the first use.
    pub fn attempted(&self) -> bool {
        !matches!(self.standing.occupant, Occupant::Alive(_))
            || !matches!(*self.standing.state.borrow(), State::Connecting)
    }

    /// Completes when the connection's state differs from the one seen last.
    pub fn watch(&self) -> watch::Receiver<State> {
        self.standing.state.clone()
    }

    fn on_catalog_changed(&self) {
        if let Occupant::Alive(address) = &self.standing.occupant {
            address.do_send(Look(Why::Told));
        }
    }

    /// Completes when no first attempt is under way.
    async fn settled(&self) {
        // An actor that died has ended its attempt too.
        let _ = self.watch().wait_for(|state| !matches!(state, State::Connecting)).await;
    }
}

/// The front of the supervisor: looks up without a hop, sends with one.
#[derive(Clone)]
pub struct Directory {
    snapshot: Arc<ArcSwap<Snapshot>>,
    supervisor: Addr<Supervisor>,
    beats: Arc<[Beat]>,
    /// Counts what was announced.
    revision: watch::Sender<u64>,
}

impl Directory {
    /// Starts a supervisor and one actor for each connection. Must run inside an actix system.
    pub fn start(connections: Vec<Connection>, intensity: Intensity, observer: Observer) -> Self {
        let snapshot = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        let (supervisor, beats) = Supervisor::start(connections, intensity, Arc::clone(&snapshot), observer);
        Self { snapshot, supervisor, beats, revision: watch::Sender::new(0) }
    }

    /// Starts an actor for each of `start`, in the place of the one with the same id where there is
    /// one, and ends those of `remove`. The old actors' calls go on to their end under the old
    /// settings; all others are not concerned.
    ///
    /// Completes when each new actor had its first attempt; until then the old one answers.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub async fn reload(&self, start: Vec<Connection>, remove: Vec<Uuid>) -> Result<()> {
        self.supervisor.send(Reload { start, remove }).await.map_err(Error::internal)
    }

    /// Has the source of a connection looked at, because another process says that its catalogue has
    /// changed. One that is idle or gone is let alone: its next use reads everything anew.
    pub fn on_catalog_changed(&self, id: Uuid) {
        if let Some(entry) = self.get(id) {
            entry.on_catalog_changed();
        }
    }

    /// The same for every connection: any of them may have changed.
    pub fn on_any_catalog_changed(&self) {
        for entry in self.list() {
            entry.on_catalog_changed();
        }
    }

    /// Tells those who watch [`Directory::revised`] to look again at what they know of a connection.
    pub fn announce(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    /// Changes with each announcement.
    pub fn revised(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// The signs of life of the threads that the actors live on.
    pub fn beats(&self) -> &[Beat] {
        &self.beats
    }

    /// The connection with this id.
    pub fn get(&self, id: Uuid) -> Option<Entry> {
        self.snapshot.load().get(id)
    }

    /// The connection with this name, in any case.
    pub fn named(&self, name: &str) -> Option<Entry> {
        self.snapshot.load().named(name)
    }

    /// Every connection, ordered by name.
    pub fn list(&self) -> Vec<Entry> {
        self.snapshot.load().entries().collect()
    }

    /// Those connections that `wanted` is true of, ordered by name.
    pub fn list_of(&self, wanted: impl Fn(Uuid) -> bool) -> Vec<Entry> {
        self.snapshot.load().entries_of(wanted).collect()
    }

    /// Whether every connection had its first attempt, or waits for its first use.
    pub fn ready(&self) -> bool {
        self.snapshot.load().entries().all(|entry| entry.attempted())
    }

    /// Completes when every connection that is there now had its first attempt, or waits for its
    /// first use.
    pub async fn settled(&self) {
        for entry in self.list() {
            entry.settled().await;
        }
    }

    /// The connection as it is now, started if it was idle, once its first attempt has ended; and
    /// what keeps it from becoming idle until that is dropped.
    ///
    /// # Errors
    /// When it was removed, or everything ends.
    pub async fn hold(&self, entry: &Entry) -> Result<(Entry, InUse)> {
        let (entry, in_use) = self.begin(entry).await?;
        entry.settled().await;
        Ok((entry, in_use))
    }

    /// The connection as it is now, started if it was idle.
    async fn begin(&self, entry: &Entry) -> Result<(Entry, InUse)> {
        // It cannot become idle from here on, and the entry can be older than the actor that answers now.
        let in_use = entry.standing.usage.begin();
        let found = self.get(entry.id).ok_or_else(|| gone(&entry.name))?;
        match in_use {
            Some(in_use) if !found.is_idle() => Ok((found, in_use)),
            _ => {
                let wake = Wake { id: entry.id, name: Arc::clone(&entry.name) };
                self.supervisor.send(wake).await.map_err(|_| unavailable(&entry.name, Instant::now()))?
            }
        }
    }

    /// Asks `entry`'s actor, and tells it when the caller stops waiting: dropping this future
    /// cancels the call at the source.
    pub async fn ask(
        &self,
        entry: &Entry,
        origin: impl Into<Origin>,
        by: Arc<Principal>,
        op: Op,
        limits: Limits,
    ) -> Result<Reply> {
        self.ask_hearing(entry, origin, by, op, limits, None).await
    }

    /// The same, where `notices` hears what the source says meanwhile.
    pub async fn ask_hearing(
        &self,
        entry: &Entry,
        origin: impl Into<Origin>,
        by: Arc<Principal>,
        op: Op,
        limits: Limits,
        notices: Option<Notices>,
    ) -> Result<Reply> {
        let (entry, in_use) = self.begin(entry).await?;
        let address = match &entry.standing.occupant {
            Occupant::Alive(address) => address,
            Occupant::Idle => return Err(unavailable(&entry.name, Instant::now())),
            Occupant::Replaced(until) => return Err(unavailable(&entry.name, *until)),
            Occupant::GivenUp => {
                return Err(Error::new(Kind::Unavailable, format!("connection {} has failed", entry.name))
                    .retry_after(GIVEN_UP_DELAY)
                    .hint("an administrator has to look at it; the log tells why"));
            }
        };
        // What loses its credential is abandoned as what loses its client.
        let abandoned = by.validity.child_token();
        let guard = abandoned.clone().drop_guard();
        let call = Call { origin: origin.into(), by: by.at(entry.id), op, limits, abandoned, notices };
        let reply = match address.send(call).await {
            Ok(reply) => reply,
            // The call's own future panicked, or the whole actor did.
            Err(_) if address.connected() => Err(Error::internal("a call ended without an answer")),
            Err(_) => Err(unavailable(&entry.name, Instant::now())),
        };
        // From here on the results' own drop cancels.
        guard.disarm();
        reply.map(|reply| match reply {
            Reply::Results(results) => Reply::Results(results.keep(in_use)),
            reply @ Reply::Text(_) => reply,
        })
    }

    /// Ends every actor after its source has let go of its sessions, or at the deadline.
    pub async fn drain(&self, deadline: Duration) {
        let _ = tokio::time::timeout(deadline, self.supervisor.send(Drain)).await;
    }
}

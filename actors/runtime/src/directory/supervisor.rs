//! Starts, watches and restarts the connections' monitors; the actors of the threads are started by their
//! connection. A monitor that panics is gone for good in actix: its end is reported here, and a new one takes its
//! place after a backoff.

use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use actix::prelude::*;
use arc_swap::ArcSwap;
use futures_util::future::join_all;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::entry::{ActorSlot, ConnectionEntry, EntryState};
use super::snapshot::Snapshot;
use super::usage::Usage;
use crate::connection::{
    Close, ConnectionMonitor, ConnectionSpec, ConnectionState, Description, ExitNotifier, Intensity, LiveConnection,
    Names, Runner,
};
use crate::queue::Queue;
use portico_core::backoff::Backoff;
use portico_core::event::{Event, Observer};
use portico_core::heartbeat::Heartbeat;
use portico_sources::{LazySource, Source};

/// The maximal number of threads that the monitors share, however many cores there are.
const MOST_ARBITERS: usize = 64;
/// The longest delay before a new monitor is started.
const RESTART_MAX: Duration = Duration::from_secs(30);
/// Sources that are made at once: it may take reading files, on threads of their own.
const OPENINGS: usize = 4;

/// Supervises every connection, each on its own.
pub(crate) struct Supervisor {
    pub(super) children: HashMap<Uuid, Child>,
    pub(super) arbiters: Vec<Arbiter>,
    pub(super) intensity: Intensity,
    snapshot: Arc<ArcSwap<Snapshot>>,
    pub(super) names: Names,
    openings: Arc<Semaphore>,
    pub(super) observer: Observer,
    /// Monitors that were replaced, and whose calls are not over.
    pub(super) retired: Vec<Addr<ConnectionMonitor>>,
    /// The number of monitors started so far, which distinguishes each one from its successor.
    pub(super) started: u64,
    pub(super) draining: bool,
}

pub(super) struct Child {
    pub(super) description: Arc<Description>,
    deaths: VecDeque<Instant>,
    backoff: Backoff,
    pub(super) slot: ActorSlot,
    /// The number of its monitor.
    pub(super) number: u64,
    /// Its actor's; absent while it is idle.
    pub(super) source: Option<Arc<dyn Source>>,
    pub(super) state: watch::Receiver<ConnectionState>,
    /// Which of the arbiters it lives on.
    pub(super) arbiter: usize,
    /// Whether callers find it: not before everything of a reload is in force.
    pub(super) in_force: bool,
    /// What callers find until then, if anything.
    pub(super) previous: Option<ConnectionEntry>,
    pub(super) usage: Arc<Usage>,
}

/// Returns how many threads the monitors share on a machine with so many cores: one each, and never fewer than two,
/// so that a busy one does not block all others.
fn arbiters(cores: Option<NonZero<usize>>) -> usize {
    cores.map_or(2, NonZero::get).clamp(2, MOST_ARBITERS)
}

impl Supervisor {
    pub(super) fn start(
        connections: Vec<ConnectionSpec>,
        intensity: Intensity,
        snapshot: Arc<ArcSwap<Snapshot>>,
        observer: Observer,
    ) -> (Addr<Self>, Arc<[Heartbeat]>) {
        let arbiters: Vec<_> = (0..arbiters(available_parallelism().ok())).map(|_| Arbiter::new()).collect();
        let named =
            |(index, arbiter): (usize, &Arbiter)| Heartbeat::start(&arbiter.handle(), format!("connections-{index}"));
        let beats = arbiters.iter().enumerate().map(named).collect();
        let address = Self::create(|ctx| {
            let mut supervisor = Self {
                children: HashMap::new(),
                arbiters,
                intensity,
                snapshot,
                names: Names::default(),
                openings: Arc::new(Semaphore::new(OPENINGS)),
                observer,
                retired: Vec::new(),
                started: 0,
                draining: false,
            };
            for connection in connections {
                let id = connection.id;
                supervisor.adopt(connection, ctx);
                supervisor.reveal(id);
            }
            // Callers look up from the first moment on.
            supervisor.publish_all();
            supervisor
        });
        (address, beats)
    }

    /// Starts a fresh actor for the connection.
    pub(super) fn start_actor(&mut self, id: Uuid, ctx: &mut Context<Self>) {
        let Some(child) = self.children.get_mut(&id) else { return };
        let Some(arbiter) = self.arbiters.get(child.arbiter) else { return };
        let (state, watched) = watch::channel(ConnectionState::Connecting);
        child.state = watched;
        self.started += 1;
        let number = self.started;
        child.number = number;
        let supervisor = ctx.address();
        let exit = ExitNotifier(Some(Box::new(move |panicked| supervisor.do_send(Died { id, number, panicked }))));
        let description = Arc::clone(&child.description);
        let (open, openings) = (&child.description.connection.open, &self.openings);
        let lazy = || Arc::new(LazySource::new(Arc::clone(open), Arc::clone(openings))) as Arc<dyn Source>;
        // The sessions of an actor that died are as good as before.
        let source = Arc::clone(child.source.get_or_insert_with(lazy));
        let observer = Arc::clone(&self.observer);
        let runner = Arc::new(Runner::new(description, source));
        let (ended, watched) = (CancellationToken::new(), child.state.clone());
        let (own, ends) = (Arc::clone(&runner), ended.clone());
        let monitor = ConnectionMonitor::start_in_arbiter(&arbiter.handle(), move |_| {
            ConnectionMonitor::new(own, state, observer, exit, ends)
        });
        child.slot = ActorSlot::Alive(Arc::new(LiveConnection::new(monitor, runner, watched, ended)));
        if let Some(timeout) = child.connection().idle_timeout {
            Self::look_later(id, number, timeout, ctx);
        }
    }

    /// Publishes one connection in its current state.
    pub(super) fn publish(&self, id: Uuid) {
        if let Some(child) = self.children.get(&id)
            && let Some(entry) = child.found()
            && !self.snapshot.load().put(entry)
        {
            self.publish_all();
        }
    }

    /// Publishes the list of connections.
    pub(super) fn publish_all(&self) {
        let found: Vec<ConnectionEntry> = self.children.values().filter_map(Child::found).collect();
        self.names.store(Arc::new(found.iter().map(|entry| Arc::clone(&entry.name)).collect()));
        self.snapshot.store(Arc::new(Snapshot::new(found.into_iter())));
    }
}

impl Child {
    pub(super) fn new(
        connection: ConnectionSpec,
        names: Names,
        arbiter: usize,
        intensity: Intensity,
        usage: Arc<Usage>,
    ) -> Self {
        let queue = Queue::new(connection.permits, connection.share, connection.queue);
        let seed = u64::from_le_bytes(connection.id.as_bytes()[..8].try_into().unwrap_or_default());
        Self {
            description: Arc::new(Description { connection, names, queue }),
            deaths: VecDeque::new(),
            backoff: Backoff::new(intensity.backoff, RESTART_MAX, seed),
            slot: ActorSlot::Idle,
            number: 0,
            source: None,
            state: watch::channel(ConnectionState::Connecting).1,
            arbiter,
            in_force: false,
            previous: None,
            usage,
        }
    }

    pub(super) fn connection(&self) -> &ConnectionSpec {
        &self.description.connection
    }

    /// Returns the entry that callers find, if they find any.
    pub(super) fn found(&self) -> Option<ConnectionEntry> {
        if self.in_force { Some(self.entry()) } else { self.previous.clone() }
    }

    pub(super) fn entry(&self) -> ConnectionEntry {
        let connection = self.connection();
        ConnectionEntry {
            id: connection.id,
            name: Arc::clone(&connection.name),
            driver: connection.driver,
            access: connection.access,
            fingerprint: connection.fingerprint,
            state: Arc::new(EntryState {
                queue: Arc::clone(&self.description.queue),
                source: self.source.clone(),
                state: self.state.clone(),
                slot: self.slot.clone(),
                usage: Arc::clone(&self.usage),
            }),
        }
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;
}

/// A connection's actor is gone.
#[derive(Message)]
#[rtype(result = "()")]
struct Died {
    id: Uuid,
    number: u64,
    panicked: bool,
}

impl Handler<Died> for Supervisor {
    type Result = ();

    fn handle(&mut self, died: Died, ctx: &mut Self::Context) {
        if self.draining {
            return;
        }
        // The end of a retired or removed one is expected.
        let Some(child) = self.children.get_mut(&died.id).filter(|child| child.number == died.number) else { return };
        let now = Instant::now();
        child.deaths.push_back(now);
        while child.deaths.front().is_some_and(|death| now.duration_since(*death) > self.intensity.within) {
            child.deaths.pop_front();
        }
        if child.deaths.len() == 1 {
            child.backoff.reset();
        }
        let restart_in = (child.deaths.len() < self.intensity.deaths).then(|| child.backoff.delay());
        child.slot = match restart_in {
            Some(delay) => ActorSlot::Replaced(now + delay),
            None => ActorSlot::GivenUp,
        };
        (self.observer)(&Event::ConnectionDied {
            name: Arc::clone(&child.connection().name),
            panicked: died.panicked,
            restart_in,
        });
        self.publish(died.id);
        if let Some(delay) = restart_in {
            ctx.run_later(delay, move |supervisor, ctx| {
                let waits = supervisor.children.get(&died.id).is_some_and(|child| child.number == died.number);
                if waits && !supervisor.draining {
                    supervisor.start_actor(died.id, ctx);
                    supervisor.publish(died.id);
                }
            });
        }
    }
}

/// No more restarts; every source lets go of its sessions.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Drain;

impl Handler<Drain> for Supervisor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Drain, _: &mut Self::Context) -> Self::Result {
        self.draining = true;
        let mut actors = std::mem::take(&mut self.retired);
        for child in self.children.values() {
            let previous = child.previous.as_ref().map(|entry| &entry.state.slot);
            for slot in [Some(&child.slot), previous].into_iter().flatten() {
                if let ActorSlot::Alive(connection) = slot {
                    actors.push(connection.monitor.clone());
                }
            }
        }
        let closing: Vec<_> = actors.iter().map(|address| address.send(Close)).collect();
        Box::pin(join_all(closing).into_actor(self).map(|_, supervisor, _| {
            for arbiter in &supervisor.arbiters {
                arbiter.stop();
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_threads_as_cores() {
        let of = |cores| arbiters(NonZero::new(cores));
        assert_eq!([of(0), of(1), of(2), of(8), of(1_000)], [2, 2, 2, 8, MOST_ARBITERS]);
    }
}

//! Starts, watches and restarts the connections' actors. An actor that panics is gone for good in
//! actix; its obituary arrives here, and a fresh one takes its place after a backoff.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::watch;
use uuid::Uuid;

use super::{Connection, Entry, Intensity, Occupant, Snapshot};
use crate::backoff::Backoff;
use crate::connection::{Close, ConnectionActor, Description, Obituary, State};
use crate::event::{Event, Observer};
use crate::queue::Queue;

/// Threads that the connections' actors share.
const ARBITERS: usize = 2;
/// The longest delay before a fresh actor is started.
const RESTART_MAX: Duration = Duration::from_secs(30);

/// Supervises every connection, each on its own.
pub(crate) struct Supervisor {
    children: HashMap<Uuid, Child>,
    arbiters: Vec<Arbiter>,
    intensity: Intensity,
    snapshot: Arc<ArcSwap<Snapshot>>,
    observer: Observer,
    draining: bool,
}

struct Child {
    connection: Connection,
    description: Arc<Description>,
    deaths: VecDeque<Instant>,
    backoff: Backoff,
    occupant: Occupant,
    state: watch::Receiver<State>,
    /// Which of the arbiters it lives on.
    arbiter: usize,
}

impl Supervisor {
    pub(super) fn start(
        connections: Vec<Connection>,
        intensity: Intensity,
        snapshot: Arc<ArcSwap<Snapshot>>,
        observer: Observer,
    ) -> Addr<Self> {
        Self::create(|ctx| {
            let names: Vec<Arc<str>> = connections.iter().map(|connection| Arc::clone(&connection.name)).collect();
            let mut supervisor = Self {
                children: HashMap::new(),
                arbiters: (0..ARBITERS.min(connections.len())).map(|_| Arbiter::new()).collect(),
                intensity,
                snapshot,
                observer,
                draining: false,
            };
            for (index, connection) in connections.into_iter().enumerate() {
                let child = Child::new(connection, &names, index % ARBITERS, intensity);
                supervisor.children.insert(child.connection.id, child);
            }
            let ids: Vec<Uuid> = supervisor.children.keys().copied().collect();
            for id in ids {
                supervisor.occupy(id, &ctx.address());
            }
            // Callers look up from the first moment on.
            supervisor.publish();
            supervisor
        })
    }

    /// Starts a fresh actor for the connection.
    fn occupy(&mut self, id: Uuid, own: &Addr<Self>) {
        let Some(child) = self.children.get_mut(&id) else { return };
        let Some(arbiter) = self.arbiters.get(child.arbiter) else { return };
        let (state, watched) = watch::channel(State::Connecting);
        child.state = watched;
        let supervisor = own.clone();
        let obituary = Obituary(Some(Box::new(move |panicked| supervisor.do_send(Died { id, panicked }))));
        let description = Arc::clone(&child.description);
        let source = Arc::clone(&child.connection.source);
        let observer = Arc::clone(&self.observer);
        let address = ConnectionActor::start_in_arbiter(&arbiter.handle(), move |_| {
            ConnectionActor::new(description, source, state, observer, obituary)
        });
        child.occupant = Occupant::Alive(address);
    }

    fn publish(&self) {
        let snapshot = self
            .children
            .iter()
            .map(|(id, child)| {
                let entry = Entry {
                    id: *id,
                    name: Arc::clone(&child.connection.name),
                    kind: child.connection.kind,
                    access: child.connection.access,
                    queue: Arc::clone(&child.description.queue),
                    source: Arc::clone(&child.connection.source),
                    state: child.state.clone(),
                    occupant: child.occupant.clone(),
                };
                (*id, entry)
            })
            .collect();
        self.snapshot.store(Arc::new(snapshot));
    }
}

impl Child {
    fn new(connection: Connection, names: &[Arc<str>], arbiter: usize, intensity: Intensity) -> Self {
        let others = names.iter().filter(|name| **name != connection.name).map(ToString::to_string).collect();
        let description = Description {
            name: Arc::clone(&connection.name),
            dialect: connection.dialect,
            access: connection.access,
            others,
            queue: Queue::new(connection.permits, connection.queue),
            queue_timeout: connection.queue_timeout,
            trace_comments: connection.trace_comments,
            instructions: connection.instructions.clone(),
            refresh: connection.refresh,
        };
        let seed = u64::from_le_bytes(connection.id.as_bytes()[..8].try_into().unwrap_or_default());
        Self {
            description: Arc::new(description),
            deaths: VecDeque::new(),
            backoff: Backoff::new(intensity.backoff, RESTART_MAX, seed),
            occupant: Occupant::GivenUp,
            state: watch::channel(State::Connecting).1,
            arbiter,
            connection,
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
    panicked: bool,
}

impl Handler<Died> for Supervisor {
    type Result = ();

    fn handle(&mut self, died: Died, ctx: &mut Self::Context) {
        if self.draining {
            return;
        }
        let Some(child) = self.children.get_mut(&died.id) else { return };
        let now = Instant::now();
        child.deaths.push_back(now);
        while child.deaths.front().is_some_and(|death| now.duration_since(*death) > self.intensity.within) {
            child.deaths.pop_front();
        }
        if child.deaths.len() == 1 {
            child.backoff.reset();
        }
        let restart_in = (child.deaths.len() < self.intensity.deaths).then(|| child.backoff.delay());
        child.occupant = match restart_in {
            Some(delay) => Occupant::Replaced(now + delay),
            None => Occupant::GivenUp,
        };
        (self.observer)(&Event::ConnectionDied {
            name: Arc::clone(&child.connection.name),
            panicked: died.panicked,
            restart_in,
        });
        self.publish();
        if let Some(delay) = restart_in {
            ctx.run_later(delay, move |supervisor, ctx| {
                if !supervisor.draining {
                    supervisor.occupy(died.id, &ctx.address());
                    supervisor.publish();
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
        let closing: Vec<_> = self
            .children
            .values()
            .filter_map(|child| match &child.occupant {
                Occupant::Alive(address) => Some(address.send(Close)),
                _ => None,
            })
            .collect();
        Box::pin(futures_util::future::join_all(closing).into_actor(self).map(|_, supervisor, _| {
            for arbiter in &supervisor.arbiters {
                arbiter.stop();
            }
        }))
    }
}

//! Admits a connection's calls, on one thread: each thread that takes requests has an actor of its own for each
//! connection that they go to, so that no call changes threads. The state of the source, the permits and the
//! sessions are shared by all of them. The call itself runs in `run`, outside the actor's context, so that no
//! failure there can reach the actor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use actix::prelude::*;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::connection::calls::runner::Runner;
use crate::connection::description::Description;
use crate::connection::monitor::{ConnectionMonitor, PingReason, Probe};
use crate::connection::state::{ConnectionState, changed, unavailable};
use portico_core::call::Call;
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::{Reply, Results};
use portico_sources::{Profile, in_local_set};
use portico_sql::Class;

thread_local! {
    /// This thread's actors, by the address of their [`LiveConnection`]. Each actor holds its own, so that no other one
    /// has the same address meanwhile.
    static ACTORS: RefCell<HashMap<usize, Addr<ConnectionActor>>> = RefCell::default();
}

/// One connection as all threads share it while it lives.
pub(crate) struct LiveConnection {
    pub(crate) monitor: Addr<ConnectionMonitor>,
    runner: Arc<Runner>,
    state: watch::Receiver<ConnectionState>,
    /// Cancelled when the monitor ends.
    ended: CancellationToken,
}

impl LiveConnection {
    /// Shares the connection that `monitor` watches; it takes calls until `ended` is cancelled.
    pub(crate) fn new(
        monitor: Addr<ConnectionMonitor>,
        runner: Arc<Runner>,
        state: watch::Receiver<ConnectionState>,
        ended: CancellationToken,
    ) -> Self {
        Self { monitor, runner, state, ended }
    }

    /// Has this thread's actor carry out `call`.
    ///
    /// # Errors
    /// As the call, and when the connection has ended.
    pub(crate) async fn call(self: &Arc<Self>, call: Call) -> Result<Reply> {
        if self.ended.is_cancelled() {
            return Err(self.gone());
        }
        let address = self.actor();
        match address.send(call).await {
            Ok(reply) => reply,
            // The call's own future panicked, or the actor has ended.
            Err(_) if address.connected() => Err(Error::internal("a call ended without an answer")),
            Err(_) => Err(self.gone()),
        }
    }

    /// Returns the error for a call that waits here when the monitor has ended.
    fn gone(&self) -> Error {
        let Description { connection, queue, .. } = &*self.runner.description;
        if queue.is_closed() { changed(&connection.name) } else { unavailable(&connection.name, Instant::now(), None) }
    }

    /// How often the source was read.
    pub(crate) fn refreshes(&self) -> u64 {
        self.runner.refreshes.load(Ordering::Acquire)
    }

    fn place(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// This thread's actor.
    fn actor(self: &Arc<Self>) -> Addr<ConnectionActor> {
        let known = ACTORS.with_borrow(|actors| actors.get(&self.place()).filter(|actor| actor.connected()).cloned());
        known.unwrap_or_else(|| {
            let connection = Arc::clone(self);
            let address = ConnectionActor::start_in_arbiter(&Arbiter::current(), |ctx| ConnectionActor {
                connection,
                own: ctx.address(),
            });
            ACTORS.with_borrow_mut(|actors| actors.insert(self.place(), address.clone()));
            address
        })
    }

    /// Returns the source's profile as last read, once the first attempt has ended.
    async fn profile(&self) -> Result<Arc<Profile>> {
        if let ConnectionState::Up(profile) = &*self.state.borrow() {
            return Ok(Arc::clone(profile));
        }
        // The first attempt is bounded by the connect timeout, so this wait is too.
        let mut state = self.state.clone();
        let attempted = state.wait_for(|state| !matches!(state, ConnectionState::Connecting)).await;
        match &*attempted.map_err(|_| self.gone())? {
            ConnectionState::Up(profile) => Ok(Arc::clone(profile)),
            ConnectionState::Down { until, why } => {
                Err(unavailable(&self.runner.description.connection.name, *until, Some(why)))
            }
            ConnectionState::Connecting => Err(Error::internal("bug: the first attempt to connect has not ended")),
        }
    }

    async fn run(&self, call: Call) -> Result<Reply> {
        let profile = self.profile().await?;
        match self.runner.run(call, &profile).await {
            Ok(Reply::Results(results)) => {
                let changes = results.writes && changes_catalogue(&results);
                let told = self.monitor.clone();
                let results = results.on_failure(move |error| {
                    if may_be_away(error) {
                        told.do_send(Probe(PingReason::Own));
                    }
                });
                // Once the results are dropped, the statement is committed or undone.
                Ok(Reply::Results(if changes {
                    results.with_guard(ProbeOnDrop(self.monitor.clone()))
                } else {
                    results
                }))
            }
            Err(error) if may_be_away(&error) => {
                self.monitor.do_send(Probe(PingReason::Own));
                Err(error)
            }
            reply => reply,
        }
    }
}

/// Lets the calls of one thread through to one connection.
pub(crate) struct ConnectionActor {
    connection: Arc<LiveConnection>,
    own: Addr<Self>,
}

impl Actor for ConnectionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let ended = self.connection.ended.clone().cancelled_owned();
        ctx.spawn(ended.into_actor(self).map(|(), _, ctx| ctx.stop()));
    }
}

impl Drop for ConnectionActor {
    fn drop(&mut self) {
        let place = self.connection.place();
        // The thread itself may be ending.
        let _ = ACTORS.try_with(|actors| {
            let mut actors = actors.borrow_mut();
            // Another one may have taken its place.
            if actors.get(&place) == Some(&self.own) {
                actors.remove(&place);
            }
        });
    }
}

impl Handler<Call> for ConnectionActor {
    type Result = ResponseFuture<Result<Reply>>;

    fn handle(&mut self, call: Call, _: &mut Self::Context) -> Self::Result {
        let connection = Arc::clone(&self.connection);
        // An actor's futures are polled in the local set of its thread.
        Box::pin(in_local_set(async move { connection.run(call).await }))
    }
}

/// Whether a failure is a reason to ask for a sign of life: also one of time, since a source that
/// was lost without a word does not keep its own limit.
fn may_be_away(error: &Error) -> bool {
    matches!(error.kind, Kind::Unavailable | Kind::TimedOut)
}

/// Returns true if the catalogue may be different afterwards.
fn changes_catalogue(results: &Results) -> bool {
    results.class.is_some_and(|class| class == Class::Ddl.as_str() || class == Class::Other.as_str())
}

/// Has the source looked at as soon as it is dropped.
struct ProbeOnDrop(Addr<ConnectionMonitor>);

impl Drop for ProbeOnDrop {
    fn drop(&mut self) {
        self.0.do_send(Probe(PingReason::Own));
    }
}

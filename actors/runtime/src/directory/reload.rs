//! A change of the configuration while the service runs. Connections that are in use connect with their new settings
//! first; everything comes into force together when their first attempts have ended.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::watch;
use uuid::Uuid;

use super::entry::ActorSlot;
use super::supervisor::{Child, Supervisor};
use crate::connection::{ConnectionSpec, ConnectionState, Retire, Start};

/// Starts what is in use with these settings. Answered when each had its first attempt; until [`TakeOver`] callers find
/// what was there before.
#[derive(Message)]
#[rtype(result = "PreparedReload")]
pub(super) struct Prepare(pub(super) Vec<ConnectionSpec>);

/// A reload that can come into force.
pub(super) struct PreparedReload {
    started: Vec<Uuid>,
    /// Connections that are idle, or new and lazy. One of them that is used meanwhile still has its former settings.
    unused: Vec<ConnectionSpec>,
}

/// Has callers find the connections with their new settings, and those of `remove` no more. Answered when connections
/// that were started only now had their first attempt too.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct TakeOver {
    pub(super) prepared: PreparedReload,
    pub(super) remove: Vec<Uuid>,
}

/// Completes when the first attempt to connect has ended, also by the death of its actor.
async fn attempted(mut state: watch::Receiver<ConnectionState>) {
    let _ = state.wait_for(|state| !matches!(state, ConnectionState::Connecting)).await;
}

impl Handler<Prepare> for Supervisor {
    type Result = ResponseFuture<PreparedReload>;

    fn handle(&mut self, Prepare(start): Prepare, ctx: &mut Self::Context) -> Self::Result {
        let (mut started, mut unused, mut attempts) = (Vec::new(), Vec::new(), Vec::new());
        for connection in start {
            let is_used = match self.children.get(&connection.id) {
                Some(child) => !child.usage.is_idle(),
                None => connection.start == Start::Eager,
            };
            if self.draining || !is_used {
                unused.push(connection);
            } else {
                started.push(connection.id);
                attempts.extend(self.adopt(connection, ctx).map(attempted));
            }
        }
        Box::pin(join_all(attempts).map(|_| PreparedReload { started, unused }))
    }
}

impl Handler<TakeOver> for Supervisor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, TakeOver { prepared, remove }: TakeOver, ctx: &mut Self::Context) -> Self::Result {
        let mut attempts = Vec::new();
        if !self.draining {
            let PreparedReload { mut started, unused } = prepared;
            for connection in unused {
                started.push(connection.id);
                attempts.extend(self.adopt(connection, ctx).map(attempted));
            }
            let gone: Vec<Child> = remove.iter().filter_map(|id| self.children.remove(id)).collect();
            for id in started {
                self.reveal(id);
            }
            self.publish_all();
            // From here on no caller finds them.
            for child in gone {
                child.description.queue.close();
                self.retire(&child.slot);
                if let Some(previous) = child.previous {
                    previous.state.queue.close();
                    self.retire(&previous.state.slot);
                }
            }
        }
        Box::pin(join_all(attempts).map(|_| ()))
    }
}

impl Supervisor {
    /// Adds a connection that callers do not find yet, and starts its monitor unless that waits for the first use.
    /// Returns the monitor's state.
    pub(super) fn adopt(
        &mut self,
        connection: ConnectionSpec,
        ctx: &mut Context<Self>,
    ) -> Option<watch::Receiver<ConnectionState>> {
        let id = connection.id;
        let former = self.children.remove(&id);
        let arbiter = former.as_ref().map_or(self.children.len() % self.arbiters.len(), |child| child.arbiter);
        let usage = former.as_ref().map_or_else(Arc::default, |child| Arc::clone(&child.usage));
        if connection.start == Start::Eager {
            drop(usage.wake());
        }
        let mut child = Child::new(connection, Arc::clone(&self.names), arbiter, self.intensity, Arc::clone(&usage));
        if let Some(former) = former {
            child.previous = former.found();
            if !former.in_force {
                // A reload that did not come into force has left it.
                self.retire(&former.slot);
            }
        }
        self.children.insert(id, child);
        // A connection in use stays awake across a reload.
        if usage.is_idle() {
            return None;
        }
        self.start_actor(id, ctx);
        self.children.get(&id).map(|child| child.state.clone())
    }

    /// Has callers find a connection, and retires what they found before. What waits there is refused.
    pub(super) fn reveal(&mut self, id: Uuid) {
        let Some(child) = self.children.get_mut(&id) else { return };
        child.in_force = true;
        if let Some(previous) = child.previous.take() {
            self.publish(id);
            previous.state.queue.close();
            self.retire(&previous.state.slot);
        }
    }

    pub(super) fn retire(&mut self, slot: &ActorSlot) {
        self.retired.retain(Addr::connected);
        if let ActorSlot::Alive(connection) = slot {
            connection.monitor.do_send(Retire);
            self.retired.push(connection.monitor.clone());
        }
    }
}

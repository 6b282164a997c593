//! Idle connections: their actors end and their sources release everything, until the next use starts them again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::watch;
use uuid::Uuid;

use super::entry::{ActorSlot, ConnectionEntry};
use super::supervisor::Supervisor;
use super::usage::ConnectionLease;
use crate::connection::{ConnectionState, unavailable};
use portico_core::error::{Error, Result};
use portico_core::event::Event;

/// A connection is to be used: starts it if it is idle.
pub(super) struct Wake {
    pub(super) id: Uuid,
    /// For the words of a refusal.
    pub(super) name: Arc<str>,
}

impl Message for Wake {
    type Result = Result<(ConnectionEntry, ConnectionLease)>;
}

impl Handler<Wake> for Supervisor {
    type Result = Result<(ConnectionEntry, ConnectionLease)>;

    fn handle(&mut self, Wake { id, name }: Wake, ctx: &mut Self::Context) -> Self::Result {
        if self.draining {
            return Err(unavailable(&name, Instant::now(), None));
        }
        let child = self.children.get(&id).ok_or_else(|| gone(&name))?;
        // However many call at once, the first of them starts it.
        if matches!(child.slot, ActorSlot::Idle) {
            self.start_actor(id, ctx);
            self.publish(id);
        }
        // An actor is published before its connection is in use, so that a caller always finds it.
        let child = self.children.get(&id).ok_or_else(|| gone(&name))?;
        Ok((child.found().ok_or_else(|| gone(&name))?, child.usage.wake()))
    }
}

/// The failure of a call to a connection that is there no more.
pub(super) fn gone(name: &str) -> Error {
    Error::not_found(format!("connection {name} was removed from the configuration"))
}

impl Supervisor {
    /// Looks in a while whether the actor with this number is still used.
    pub(super) fn look_later(id: Uuid, number: u64, wait: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(wait, move |supervisor, ctx| supervisor.look(id, number, ctx));
    }

    fn look(&mut self, id: Uuid, number: u64, ctx: &mut Context<Self>) {
        // Another actor is looked at by itself.
        let Some(child) = self.children.get_mut(&id).filter(|child| child.number == number) else { return };
        let (Some(timeout), ActorSlot::Alive(_), false) = (child.connection().idle_timeout, &child.slot, self.draining)
        else {
            return;
        };
        // Callers or the readiness check wait for its first attempt.
        let settled = child.in_force && !matches!(*child.state.borrow(), ConnectionState::Connecting);
        match if settled { child.usage.enter_idle(timeout) } else { Err(timeout) } {
            Err(wait) => Self::look_later(id, number, wait, ctx),
            Ok(()) => {
                // This end of the actor does not count as a death.
                self.started += 1;
                child.number = self.started;
                child.source = None;
                child.state = watch::channel(ConnectionState::Connecting).1;
                let slot = std::mem::replace(&mut child.slot, ActorSlot::Idle);
                let name = Arc::clone(&child.connection().name);
                self.publish(id);
                self.retire(&slot);
                (self.observer)(&Event::ConnectionIdle { name, after: timeout });
            }
        }
    }
}

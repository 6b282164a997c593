//! The actor that owns the second connection to the store and does one job at a time. The jobs are written where
//! they are asked for.

use actix::{Actor, Arbiter, AsyncContext, Context, Handler, Message, MessageResult};

use crate::accounts::Uses;
use crate::recording::{AuditContext, Recording};
use crate::store::{ReconnectingStore, Store};
use crate::sync::lookup::report_failure;
use portico_core::error::Result;
use portico_core::event::Observer;

/// How often the uses of tokens are carried to the store.
const CARRY_EVERY: std::time::Duration = std::time::Duration::from_mins(1);

/// Owns the store's second handle, on a thread of its own.
pub(crate) struct AccountsActor {
    pub(crate) store: ReconnectingStore,
    pub(crate) uses: Uses,
    pub(crate) recording: Recording,
    pub(crate) observer: Observer,
}

impl Actor for AccountsActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(CARRY_EVERY, |actor, _| actor.carry_uses());
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.carry_uses();
        Arbiter::current().stop();
    }
}

impl AccountsActor {
    /// Runs `work` at the store. Changes of rights are recorded, or they are not made.
    pub(crate) fn work<T>(
        &mut self,
        audit_context: &AuditContext,
        work: impl FnOnce(&mut Store) -> Result<T>,
    ) -> Result<T> {
        self.recording.check()?;
        let done = self.store.with(|store| store.recorded(&self.recording, audit_context, work));
        report_failure(&self.observer, &done);
        done?
    }

    /// Writes the recorded uses of tokens. After a failure they are kept for the next attempt.
    pub(crate) fn carry_uses(&mut self) {
        let uses = self.uses.take();
        if uses.is_empty() {
            return;
        }
        let noted = self.store.with(|store| store.note_uses(&uses));
        report_failure(&self.observer, &noted);
        if noted.is_err() {
            for (digest, at) in uses {
                self.uses.note(digest, at);
            }
        }
    }
}

/// One piece of work at the store.
pub(crate) struct StoreJob<T>(pub(crate) Box<dyn FnOnce(&mut AccountsActor) -> T + Send>);

impl<T: Send + 'static> Message for StoreJob<T> {
    type Result = T;
}

impl<T: Send + 'static> Handler<StoreJob<T>> for AccountsActor {
    type Result = MessageResult<StoreJob<T>>;

    fn handle(&mut self, StoreJob(work): StoreJob<T>, _: &mut Self::Context) -> Self::Result {
        MessageResult(work(self))
    }
}

//! A session with the server, and the task that drives it.

use std::ops::Deref;
use std::sync::Arc;

use deadpool_postgres::ClientWrapper;

use super::cancel::Canceller;
use super::lending::Lent;
use super::messages::Pin;
use super::notices::MessageListener;

/// A session, with the task that drives it.
pub(crate) struct Wire {
    /// It ends its task when it is dropped. Its cache has no bound: only questions of our own go through it
    /// (`catalog/relations.rs`), what callers say is kept in `session/kept.rs`.
    pub(crate) client: ClientWrapper,
    /// Hears what the source says beside its answers.
    pub(crate) messages: Arc<MessageListener>,
    /// Cancels what runs on this session, also after it has gone.
    pub(crate) canceller: Arc<Canceller>,
    pub(crate) pin: Arc<Pin>,
    /// What its large rows were lent.
    pub(crate) lent: Arc<Lent>,
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(crate) pooled: bool,
}

impl Wire {
    /// From now on the session is closed when the source reports another encoding, or other rules for
    /// strings, than every session is told.
    pub(crate) fn pin(&self) {
        self.pin.set(self.pooled);
    }

    /// Whether what runs on it without a transaction cannot write.
    pub(crate) fn only_reads(&self) -> bool {
        !self.pooled && self.pin.only_reads()
    }
}

impl Deref for Wire {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

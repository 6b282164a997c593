//! A session with the server, and the task that drives it.

use std::ops::Deref;
use std::sync::Arc;

use deadpool_postgres::ClientWrapper;

use super::cancel::Canceller;
use super::lingering::HeldPlace;
use super::messages::PinnedSettings;
use super::notices::MessageListener;
use super::session_memory::PendingReservations;

/// A session, with the task that drives it.
pub(crate) struct DrivenClient {
    /// It ends its task when it is dropped. Its cache has no bound: only questions of our own go through it
    /// (`catalog/relations.rs`), what callers say is kept in `session/statement_cache.rs`.
    pub(crate) client: ClientWrapper,
    /// Hears what the source says beside its answers.
    pub(crate) messages: Arc<MessageListener>,
    /// Cancels what runs on this session, also after it has gone.
    pub(crate) canceller: Arc<Canceller>,
    pub(crate) pin: Arc<PinnedSettings>,
    /// What its large rows were lent.
    pub(crate) lent: Arc<PendingReservations>,
    /// Keeps its place until the server has ended it.
    pub(crate) held: Arc<HeldPlace>,
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(crate) pooled: bool,
}

impl DrivenClient {
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

impl Deref for DrivenClient {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

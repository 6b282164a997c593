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
    /// Ends its task when it is dropped. Its statement cache has no bound: only our own queries use it
    /// (`catalog/relations.rs`); callers' statements are cached in `session/statement_cache.rs`.
    pub(crate) client: ClientWrapper,
    /// Receives the source's notices and notifications.
    pub(crate) messages: Arc<MessageListener>,
    /// Cancels the statement that runs on this session, also after the session was dropped.
    pub(crate) canceller: Arc<Canceller>,
    pub(crate) pin: Arc<PinnedSettings>,
    /// The memory reserved for its large rows.
    pub(crate) lent: Arc<PendingReservations>,
    /// Keeps its place until the server has ended it.
    pub(crate) held: Arc<HeldPlace>,
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(crate) pooled: bool,
}

impl DrivenClient {
    /// From now on, closes the session if the source reports another encoding, or other rules for string literals,
    /// than every session is set to.
    pub(crate) fn pin(&self) {
        self.pin.set(self.pooled);
    }

    /// Returns true if statements on it outside of a transaction cannot write.
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

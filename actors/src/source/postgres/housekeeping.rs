//! One session beside the pool, for what the driver itself wants to know: a pool that waited for
//! itself would wait for ever.

use std::ops::Deref;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;
use tokio_postgres::Client;

use super::connecting::{Connector, Wire};
use super::{failure, session};
use crate::error::Result;
use crate::source::address::Pooler;

/// Bounds every question of ours at the source.
const PATIENCE: &str = "SET statement_timeout = '20s'; SET lock_timeout = '5s'";
/// The same where no session is ours for longer than a transaction.
const FOR_TRANSACTION: &str = concat!(
    "BEGIN READ ONLY; SET LOCAL statement_timeout = '20s'; SET LOCAL lock_timeout = '5s'; ",
    session::settings!("SET LOCAL")
);

/// The housekeeping session, opened when first needed and again when it was lost.
pub(super) struct Housekeeping {
    connector: Arc<Connector>,
    wire: Mutex<Option<Arc<Wire>>>,
    /// Who looks something up behind a pooler, one at a time.
    turn: Mutex<()>,
}

/// The session for some questions. Behind a pooler they are one transaction, on a session of their
/// own; it ends when the last question is answered.
pub(super) struct Asking(Arc<Wire>);

impl Housekeeping {
    /// Nothing is connected yet.
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, wire: Mutex::new(None), turn: Mutex::new(()) }
    }

    /// The session; several questions may be under way on it at once.
    pub(super) async fn client(&self) -> Result<Asking> {
        if self.is_pooled() {
            return self.connect(FOR_TRANSACTION).await.map(Asking);
        }
        let mut place = self.wire.lock().await;
        if let Some(wire) = place.as_ref().filter(|wire| !wire.is_closed()) {
            return Ok(Asking(Arc::clone(wire)));
        }
        *place = None;
        let wire = self.connect(PATIENCE).await?;
        *place = Some(Arc::clone(&wire));
        Ok(Asking(wire))
    }

    /// Whether each question needs a session of its own.
    pub(super) fn is_pooled(&self) -> bool {
        self.connector.pooler == Pooler::Transaction
    }

    /// Behind a pooler, waits for those who look up the same.
    pub(super) async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        if self.is_pooled() { Some(self.turn.lock().await) } else { None }
    }

    /// Lets go of the session, so that the next question opens a new one.
    pub(super) async fn forget(&self) {
        *self.wire.lock().await = None;
    }

    async fn connect(&self, greeting: &str) -> Result<Arc<Wire>> {
        let wire = self.connector.connect().boxed().await?;
        let greeted = timeout(session::GREETING_TIMEOUT, async {
            session::introduce(&wire).await?;
            wire.batch_execute(greeting).await
        });
        match greeted.await {
            Ok(greeted) => greeted.map_err(|error| failure::connecting(&error))?,
            Err(_) => return Err(failure::unavailable("a fresh session did not answer in time")),
        }
        Ok(Arc::new(wire))
    }
}

impl Deref for Asking {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.0
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.0.pooled && !self.0.is_closed() {
            let wire = Arc::clone(&self.0);
            // Otherwise the pooler would close the server's session with ours.
            tokio::spawn(async move { timeout(session::GREETING_TIMEOUT, wire.batch_execute("ROLLBACK")).await });
        }
    }
}

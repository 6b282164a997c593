//! A request's place in the queue, and its record on the way.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::OwnedPermit;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use super::queue::{Message, Queued, Shared};
use super::record::Record;

/// How long a request may wait for its place, and the end of its answer for its record.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Room for one record. Dropped without one, it is given back.
pub struct AuditPermit {
    pub(super) permit: OwnedPermit<Message>,
    pub(super) room: Option<OwnedSemaphorePermit>,
    pub(super) shared: Arc<Shared>,
}

impl AuditPermit {
    /// Queues the record, and tells when it is written. What strangers bring about too fast is only
    /// counted: nothing is written of it.
    pub fn keep(self, record: Record) -> Option<PendingWrite> {
        self.shared.takes(&record).then(|| self.send(record))
    }

    pub(super) fn send(self, record: Record) -> PendingWrite {
        let (tell, written) = oneshot::channel();
        let failing = self.shared.failing.subscribe();
        self.permit.send(Message::Record(Queued { record: Box::new(record), room: self.room, written: Some(tell) }));
        PendingWrite { written, failing }
    }
}

/// A record on its way to where it is kept.
pub struct PendingWrite {
    pub(super) written: oneshot::Receiver<()>,
    pub(super) failing: watch::Receiver<bool>,
}

impl PendingWrite {
    /// Completes when the record was handed to the operating system, or to the store, and tells whether it was. Where
    /// records cannot be written now, what was done cannot be refused any more, and is not waited for.
    pub async fn wait(self) -> bool {
        let Self { written, mut failing } = self;
        let failed = async {
            // Without a writer nothing is written either.
            let _ = failing.wait_for(|failing| *failing).await;
        };
        let settled = async {
            tokio::select! {
                biased;
                written = written => written.is_ok(),
                () = failed => false,
            }
        };
        tokio::time::timeout(PATIENCE, settled).await.unwrap_or(false)
    }
}

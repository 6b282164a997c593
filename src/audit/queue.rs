//! The queue in front of the writer: a request's permit, its record in transit, and the state that the writer
//! shares with the senders.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use super::record::Record;
use crate::anonymous_quota::Strangers;

/// How long a request may wait for its place, and the end of its answer for its record.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A message to the writer.
pub(super) enum Message {
    Record(Queued),
    /// There is something else to look at.
    Wake,
    /// The last message.
    Stop,
}

/// A record in transit.
pub(super) struct Queued {
    pub(super) record: Box<Record>,
    /// Its room in the queue, released when it leaves the queue.
    pub(super) room: OwnedSemaphorePermit,
    /// The sender that reports that it is written.
    pub(super) written: oneshot::Sender<()>,
}

/// The state that the writer shares with the senders.
pub(super) struct Shared {
    /// Records cannot be written.
    pub(super) failing: watch::Sender<bool>,
    /// The file is to be opened anew.
    pub(super) reopen: AtomicBool,
    pub(super) stopping: AtomicBool,
    /// As long as there is a trail.
    pub(super) writer: mpsc::WeakUnboundedSender<Message>,
    pub(super) strangers: Strangers,
}

impl Shared {
    /// Whether `record` is recorded by itself; else it is counted.
    pub(super) fn takes(&self, record: &Record) -> bool {
        let takes = self.strangers.takes(record.is_cheap());
        // A summary may be due, and no other record may come for long.
        if !takes
            && self.strangers.is_due()
            && let Some(writer) = self.writer.upgrade()
        {
            let _ = writer.send(Message::Wake);
        }
        takes
    }
}

/// Room for one record. Returned if dropped without one.
pub struct AuditPermit {
    pub(super) room: OwnedSemaphorePermit,
    pub(super) sender: mpsc::UnboundedSender<Message>,
    pub(super) shared: Arc<Shared>,
}

impl AuditPermit {
    /// Queues the record, and returns a handle to wait for it. Records of strangers beyond the rate are only
    /// counted, and not written.
    pub fn keep(self, record: impl Into<Box<Record>>) -> Option<PendingWrite> {
        let record = record.into();
        self.shared.takes(&record).then(|| self.send(record))
    }

    pub(super) fn send(self, record: Box<Record>) -> PendingWrite {
        let (tell, written) = oneshot::channel();
        let failing = self.shared.failing.subscribe();
        let queued = Queued { record, room: self.room, written: tell };
        // Without a writer it is dropped, and the waiting request notices that.
        let _ = self.sender.send(Message::Record(queued));
        PendingWrite { written, failing }
    }
}

/// A record on its way to where it is stored.
pub struct PendingWrite {
    written: oneshot::Receiver<()>,
    failing: watch::Receiver<bool>,
}

impl PendingWrite {
    /// Completes when the record was handed to the operating system, or to the store. Returns true if it was. If
    /// records cannot be written now, the request cannot be refused any more, and this does not wait.
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

//! The queue in front of the writer: a request's place in it, its record on the way, and what the writer and those who
//! send to it know of each other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use super::record::Record;
use crate::strangers::Strangers;

/// How long a request may wait for its place, and the end of its answer for its record.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What is sent to the writer.
pub(super) enum Message {
    Record(Queued),
    /// There is something else to look at.
    Wake,
    /// Nothing comes behind it.
    Stop,
}

/// A record on its way.
pub(super) struct Queued {
    pub(super) record: Box<Record>,
    /// Its room in the queue, given back when it leaves that.
    pub(super) room: OwnedSemaphorePermit,
    /// Who waits until it is written.
    pub(super) written: oneshot::Sender<()>,
}

/// What the writer and those who send to it know of each other.
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
        // It may be time to tell how many were counted, and nobody else may come for long.
        if !takes
            && self.strangers.is_due()
            && let Some(writer) = self.writer.upgrade()
        {
            let _ = writer.send(Message::Wake);
        }
        takes
    }
}

/// Room for one record. Dropped without one, it is given back.
pub struct AuditPermit {
    pub(super) room: OwnedSemaphorePermit,
    pub(super) sender: mpsc::UnboundedSender<Message>,
    pub(super) shared: Arc<Shared>,
}

impl AuditPermit {
    /// Queues the record, and tells when it is written. What strangers bring about too fast is only
    /// counted: nothing is written of it.
    pub fn keep(self, record: impl Into<Box<Record>>) -> Option<PendingWrite> {
        let record = record.into();
        self.shared.takes(&record).then(|| self.send(record))
    }

    pub(super) fn send(self, record: Box<Record>) -> PendingWrite {
        let (tell, written) = oneshot::channel();
        let failing = self.shared.failing.subscribe();
        let queued = Queued { record, room: self.room, written: tell };
        // Without a writer it is dropped, and whoever waits is told so.
        let _ = self.sender.send(Message::Record(queued));
        PendingWrite { written, failing }
    }
}

/// A record on its way to where it is kept.
pub struct PendingWrite {
    written: oneshot::Receiver<()>,
    failing: watch::Receiver<bool>,
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

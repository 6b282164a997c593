//! What is sent to the writer, and what it and those who send to it know of each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use super::record::Record;
use crate::strangers::Bucket;

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
    pub(super) room: Option<OwnedSemaphorePermit>,
    /// Who waits until it is written.
    pub(super) written: Option<oneshot::Sender<()>>,
}

impl From<Record> for Queued {
    fn from(record: Record) -> Self {
        Self { record: Box::new(record), room: None, written: None }
    }
}

/// What the writer and those who send to it know of each other.
pub(super) struct Shared {
    /// Records cannot be written.
    pub(super) failing: watch::Sender<bool>,
    /// The file is to be opened anew.
    pub(super) reopen: AtomicBool,
    pub(super) stopping: AtomicBool,
    pub(super) suppressed: AtomicU64,
    /// As long as there is a trail.
    pub(super) writer: mpsc::WeakSender<Message>,
    pub(super) bucket: Mutex<Bucket>,
}

impl Shared {
    /// Whether `record` is recorded by itself; else it is counted.
    pub(super) fn takes(&self, record: &Record) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        if !record.is_cheap() {
            bucket.earn();
            return true;
        }
        let takes = bucket.take(Instant::now());
        if !takes {
            self.suppressed.fetch_add(1, Ordering::Relaxed);
            // It is time to tell how many these are, and nobody else may come for long. Where there is no room for
            // a word the writer looks anyway.
            if bucket.is_due(Instant::now())
                && let Some(writer) = self.writer.upgrade()
            {
                let _ = writer.try_send(Message::Wake);
            }
        }
        takes
    }
}

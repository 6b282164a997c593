//! The audit trail: one record for each call, each token and each change of who may call.
//!
//! **Why is this no observer of events?** An observer is told afterwards, and must return at once:
//! when the disk is slow it could only lose records, or hold up the thread that told it. Here a
//! request takes a [`Place`] in a bounded queue *before* it is worked on. Where there is none it
//! waits, and that is the back-pressure; once it has one, its end is recorded without waiting,
//! however it ends, also by being dropped. The last byte of an answer is sent after its record is
//! in the queue. One thread of its own writes the queue to its file and its store (`writer`).

pub mod file;
pub mod reading;
pub mod record;
pub mod sinks;
pub mod statement;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portico_actors::auth::store;
use portico_actors::call::Op;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::event::Observer;
use portico_actors::sql::Dialect;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::watch;

pub use record::{Happening, Record, Request};
use sinks::Sinks;
pub use statement::{Detail, Said};

/// How long a request may wait for its place.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of the service may wait for the last records.
const LAST_CALL: Duration = Duration::from_secs(5);
/// How soon a failed writer is worth asking again.
const RETRY: Duration = Duration::from_secs(1);
/// Refusals of strangers that are recorded one by one: so many at once …
const BURST: f64 = 100.0;
/// … and so many a second.
const RATE: f64 = 20.0;

/// What becomes of calls whose records cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused until records can be written again. Nothing is lost.
    #[default]
    Refuse,
    /// They go on; the records are lost, and counted.
    Continue,
}

/// `[audit]`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file of JSON lines.
    pub file: Option<PathBuf>,
    /// Bytes of the file from which on it is put aside.
    pub max_size: u64,
    /// Files put aside that are kept.
    pub keep: u32,
    /// Whether records are kept in the store too.
    pub store: bool,
    /// Records in the store at most.
    pub store_records: u64,
    /// What is kept of statements.
    pub statement: Detail,
    /// Whether values of parameters are recorded.
    pub parameters: bool,
    /// Calls under way and records not yet written, together.
    pub queue: usize,
    /// What becomes of calls whose records cannot be written.
    pub on_failure: OnFailure,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file: None,
            max_size: 64 * 1024 * 1024,
            keep: 10,
            store: false,
            store_records: 100_000,
            statement: Detail::default(),
            parameters: false,
            queue: 4096,
            on_failure: OnFailure::default(),
        }
    }
}

impl Settings {
    /// Whether anything is recorded at all.
    pub fn is_on(&self) -> bool {
        self.file.is_some() || self.store
    }
}

/// What is sent to the writer.
enum Message {
    Record(Box<Record>),
    /// Nothing comes behind it.
    Stop,
}

/// What the writer and those who send to it know of each other.
struct Shared {
    /// Records cannot be written.
    failing: watch::Sender<bool>,
    /// The file is to be opened anew.
    reopen: AtomicBool,
    stopping: AtomicBool,
    suppressed: AtomicU64,
    bucket: Mutex<Bucket>,
}

/// How many refusals of strangers may be recorded now.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * RATE).min(BURST);
        self.at = now;
        let has = self.left >= 1.0;
        self.left -= f64::from(u8::from(has));
        has
    }
}

/// The trail of a running service.
pub struct Audit {
    settings: Settings,
    sender: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Audit {
    /// Opens file and store and starts the writer; `None` where nothing is to be recorded.
    ///
    /// # Errors
    /// When the file, or a store that is one, cannot be opened.
    pub fn start(settings: &Settings, store: &store::Place, observer: Observer) -> Result<Option<Arc<Self>>> {
        if !settings.is_on() {
            return Ok(None);
        }
        let mut sinks = Sinks::new(settings, store);
        sinks.open_what_is_there()?;
        let (sender, receiver) = mpsc::channel(settings.queue.max(1));
        let shared = Arc::new(Shared {
            failing: watch::Sender::new(false),
            reopen: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            suppressed: AtomicU64::new(0),
            bucket: Mutex::new(Bucket { left: BURST, at: Instant::now() }),
        });
        let writer = writer::Writer::new(sinks, Arc::clone(&shared), settings.on_failure, observer);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(receiver));
        let thread = Mutex::new(Some(thread.map_err(Error::internal)?));
        let audit = Self { settings: settings.clone(), sender, shared, thread };
        // The queue is empty: there is room.
        let _ = audit.sender.try_send(Message::Record(Box::new(Record::of(Happening::Start, "ok"))));
        Ok(Some(Arc::new(audit)))
    }

    /// Takes a place in the queue for one record, waiting for it if need be. `None` where calls go
    /// on without records.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when records cannot be written and calls are refused for that,
    /// [`Kind::Busy`] when the writer is too far behind.
    pub async fn place(&self) -> Result<Option<Place>> {
        let refuses = self.settings.on_failure == OnFailure::Refuse;
        let mut failing = self.shared.failing.subscribe();
        let failed = async {
            if !refuses || failing.wait_for(|failing| *failing).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let permit = tokio::select! {
            biased;
            () = failed => return Err(cannot_record()),
            permit = self.sender.clone().reserve_owned() => permit,
            () = tokio::time::sleep(PATIENCE) => {
                return Err(Error::new(Kind::Busy, "too many records of the audit trail are waiting to be written")
                    .retry_after(RETRY)
                    .hint("try again after the given delay"));
            }
        };
        match permit {
            Ok(permit) => Ok(Some(Place { permit, shared: Arc::clone(&self.shared) })),
            Err(_) if refuses => Err(cannot_record()),
            Err(_) => Ok(None),
        }
    }

    /// What is recorded of the statement of `op`, on a source of this kind.
    pub fn said(&self, op: &Op, kind: &str) -> Option<Said> {
        let dialect = if kind == "sqlite" { Dialect::Sqlite } else { Dialect::PostgreSql };
        Said::by(op, dialect, self.settings.statement, self.settings.parameters)
    }

    /// Has the file opened anew before the next record: somebody has moved it away.
    pub fn reopen(&self) {
        self.shared.reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits until everything is written, for a while. Nothing is recorded afterwards.
    pub async fn close(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let written = async {
            let _ = self.sender.send(Message::Record(Box::new(Record::of(Happening::Stop, "ok")))).await;
            let _ = self.sender.send(Message::Stop).await;
            if let Some(thread) = thread {
                let _ = tokio::task::spawn_blocking(move || thread.join()).await;
            }
        };
        let _ = tokio::time::timeout(LAST_CALL, written).await;
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            thread.thread().unpark();
        }
    }
}

fn cannot_record() -> Error {
    Error::new(Kind::Unavailable, "calls are refused because the audit trail cannot be written")
        .retry_after(RETRY)
        .hint("an administrator has to look at it; the log tells why")
}

/// Room for one record. Dropped without one, it is given back.
pub struct Place {
    permit: OwnedPermit<Message>,
    shared: Arc<Shared>,
}

impl Place {
    /// Queues the record. What strangers bring about too fast is only counted.
    pub fn keep(self, record: Record) {
        if record.is_cheap() {
            let mut bucket = self.shared.bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if !bucket.take(Instant::now()) {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        self.permit.send(Message::Record(Box::new(record)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_recorded_one_by_one_up_to_a_rate() {
        let start = Instant::now();
        let mut bucket = Bucket { left: BURST, at: start };
        assert_eq!((0..1_000).filter(|_| bucket.take(start)).count(), 100);
        let later = start + Duration::from_secs(2);
        assert_eq!((0..1_000).filter(|_| bucket.take(later)).count(), 40);
    }
}

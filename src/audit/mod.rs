//! The audit trail: one record for each call, each token and each change of who may call.
//!
//! **Why is this no observer of events?** An observer is told afterwards, and must return at once:
//! when the disk is slow it could only lose records, or hold up the thread that told it. Here a
//! request takes a [`Place`] in a bounded queue *before* it is worked on. Where there is none it
//! waits, and that is the back-pressure; once it has one, its end is recorded without waiting,
//! however it ends, also by being dropped. The last byte of an answer is sent when its record is
//! [`Written`]. One thread of its own writes the queue to its file and its store (`writer`): all that
//! is in it at once, so that many who wait for their records wait for one write.

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

use portico_actors::auth::recording::{Door, ForStore, Recorder};
use portico_actors::auth::store::{self, Change};
use portico_actors::call::Op;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::event::Observer;
use portico_actors::sql::Dialect;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

pub use record::{Happening, Record, Request, reason, shortened};
use sinks::{File, Sinks};
pub use statement::{Detail, Said};

use crate::strangers::Bucket;

/// How long a request may wait for its place, and the end of its answer for its record.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of the service may wait for the last records.
const LAST_CALL: Duration = Duration::from_secs(5);
/// How soon a failed writer is worth asking again.
const RETRY: Duration = Duration::from_secs(1);
/// Room in the queue for what is said of changes, which wait for no call: the call that makes one has its place already.
const CHANGES: usize = 64;

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

    /// What the store is to keep of `records`.
    pub fn for_store(&self, records: &[Record]) -> ForStore {
        let kept = if self.store { records } else { &[] };
        ForStore { records: kept.iter().map(sinks::for_store).collect(), most: self.store_records }
    }
}

/// What is sent to the writer.
enum Message {
    Record(Queued),
    /// There is something else to look at.
    Wake,
    /// Nothing comes behind it.
    Stop,
}

/// A record on its way.
struct Queued {
    record: Box<Record>,
    /// Its room in the queue, given back when it leaves that.
    room: Option<OwnedSemaphorePermit>,
    /// Who waits until it is written.
    written: Option<oneshot::Sender<()>>,
}

impl From<Record> for Queued {
    fn from(record: Record) -> Self {
        Self { record: Box::new(record), room: None, written: None }
    }
}

/// What the writer and those who send to it know of each other.
struct Shared {
    /// Records cannot be written.
    failing: watch::Sender<bool>,
    /// The file is to be opened anew.
    reopen: AtomicBool,
    stopping: AtomicBool,
    suppressed: AtomicU64,
    /// As long as there is a trail.
    writer: mpsc::WeakSender<Message>,
    bucket: Mutex<Bucket>,
}

/// The trail of a running service.
pub struct Audit {
    settings: Settings,
    file: Option<File>,
    sender: mpsc::Sender<Message>,
    /// One for each place in the queue.
    rooms: Arc<Semaphore>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Audit {
    /// Opens file and store and starts the writer; `None` where nothing is to be recorded.
    ///
    /// # Errors
    /// When the file, or a store that is one, cannot be opened.
    pub fn start(settings: &Settings, store: &store::StoreLocation, observer: Observer) -> Result<Option<Arc<Self>>> {
        if !settings.is_on() {
            return Ok(None);
        }
        let file = File::of(settings);
        let mut sinks = Sinks::new(settings, file.clone(), store);
        sinks.open_what_is_there()?;
        let (sender, receiver) = mpsc::channel(settings.queue.max(1) + CHANGES);
        let shared = Arc::new(Shared {
            failing: watch::Sender::new(false),
            reopen: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            suppressed: AtomicU64::new(0),
            writer: sender.downgrade(),
            bucket: Mutex::new(Bucket::full(Instant::now())),
        });
        let writer = writer::Writer::new(sinks, Arc::clone(&shared), settings.on_failure, observer);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(receiver));
        let thread = Mutex::new(Some(thread.map_err(Error::internal)?));
        let rooms = Arc::new(Semaphore::new(settings.queue.max(1)));
        let audit = Self { settings: settings.clone(), file, sender, rooms, shared, thread };
        // The queue is empty: there is room.
        let _ = audit.sender.try_send(Message::Record(Record::of(Happening::Start, "ok").into()));
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
        let place = async {
            // It is never closed.
            let room = Arc::clone(&self.rooms).acquire_owned().await.ok();
            self.sender.clone().reserve_owned().await.map(|permit| (permit, room))
        };
        let place = tokio::select! {
            biased;
            () = failed => return Err(cannot_record()),
            place = place => place,
            () = tokio::time::sleep(PATIENCE) => {
                return Err(Error::new(Kind::Busy, "too many records of the audit trail are waiting to be written")
                    .retry_after(RETRY)
                    .hint("try again after the given delay"));
            }
        };
        match place {
            Ok((permit, room)) => Ok(Some(Place { permit, room, shared: Arc::clone(&self.shared) })),
            Err(_) if refuses => Err(cannot_record()),
            Err(_) => Ok(None),
        }
    }

    /// Records what nobody took a place for, and tells when it is written. What strangers bring about too fast is
    /// only counted, and waits for nothing.
    ///
    /// # Errors
    /// As [`Audit::place`] has them.
    pub async fn record(&self, record: Record) -> Result<Option<Written>> {
        if !self.shared.takes(&record) {
            return Ok(None);
        }
        Ok(self.place().await?.map(|place| place.send(record)))
    }

    /// Queues a record that nobody took a place for, where there is one now; else it is counted with those
    /// that came too fast.
    pub fn keep_at_once(&self, record: Record) {
        let room = Arc::clone(&self.rooms).try_acquire_owned().ok();
        let permit = room.as_ref().and_then(|_| self.sender.clone().try_reserve_owned().ok());
        match permit {
            Some(permit) => drop(Place { permit, room, shared: Arc::clone(&self.shared) }.keep(record)),
            None => {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Records what is about to be done, and waits until that is written.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when it cannot be, and is not to be done.
    pub async fn announce(&self, record: Record) -> Result<()> {
        if self.refuses() {
            return Err(cannot_record());
        }
        let (written, waiting) = oneshot::channel();
        let queued = Queued { written: Some(written), ..Queued::from(record.clone()) };
        let wait = async { self.sender.send(Message::Record(queued)).await.is_ok() && waiting.await.is_ok() };
        let is_written = tokio::time::timeout(PATIENCE, wait).await.unwrap_or(false);
        if is_written || self.settings.on_failure == OnFailure::Continue {
            return Ok(());
        }
        // It may still be written.
        self.take_back(record);
        Err(cannot_record())
    }

    /// Records, behind what was announced, that it did not come to be.
    pub fn take_back(&self, record: Record) {
        // Where even what is kept free for these is taken, the writer has not written for long, and refuses calls.
        if self.sender.try_send(Message::Record(record.taken_back().into())).is_err() {
            self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether calls are refused now, because records cannot be written.
    pub fn refuses(&self) -> bool {
        self.settings.on_failure == OnFailure::Refuse && *self.shared.failing.borrow()
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
            let _ = self.sender.send(Message::Record(Record::of(Happening::Stop, "ok").into())).await;
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

/// What is refused while nothing can be recorded.
pub(crate) fn cannot_record() -> Error {
    Error::new(Kind::Unavailable, "calls are refused because the audit trail cannot be written")
        .retry_after(RETRY)
        .hint("an administrator has to look at it; the log tells why")
}

/// Changes of who may do what come here from behind the mailbox.
pub struct Changes(pub Arc<Audit>);

impl Recorder for Changes {
    fn record(&self, changes: &[Change], door: &Door) -> Result<ForStore> {
        let Audit { settings, file, shared, .. } = &*self.0;
        self.check()?;
        let records = changes.iter().map(|change| Record::of_change(change, door));
        let records: Vec<Record> = records.filter(|record| shared.takes(record)).collect();
        if let Some(Err(error)) = file.as_ref().map(|file| file.write_now(&records)) {
            if settings.on_failure == OnFailure::Refuse {
                // The writer finds out too, and the trail says that it was tried.
                self.unconfirmed(changes, door);
                return Err(cannot_record().because(error.cause().unwrap_or(&error.message)));
            }
            // It tells of the failure, and counts what is lost.
            records.iter().for_each(|record| self.0.keep_at_once(record.clone()));
        }
        Ok(settings.for_store(&records))
    }

    fn unconfirmed(&self, changes: &[Change], door: &Door) {
        changes.iter().for_each(|change| self.0.take_back(Record::of_change(change, door)));
    }

    fn check(&self) -> Result<()> {
        if self.0.refuses() { Err(cannot_record()) } else { Ok(()) }
    }
}

impl Shared {
    /// Whether `record` is recorded by itself; else it is counted.
    fn takes(&self, record: &Record) -> bool {
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

/// Room for one record. Dropped without one, it is given back.
pub struct Place {
    permit: OwnedPermit<Message>,
    room: Option<OwnedSemaphorePermit>,
    shared: Arc<Shared>,
}

impl Place {
    /// Queues the record, and tells when it is written. What strangers bring about too fast is only
    /// counted: nothing is written of it.
    pub fn keep(self, record: Record) -> Option<Written> {
        self.shared.takes(&record).then(|| self.send(record))
    }

    fn send(self, record: Record) -> Written {
        let (tell, written) = oneshot::channel();
        let failing = self.shared.failing.subscribe();
        self.permit.send(Message::Record(Queued { record: Box::new(record), room: self.room, written: Some(tell) }));
        Written { written, failing }
    }
}

/// A record on its way to where it is kept.
pub struct Written {
    written: oneshot::Receiver<()>,
    failing: watch::Receiver<bool>,
}

impl Written {
    /// Completes when the record was handed to the operating system, or to the store, and tells whether it was. Where records
    /// cannot be written now, what was done cannot be refused any more, and is not waited for.
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

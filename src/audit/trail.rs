//! The trail of a running service: takes places and records, and starts and stops the writer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use portico_actors::auth::recording::{Door, Recorder};
use portico_actors::auth::store::{self, Change};
use portico_actors::call::Op;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::event::Observer;
use portico_actors::sql::Dialect;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::place::{AuditPermit, PATIENCE, PendingWrite};
use super::queue::{Message, Queued, Shared};
use super::record::{AuditEvent, Record};
use super::settings::{OnFailure, Settings};
use super::sinks::Sinks;
use super::statement::StatementRecord;
use super::writer;
use crate::strangers::Bucket;

/// How long the end of the service may wait for the last records.
const LAST_CALL: Duration = Duration::from_secs(5);
/// How soon a failed writer is worth asking again.
const RETRY: Duration = Duration::from_secs(1);
/// Room in the queue for changes, which wait for no call: the call that makes one has its place already.
const CHANGES: usize = 64;

/// The trail of a running service.
pub struct Audit {
    settings: Settings,
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
    pub fn start(settings: &Settings, store: &store::Place, observer: Observer) -> Result<Option<Arc<Self>>> {
        if !settings.is_on() {
            return Ok(None);
        }
        let mut sinks = Sinks::new(settings, store);
        sinks.open_what_is_there()?;
        let (sender, receiver) = mpsc::channel(settings.queue.max(1) + CHANGES);
        let shared = Arc::new(Shared {
            failing: watch::Sender::new(false),
            reopen: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            suppressed: AtomicU64::new(0),
            bucket: Mutex::new(Bucket::full(Instant::now())),
        });
        let writer = writer::Writer::new(sinks, Arc::clone(&shared), settings.on_failure, observer);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(receiver));
        let thread = Mutex::new(Some(thread.map_err(Error::internal)?));
        let rooms = Arc::new(Semaphore::new(settings.queue.max(1)));
        let audit = Self { settings: settings.clone(), sender, rooms, shared, thread };
        // The queue is empty: there is room.
        let _ = audit.sender.try_send(Message::Record(Record::of(AuditEvent::Start, "ok").into()));
        Ok(Some(Arc::new(audit)))
    }

    /// Takes a place in the queue for one record, waiting for it if need be. `None` where calls go
    /// on without records.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when records cannot be written and calls are refused for that,
    /// [`Kind::Busy`] when the writer is too far behind.
    pub async fn reserve(&self) -> Result<Option<AuditPermit>> {
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
            Ok((permit, room)) => Ok(Some(AuditPermit { permit, room, shared: Arc::clone(&self.shared) })),
            Err(_) if refuses => Err(cannot_record()),
            Err(_) => Ok(None),
        }
    }

    /// Records what nobody took a place for, and tells when it is written. What strangers bring about too fast is
    /// only counted, and waits for nothing.
    ///
    /// # Errors
    /// As [`Audit::place`] has them.
    pub async fn record(&self, record: Record) -> Result<Option<PendingWrite>> {
        if !self.shared.takes(&record) {
            if self.shared.is_due() {
                // Where there is no room, somebody else wakes it.
                let _ = self.sender.try_send(Message::Wake);
            }
            return Ok(None);
        }
        Ok(self.reserve().await?.map(|place| place.send(record)))
    }

    /// Queues a record that nobody took a place for, where there is one now; else it is counted with those
    /// that came too fast.
    pub fn keep_at_once(&self, record: Record) {
        let room = Arc::clone(&self.rooms).try_acquire_owned().ok();
        let permit = room.as_ref().and_then(|_| self.sender.clone().try_reserve_owned().ok());
        match permit {
            Some(permit) => drop(AuditPermit { permit, room, shared: Arc::clone(&self.shared) }.keep(record)),
            None => {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Records a change that was made, and waits until that is written.
    async fn change(&self, record: Record) -> Result<()> {
        if !self.shared.takes(&record) {
            return Ok(());
        }
        let (written, waiting) = oneshot::channel();
        let queued = Queued { written: Some(written), ..Queued::from(record) };
        let wait = async { self.sender.send(Message::Record(queued)).await.is_ok() && waiting.await.is_ok() };
        let is_written = tokio::time::timeout(PATIENCE, wait).await.unwrap_or(false);
        if is_written || self.settings.on_failure == OnFailure::Continue {
            return Ok(());
        }
        Err(Error::new(Kind::Unavailable, "the change was made, but it could not be recorded")
            .hint("look at what there is now before you try again; the log tells why it could not"))
    }

    /// Whether calls are refused now, because records cannot be written.
    pub fn refuses(&self) -> bool {
        self.settings.on_failure == OnFailure::Refuse && *self.shared.failing.borrow()
    }

    /// What is recorded of the statement of `op`, on a source of this kind.
    pub fn statement(&self, op: &Op, kind: &str) -> Option<StatementRecord> {
        let dialect = if kind == "sqlite" { Dialect::Sqlite } else { Dialect::PostgreSql };
        StatementRecord::by(op, dialect, self.settings.statement, self.settings.parameters)
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
            let _ = self.sender.send(Message::Record(Record::of(AuditEvent::Stop, "ok").into())).await;
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

/// Changes of who may do what come here from behind the mailbox.
pub struct Changes(pub Arc<Audit>);

impl Recorder for Changes {
    fn record(&self, change: Change, door: Door) -> BoxFuture<'static, Result<()>> {
        let audit = Arc::clone(&self.0);
        async move { audit.change(Record::of_change(change, door)).await }.boxed()
    }

    fn check(&self) -> Result<()> {
        if self.0.refuses() { Err(cannot_record()) } else { Ok(()) }
    }
}

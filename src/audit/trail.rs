//! The trail of a running service: takes places and records, and starts and stops the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use portico_actors::auth::recording::{AuditContext, AuditRecorder, StoreRecords};
use portico_actors::auth::store::{self, Change};
use portico_actors::call::Op;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::event::Observer;
use portico_actors::mutex::lock;
use portico_actors::source::drivers;
use portico_actors::sql::Dialect;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::queue::{AuditPermit, Message, PATIENCE, PendingWrite, Shared};
use super::record::{AuditEvent, Record};
use super::sinks::{File, Sinks};
use super::statement::StatementRecord;
use super::writer;
use crate::anonymous_quota::Strangers;
use crate::config::{AuditSettings, OnFailure};

/// How long the end of the service may wait for the last records.
const LAST_CALL: Duration = Duration::from_secs(5);
/// How often it is looked whether the last record is written.
const LOOK: Duration = Duration::from_millis(10);
/// How soon a failed writer is worth asking again.
const RETRY: Duration = Duration::from_secs(1);
/// Room in the queue for changes, which wait for no call: the call that makes one has a permit already.
const CHANGES: usize = 64;

/// The trail of a running service.
pub struct Audit {
    settings: AuditSettings,
    file: Option<File>,
    sender: mpsc::UnboundedSender<Message>,
    /// One for each place in the queue.
    rooms: Arc<Semaphore>,
    /// One for each place that the queue has for changes.
    changes: Arc<Semaphore>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Audit {
    /// Opens file and store and starts the writer; `None` if nothing is to be recorded.
    ///
    /// # Errors
    /// If the file, or a store that is a file, cannot be opened.
    pub fn start(
        settings: &AuditSettings,
        store: &store::StoreLocation,
        observer: Observer,
    ) -> Result<Option<Arc<Self>>> {
        if !settings.is_on() {
            return Ok(None);
        }
        let file = File::from_settings(settings);
        let mut sinks = Sinks::new(settings, file.clone(), store);
        sinks.open_what_is_there()?;
        // Every sender has a permit.
        let (sender, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            failing: watch::Sender::new(false),
            reopen: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            writer: sender.downgrade(),
            strangers: Strangers::default(),
        });
        let writer = writer::Writer::new(sinks, Arc::clone(&shared), settings.on_failure, observer);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(receiver));
        let thread = Mutex::new(Some(thread.map_err(Error::internal)?));
        let rooms = Arc::new(Semaphore::new(settings.queue.max(1)));
        let changes = Arc::new(Semaphore::new(CHANGES));
        let audit = Self { settings: settings.clone(), file, sender, rooms, changes, shared, thread };
        audit.keep_apart(Record::new(AuditEvent::Start, "ok"));
        Ok(Some(Arc::new(audit)))
    }

    /// Takes a permit for one record, waiting for it if necessary. Returns `None` if calls are processed without
    /// records.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if records cannot be written and calls are refused because of that, [`Kind::Busy`] if
    /// the writer is too far behind.
    pub async fn reserve(&self) -> Result<Option<AuditPermit>> {
        if self.refuses() {
            return Err(cannot_record());
        }
        let refuses = self.settings.on_failure == OnFailure::Refuse;
        let room = match Arc::clone(&self.rooms).try_acquire_owned() {
            Ok(room) => room,
            Err(_) => Box::pin(self.room(refuses)).await?,
        };
        match self.sender.is_closed() {
            false => Ok(Some(self.permit(room))),
            true if refuses => Err(cannot_record()),
            true => Ok(None),
        }
    }

    /// Waits for room in the queue.
    async fn room(&self, refuses: bool) -> Result<OwnedSemaphorePermit> {
        let mut failing = self.shared.failing.subscribe();
        let failed = async {
            if !refuses || failing.wait_for(|failing| *failing).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = failed => Err(cannot_record()),
            room = Arc::clone(&self.rooms).acquire_owned() => room.map_err(Error::internal),
            () = tokio::time::sleep(PATIENCE) => {
                Err(Error::new(Kind::Busy, "too many records of the audit trail are waiting to be written")
                    .retry_after(RETRY)
                    .hint("try again after the given delay"))
            }
        }
    }

    fn permit(&self, room: OwnedSemaphorePermit) -> AuditPermit {
        AuditPermit { room, sender: self.sender.clone(), shared: Arc::clone(&self.shared) }
    }

    /// Records something without a permit, and returns a handle to wait for it. Records of strangers beyond the
    /// rate are only counted, and nothing waits for them.
    ///
    /// # Errors
    /// The errors of [`Audit::reserve`].
    pub async fn record(&self, record: Record) -> Result<Option<PendingWrite>> {
        if !self.shared.takes(&record) {
            return Ok(None);
        }
        Ok(self.reserve().await?.map(|place| place.send(Box::new(record))))
    }

    /// Queues a record without a permit, if there is room now; otherwise it is counted with those that came too
    /// fast.
    pub fn keep_at_once(&self, record: Record) {
        match Arc::clone(&self.rooms).try_acquire_owned() {
            Ok(room) => drop(self.permit(room).keep(record)),
            Err(_) => self.shared.strangers.count(),
        }
    }

    /// Records what is about to be done, and waits until that is written.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if it cannot be written, and so must not be done.
    pub async fn announce(&self, record: Record) -> Result<()> {
        if self.refuses() {
            return Err(cannot_record());
        }
        let room = tokio::time::timeout(PATIENCE, Arc::clone(&self.changes).acquire_owned()).await;
        let is_written = match room {
            Ok(Ok(room)) => self.permit(room).send(Box::new(record.clone())).wait().await,
            _ => false,
        };
        if is_written || self.settings.on_failure == OnFailure::Continue {
            return Ok(());
        }
        // It may still be written.
        self.take_back(record);
        Err(cannot_record())
    }

    /// Records that an announced action was not carried out.
    pub fn take_back(&self, record: Record) {
        self.keep_apart(record.taken_back());
    }

    /// Queues a record in the room for changes, where there is some.
    fn keep_apart(&self, record: Record) {
        match Arc::clone(&self.changes).try_acquire_owned() {
            Ok(room) => drop(self.permit(room).send(Box::new(record))),
            // The writer has not written for long, and refuses calls.
            Err(_) => self.shared.strangers.count(),
        }
    }

    /// Whether calls are refused now, because records cannot be written.
    pub fn refuses(&self) -> bool {
        self.settings.on_failure == OnFailure::Refuse && *self.shared.failing.borrow()
    }

    /// Returns the record of the statement of `op`, for sources of these kinds.
    pub fn statement(&self, op: &Op, kinds: impl IntoIterator<Item = &'static str>) -> Option<StatementRecord> {
        let known = kinds.into_iter().filter_map(drivers::named).map(|driver| driver.dialect);
        let of_sources: Vec<Dialect> = known.collect();
        // Statements over several connections are PostgreSQL's; what writes there is in its own connection's words.
        let of_engine = (of_sources.len() != 1).then_some(Dialect::POSTGRESQL);
        // The text is read once for each.
        let mut dialects = Vec::new();
        for dialect in of_sources.into_iter().chain(of_engine) {
            if !dialects.contains(&dialect) {
                dialects.push(dialect);
            }
        }
        StatementRecord::new(op, &dialects, self.settings.statement, self.settings.parameters)
    }

    /// Reopens the file before the next record, because it was moved away.
    pub fn reopen(&self) {
        self.shared.reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits, for a limited time, until everything is written. Nothing is recorded afterwards.
    pub async fn close(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.wake();
        let thread = lock(&self.thread).take();
        let written = async {
            if let Ok(room) = Arc::clone(&self.changes).acquire_owned().await {
                drop(self.permit(room).send(Box::new(Record::new(AuditEvent::Stop, "ok"))));
            }
            let _ = self.sender.send(Message::Stop);
            if let Some(thread) = thread {
                // Nobody joins it: a sink that blocks would keep the process from its end.
                while !thread.is_finished() {
                    tokio::time::sleep(LOOK).await;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_CALL, written).await;
    }

    fn wake(&self) {
        if let Some(thread) = lock(&self.thread).as_ref() {
            thread.thread().unpark();
        }
        // It may wait for a message too.
        let _ = self.sender.send(Message::Wake);
    }
}

/// Returns the error while nothing can be recorded.
pub(crate) fn cannot_record() -> Error {
    Error::new(Kind::Unavailable, "calls are refused because the audit trail cannot be written")
        .retry_after(RETRY)
        .hint("an administrator has to look at it; the log tells why")
}

/// Receives changes of rights from behind the mailbox.
impl AuditRecorder for Audit {
    fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords> {
        self.check()?;
        let records = changes.iter().map(|change| Record::from_change(change, audit_context));
        let records: Vec<Record> = records.filter(|record| self.shared.takes(record)).collect();
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.write_now(&records)) {
            if self.settings.on_failure == OnFailure::Refuse {
                // The writer finds out too, and the trail says that it was tried.
                self.unconfirmed(changes, audit_context);
                return Err(cannot_record().because(error.cause().unwrap_or(&error.message)));
            }
            // Reports the failure, and counts what is lost.
            for record in &records {
                self.keep_at_once(record.clone());
            }
        }
        Ok(self.settings.for_store(&records))
    }

    fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext) {
        for change in changes {
            self.take_back(Record::from_change(change, audit_context));
        }
    }

    fn check(&self) -> Result<()> {
        if self.refuses() { Err(cannot_record()) } else { Ok(()) }
    }
}

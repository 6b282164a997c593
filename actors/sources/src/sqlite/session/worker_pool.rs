//! Worker threads with one connection each: they start when first needed, rest in a stack, and end when the pool
//! closes. What a job does with its connection is not known here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::Exposure;
use crate::sqlite::connect::open::{OpenDatabase, SessionKind, open};
use crate::sqlite::session::cancel_flag::CancelFlag;
use crate::sqlite::session::channel::Sender;
use crate::sqlite::session::temporary_files;
use portico_core::error::{Error, Kind, Result};
use portico_core::mutex::lock;

/// The work of a session for one call.
pub(crate) type Work = Box<dyn FnOnce(&mut OpenDatabase, &CancelFlag, &Sender) -> Result<()> + Send>;

/// Sessions of one role, at most so many at once.
pub(crate) struct WorkerPool {
    path: PathBuf,
    role: SessionKind,
    exposure: Arc<Exposure>,
    seats: Arc<Semaphore>,
    state: Mutex<State>,
    pub(crate) threads: TaskTracker,
}

#[derive(Default)]
struct State {
    /// Idle sessions; dropping one ends its thread.
    idle: Vec<mpsc::Sender<Job>>,
    running: Vec<Weak<CancelFlag>>,
    closed: bool,
}

struct Job {
    work: Work,
    cancel: Arc<CancelFlag>,
    sender: Sender,
    /// The session's own address, for its return to the idle ones.
    home: mpsc::Sender<Job>,
    /// Released after the session is idle again, so that there are never more threads than seats.
    seat: OwnedSemaphorePermit,
}

/// Virtual machine instructions between two looks at the flag: some microseconds.
const INSTRUCTIONS: i32 = 2000;
/// How long a statement waits for a lock that another process holds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// Enough for SQLite's deepest recursion within the limits of `connect/limits.rs`, also in a debug build.
const STACK: usize = 4 << 20;
/// How long `close` waits for threads that are inside the engine.
const FAREWELL: Duration = Duration::from_secs(5);

impl WorkerPool {
    /// Makes a pool of at most `seats` sessions on the file at `path`. Nothing is opened yet.
    pub(crate) fn new(path: PathBuf, role: SessionKind, exposure: Arc<Exposure>, seats: usize) -> Arc<Self> {
        let seats = Arc::new(Semaphore::new(seats.clamp(1, Semaphore::MAX_PERMITS)));
        Arc::new(Self { path, role, exposure, seats, state: Mutex::default(), threads: TaskTracker::new() })
    }

    /// Runs `work` on a session, and waits for one no longer than the job may take.
    ///
    /// # Errors
    /// [`Kind::Busy`] if no session became free in time; the flag's verdict if it was stopped meanwhile;
    /// [`Kind::Unavailable`] after [`WorkerPool::close`].
    pub(crate) async fn submit(self: &Arc<Self>, cancel: &Arc<CancelFlag>, sender: Sender, work: Work) -> Result<()> {
        let seat = cancel.unless_stopped(Arc::clone(&self.seats).acquire_owned()).await.ok_or_else(|| {
            let verdict = cancel.verdict().filter(|verdict| verdict.kind != Kind::TimedOut);
            verdict.unwrap_or_else(|| {
                Error::new(Kind::Busy, "every session of this connection stayed busy for the whole timeout")
                    .retry_after(Duration::from_secs(1))
            })
        })?;
        let seat = seat.map_err(|_| closing())?;
        let idle = {
            let mut state = self.lock();
            if state.closed {
                return Err(closing());
            }
            state.running.retain(|running| running.strong_count() > 0);
            state.running.push(Arc::downgrade(cancel));
            state.idle.pop()
        };
        let cancel = Arc::clone(cancel);
        if let Some(home) = idle {
            let job = Job { work, cancel, sender, home: home.clone(), seat };
            return match home.try_send(job) {
                Ok(()) => Ok(()),
                // Its thread died; a fresh one takes the job.
                Err(mpsc::error::TrySendError::Full(job) | mpsc::error::TrySendError::Closed(job)) => self.start(job),
            };
        }
        let (home, _) = mpsc::channel(1);
        self.start(Job { work, cancel, sender, home, seat })
    }

    fn start(self: &Arc<Self>, mut job: Job) -> Result<()> {
        let (home, jobs) = mpsc::channel(1);
        job.home = home;
        let (workers, alive) = (Arc::clone(self), self.threads.token());
        thread::Builder::new()
            .name("sqlite".to_owned())
            .stack_size(STACK)
            .spawn(move || workers.live(job, jobs, alive))
            .map(drop)
            .map_err(|error| Error::new(Kind::Unavailable, "no thread could be started for a session").because(error))
    }

    /// A session's life: one job after another on one connection.
    fn live(&self, first: Job, mut jobs: mpsc::Receiver<Job>, _alive: TaskTrackerToken) {
        let mut opened = None;
        let mut next = Some(first);
        while let Some(Job { work, cancel, sender, home, seat }) = next {
            let result = catch_unwind(AssertUnwindSafe(|| self.serve(&mut opened, work, &cancel, &sender)));
            cancel.leave();
            let result = result.unwrap_or_else(|_| {
                opened = None;
                Err(Error::internal("a session's thread panicked"))
            });
            if let Err(error) = result {
                if error.kind == Kind::Unavailable {
                    opened = None;
                }
                sender.fail(error);
            }
            // A transaction that could not be ended must not meet the next caller.
            if opened.as_ref().is_some_and(|opened: &OpenDatabase| !opened.connection.is_autocommit()) {
                opened = None;
            }
            drop(sender);
            self.rest(home);
            drop(seat);
            next = jobs.blocking_recv();
        }
    }

    fn serve(
        &self,
        opened: &mut Option<OpenDatabase>,
        work: Work,
        cancel: &Arc<CancelFlag>,
        sender: &Sender,
    ) -> Result<()> {
        if let Some(verdict) = cancel.verdict() {
            return Err(verdict);
        }
        if opened.as_ref().is_some_and(|opened| !opened.is_current(&self.path)) {
            *opened = None;
        }
        let opened = match opened {
            Some(opened) => opened,
            None => opened.insert(open(&self.path, self.role, &self.exposure)?),
        };
        opened.switch.set(Some(Arc::clone(cancel)));
        let connection = &mut opened.connection;
        let switch = Arc::clone(cancel);
        connection.progress_handler(INSTRUCTIONS, Some(move || switch.reached())).map_err(Error::internal)?;
        let switch = Arc::clone(cancel);
        let mut since = None;
        let wait = move |attempt: i32| {
            let since: Instant = *since.get_or_insert_with(Instant::now);
            if switch.reached() || (attempt > 0 && since.elapsed() >= LOCK_PATIENCE) {
                return false;
            }
            thread::park_timeout(Duration::from_millis(u64::from(attempt.unsigned_abs().clamp(1, 25))));
            true
        };
        connection.busy_handler(Some(wait)).map_err(Error::internal)?;
        cancel.enter(connection.get_interrupt_handle());
        let _watch = temporary_files::watch(self.role, cancel);
        work(opened, cancel, sender)
    }

    fn rest(&self, home: mpsc::Sender<Job>) {
        let mut state = self.lock();
        if !state.closed {
            state.idle.push(home);
        }
    }

    /// Takes no more jobs; every thread ends with its current one.
    pub(crate) fn retire(&self) {
        self.seats.close();
        self.threads.close();
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
    }

    /// Stops running jobs, ends the threads, and waits for them for a limited time.
    pub(crate) async fn close(&self) {
        self.retire();
        let running = std::mem::take(&mut self.lock().running);
        for cancel in running.iter().filter_map(Weak::upgrade) {
            cancel.stop(Kind::Unavailable);
        }
        let _in_time = tokio::time::timeout(FAREWELL, self.threads.wait()).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn closing() -> Error {
    Error::new(Kind::Unavailable, "the connection is closing")
}

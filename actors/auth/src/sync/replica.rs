//! Notices that another process has changed the database: a thread of its own listens for the notification of each
//! change, and also reads the count of changes at intervals, so that a lost notification delays a change by half a
//! second at most. The database may be unavailable, also at the start; the thread tries until it is available.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::settings::AuthSettings;
use crate::store::{Notification, Store};
use crate::verify::snapshot::Snapshot;
use portico_core::backoff::Backoff;
use portico_core::error::{Error, Kind, Result};
use portico_core::event::Event;
use portico_core::mutex::lock;

/// How long a change may stay unnoticed if its notification is lost.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The first delay before a store that is away is tried again; it doubles.
const RETRY_MIN: Duration = Duration::from_millis(100);
/// The longest one.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// The maximal number of commands waiting for the thread. A caller waits for the answer to each.
const MOST_COMMANDS: usize = 4096;

/// Work at the store for a waiting caller.
pub(crate) type Work = Box<dyn FnOnce(&mut Store) -> Done + Send>;

/// The result; the inner error is not the store's.
pub(crate) type Done = Result<Result<()>>;

/// A command to the thread.
enum Command {
    /// Something has changed.
    Changed,
    /// A caller waits for the next check.
    Sync(oneshot::Sender<()>),
    /// A caller has work at the store.
    Work(Work, oneshot::Sender<Done>),
}

/// What the thread has read.
#[derive(Default)]
struct News {
    fresh: Option<Snapshot>,
    /// Why the store cannot be read, as long as it cannot.
    failure: Option<String>,
}

/// The thread's other end.
pub(crate) struct Replica {
    commands: mpsc::Sender<Command>,
    news: Arc<Mutex<News>>,
    /// Tells the thread to end, even if its queue of commands is full.
    stop: Arc<AtomicBool>,
}

impl Replica {
    /// Starts the thread, and waits until it has tried once.
    pub(crate) fn start(settings: &AuthSettings) -> Result<Self> {
        let (commands, heard) = mpsc::channel(MOST_COMMANDS);
        let news = Arc::<Mutex<News>>::default();
        let (tried, first) = oneshot::channel();
        let stop = Arc::<AtomicBool>::default();
        // Only its timers are needed: the thread waits for commands.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::internal)?;
        let follower = Follower {
            settings: settings.clone(),
            runtime,
            heard,
            commands: commands.clone(),
            news: Arc::clone(&news),
            tried: Some(tried),
            opened: false,
            reported: None,
            stop: Arc::clone(&stop),
        };
        let thread = std::thread::Builder::new().name("store-watch".to_owned()).spawn(move || follower.run());
        thread.map_err(Error::internal)?;
        let replica = Self { commands, news, stop };
        match first.blocking_recv() {
            Ok(Err(error)) if error.kind == Kind::Invalid => Err(error),
            // An outage is reported already, and tried again.
            _ => Ok(replica),
        }
    }

    pub(crate) fn changed(&mut self) -> Result<Option<Snapshot>> {
        let mut news = lock(&self.news);
        if let Some(fresh) = news.fresh.take() {
            return Ok(Some(fresh));
        }
        match &news.failure {
            None => Ok(None),
            Some(cause) => Err(away().because(cause)),
        }
    }

    pub(crate) fn sync(&mut self, synced: oneshot::Sender<()>) {
        // If the queue is full, the caller notices that the channel is closed.
        let _ = self.commands.try_send(Command::Sync(synced));
    }

    pub(crate) fn work(&mut self, work: Work, done: oneshot::Sender<Done>) {
        if let Err(refused) = self.commands.try_send(Command::Work(work, done))
            && let Command::Work(_, done) = refused.into_inner()
        {
            let _ = done.send(Err(away().because("too many changes are waiting")));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // If the queue is full, an earlier command wakes the thread.
        let _ = self.commands.try_send(Command::Changed);
    }
}

fn away() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens is away").retry_after(Duration::from_secs(1))
}

/// The thread.
struct Follower {
    settings: AuthSettings,
    runtime: Runtime,
    heard: mpsc::Receiver<Command>,
    commands: mpsc::Sender<Command>,
    news: Arc<Mutex<News>>,
    /// Receives the result of the first attempt.
    tried: Option<oneshot::Sender<Result<()>>>,
    /// Whether the store was once brought up to date, with a key in it.
    opened: bool,
    /// The cause of the reported outage.
    reported: Option<String>,
    /// The handle was dropped.
    stop: Arc<AtomicBool>,
}

impl Follower {
    fn run(mut self) {
        let mut backoff = Backoff::new(RETRY_MIN, RETRY_MAX, u64::from(std::process::id()));
        loop {
            // A thread that ended with a panic would leave every later change unseen.
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let store = self.open()?;
                backoff.reset();
                self.follow(store)
            }));
            let error = match ended {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_) => Error::internal("the watch of the store panicked"),
            };
            self.failed(error);
            if !self.pause(backoff.delay()) {
                return;
            }
        }
    }

    /// Opens the store. A known store is opened without changes: it may be a standby for a while.
    fn open(&mut self) -> Result<Store> {
        let (place, clock) = (&self.settings.store, self.settings.clock.clone());
        let key = self.settings.store_key.clone();
        let store = if self.opened {
            Store::open_existing(place, key, clock)?
        } else {
            let mut store = Store::open_with(place, clock)?.sealed_with(key);
            store.ensure_key()?;
            self.opened = true;
            store
        };
        let (commands, peers) = (self.commands.clone(), self.settings.peers.clone());
        store.listen(move |notification| match notification {
            // A full queue holds a command that wakes the thread.
            Notification::Changed => drop(commands.try_send(Command::Changed)),
            Notification::CatalogChanged(payload) => peers.on_notification(payload),
        })?;
        // Notifications may have been missed until now.
        self.settings.peers.on_gap();
        Ok(store)
    }

    /// Looks whenever there is reason to, until the store fails.
    fn follow(&mut self, mut store: Store) -> Result<()> {
        let (mut known, mut waiting) = (None, Vec::new());
        loop {
            // Before the contents: a change in between is found at the next look.
            let revision = store.revision()?;
            let fresh = if known == Some(revision) { None } else { Some(Snapshot::load(&store)?) };
            known = Some(revision);
            self.found(fresh);
            for synced in waiting.drain(..) {
                let _ = oneshot::Sender::<()>::send(synced, ());
            }
            let deadline = Instant::now() + LOOK_EVERY;
            let mut word = match self.next(deadline) {
                Ok(Some(word)) => Some(word),
                Ok(None) => return Ok(()),
                Err(_) => None,
            };
            while let Some(next) = word {
                match next {
                    Command::Changed => {}
                    Command::Sync(synced) => waiting.push(synced),
                    Command::Work(work, done) => {
                        let result = work(&mut store);
                        let failed = matches!(&result, Err(error) if error.kind == Kind::Unavailable);
                        let cause = result.as_ref().err().and_then(Error::cause).map(str::to_owned);
                        let _ = done.send(result);
                        if failed {
                            return Err(away().because(cause.unwrap_or_default()));
                        }
                    }
                }
                word = self.heard.try_recv().ok();
            }
            if self.stop.load(Ordering::Acquire) {
                return Ok(());
            }
        }
    }

    /// Returns the next command, if one comes in time; `None` if no more can come.
    fn next(&mut self, deadline: Instant) -> std::result::Result<Option<Command>, Elapsed> {
        let heard = &mut self.heard;
        self.runtime.block_on(async { timeout_at(deadline, heard.recv()).await })
    }

    /// The store was read.
    fn found(&mut self, fresh: Option<Snapshot>) {
        {
            let mut news = lock(&self.news);
            news.failure = None;
            if fresh.is_some() {
                news.fresh = fresh;
            }
        }
        self.settings.store_read.store(true, Ordering::Release);
        if self.reported.take().is_some() {
            (self.settings.observer)(&Event::StoreResumed);
        }
        if let Some(tried) = self.tried.take() {
            let _ = tried.send(Ok(()));
        }
    }

    fn failed(&mut self, error: Error) {
        let cause = error.cause().unwrap_or(&error.message).to_owned();
        lock(&self.news).failure = Some(cause.clone());
        if self.reported.as_ref() != Some(&cause) {
            (self.settings.observer)(&Event::StoreFailed { cause: cause.clone() });
            self.reported = Some(cause);
        }
        if let Some(tried) = self.tried.take() {
            let _ = tried.send(Err(error));
        }
    }

    /// Pauses the use of the store, and tells callers meanwhile that it is unavailable. Returns false if the handle
    /// was dropped.
    fn pause(&mut self, delay: Duration) -> bool {
        let deadline = Instant::now() + delay;
        loop {
            match self.next(deadline) {
                _ if self.stop.load(Ordering::Acquire) => return false,
                // The caller notices that the channel is closed.
                Ok(Some(Command::Changed | Command::Sync(_))) => {}
                Ok(Some(Command::Work(_, done))) => drop(done.send(Err(away()))),
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

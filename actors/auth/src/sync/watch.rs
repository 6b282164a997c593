//! Notices that another process has changed the store. What is done with the new contents is decided elsewhere.

use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use crate::settings::AuthSettings;
use crate::store::StoreLocation;
use crate::sync::file::FileWatch;
use crate::sync::replica::{Done, Replica, Work};
use crate::verify::snapshot::Snapshot;
use portico_core::error::Result;

/// Watches one store.
pub(crate) enum StoreWatcher {
    /// A file, looked at before each answer.
    File(Box<FileWatch>),
    /// A database, checked by a thread of its own: no answer waits for a network.
    Replica(Replica),
}

impl StoreWatcher {
    /// Starts to watch the store of `settings`. Blocks; a file is opened, and created if it is missing. A database
    /// may be unavailable: it is tried again until it is available.
    ///
    /// # Errors
    /// If a file cannot be opened; [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the place contains
    /// something else or cannot be understood.
    pub(crate) fn open(settings: &AuthSettings) -> Result<Self> {
        let (clock, key) = (settings.clock.clone(), settings.store_key.clone());
        Ok(match &settings.store {
            StoreLocation::File(path) => {
                let first = !settings.store_read.load(Ordering::Acquire);
                Self::File(Box::new(FileWatch::open(path.clone(), clock, key, first)?))
            }
            StoreLocation::Postgres(_) => Self::Replica(Replica::start(settings)?),
        })
    }

    /// The contents, if they changed since they were last taken.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn changed(&mut self) -> Result<Option<Snapshot>> {
        match self {
            Self::File(file) => file.changed(),
            Self::Replica(replica) => replica.changed(),
        }
    }

    /// Returns true if [`StoreWatcher::changed`] may be behind the store for a moment.
    pub(crate) fn is_eventually_consistent(&self) -> bool {
        matches!(self, Self::Replica(_))
    }

    /// Returns true if the watcher itself reports the start and the end of an outage.
    pub(crate) fn reports_outages(&self) -> bool {
        matches!(self, Self::Replica(_))
    }

    /// Completes when the store was checked once more, so that a change announced by other means is found. Fails if
    /// it cannot be checked.
    pub(crate) fn sync(&mut self) -> oneshot::Receiver<()> {
        let (synced, waiting) = oneshot::channel();
        match self {
            // Looked at with each question anyway.
            Self::File(_) => drop(synced.send(())),
            Self::Replica(replica) => replica.sync(synced),
        }
        waiting
    }

    /// Runs `work` at the store. [`StoreWatcher::changed`] does not report its changes of a file.
    pub(crate) fn work(&mut self, work: Work) -> oneshot::Receiver<Done> {
        let (done, waiting) = oneshot::channel();
        match self {
            Self::File(file) => {
                // The caller may have left.
                let _ = done.send(file.store().and_then(work));
            }
            Self::Replica(replica) => replica.work(work, done),
        }
        waiting
    }
}

//! Notices that the store was changed by somebody else. What is done with the new contents is not
//! decided here.

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
    /// A database, looked at by a thread of its own: no answer waits for a network.
    Replica(Replica),
}

impl StoreWatcher {
    /// Begins to watch the store of `settings`. Blocks; a file is opened, and made if there is none. A
    /// database may be away: it is tried again until it is there.
    ///
    /// # Errors
    /// When a file cannot be opened; [`Kind::Invalid`](portico_core::error::Kind::Invalid) when the place
    /// holds something else or cannot be understood.
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

    /// Whether what [`StoreWatcher::changed`] tells may be behind the store for a moment.
    pub(crate) fn is_eventually_consistent(&self) -> bool {
        matches!(self, Self::Replica(_))
    }

    /// Whether an outage is told by the watch itself, when it begins and when it ends.
    pub(crate) fn reports_outages(&self) -> bool {
        matches!(self, Self::Replica(_))
    }

    /// Completes when the store was looked at once more: whoever was told of a change by other means
    /// finds it then. Fails when it cannot be looked at.
    pub(crate) fn sync(&mut self) -> oneshot::Receiver<()> {
        let (synced, waiting) = oneshot::channel();
        match self {
            // Looked at with each question anyway.
            Self::File(_) => drop(synced.send(())),
            Self::Replica(replica) => replica.sync(synced),
        }
        waiting
    }

    /// Does `work` at the store. What a file is changed by it is no change that [`StoreWatcher::changed`] tells of.
    pub(crate) fn work(&mut self, work: Work) -> oneshot::Receiver<Done> {
        let (done, waiting) = oneshot::channel();
        match self {
            Self::File(file) => {
                // Nobody waits any more.
                let _ = done.send(file.store().and_then(work));
            }
            Self::Replica(replica) => replica.work(work, done),
        }
        waiting
    }
}

//! Notices that another process has changed the file, before the next answer: one `stat` and one
//! `PRAGMA data_version`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::keys::sealing::StoreKey;
use crate::store::{FileId, Revision, Store, StoreLocation, identity};
use crate::verify::snapshot::Snapshot;
use portico_core::error::{Error, Kind, Result};

/// In WAL mode readers never wait for writers. Only an accident could make one wait, and meanwhile memory answers.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a file that made us wait is not read: it cannot be changed then either.
const PAUSE: Duration = Duration::from_millis(500);

/// Checks the file, and reports changes.
pub(crate) struct FileWatch {
    path: PathBuf,
    clock: Clock,
    key: Option<StoreKey>,
    open: Option<Open>,
    /// When it was locked.
    locked: Option<Instant>,
}

struct Open {
    store: Store,
    identity: FileId,
    /// `data_version` at the last reading; `None` if the contents were never read.
    version: Option<i64>,
    /// The store's revision at the last reading.
    revision: Option<Revision>,
}

impl FileWatch {
    /// Opens the store at `path`, and watches. At the first opening a file that is not there is made, and the first
    /// signing key; later on one that is not there is an outage.
    pub(crate) fn open(path: PathBuf, clock: Clock, key: Option<StoreKey>, first: bool) -> Result<Self> {
        if first {
            Store::open_with(&path, clock.clone())?.sealed_with(key.clone()).ensure_key()?;
        }
        let mut watch = Self { path, clock, key, open: None, locked: None };
        watch.open = Some(watch.reopen()?);
        Ok(watch)
    }

    /// The contents, if they changed since they were last read.
    ///
    /// # Errors
    /// When the store cannot be read; the next call tries again.
    pub(crate) fn changed(&mut self) -> Result<Option<Snapshot>> {
        let begun = Instant::now();
        if self.locked.is_some_and(|since| begun.duration_since(since) < PAUSE) {
            return Err(Error::new(Kind::Unavailable, "the store of users and tokens was locked a moment ago"));
        }
        let look = self.look();
        if look.is_err() {
            self.open = None;
        }
        self.locked = (look.is_err() && begun.elapsed() >= PATIENCE / 2).then(Instant::now);
        look
    }

    /// Returns the store as of the last check, for writing. [`FileWatch::changed`] does not report what is written
    /// through it.
    ///
    /// # Errors
    /// If the store could not be opened at the last check.
    pub(crate) fn store(&mut self) -> Result<&mut Store> {
        match &mut self.open {
            Some(open) => Ok(&mut open.store),
            None => Err(Error::new(Kind::Unavailable, "the store of users and tokens cannot be opened")),
        }
    }

    fn look(&mut self) -> Result<Option<Snapshot>> {
        let identity = identity(&self.path)?;
        let known = self.open.take().filter(|open| open.identity == identity);
        let open = match known {
            Some(open) => open,
            None => self.reopen()?,
        };
        let open = self.open.insert(open);
        // Taken before the contents: a change in between is found at the next look.
        let version = open.store.data_version()?;
        if open.version == version && version.is_some() {
            return Ok(None);
        }
        // Audit records are written to the same file, and are not a change.
        let revision = open.store.revision()?;
        if open.revision == Some(revision) {
            open.version = version;
            return Ok(None);
        }
        let snapshot = Snapshot::load(&open.store)?;
        (open.version, open.revision) = (version, Some(revision));
        Ok(Some(snapshot))
    }

    fn reopen(&self) -> Result<Open> {
        // Taken before: another file that takes its place meanwhile is found at the next look.
        let identity = identity(&self.path)?;
        let place = StoreLocation::File(self.path.clone());
        let store = Store::open_existing(&place, self.key.clone(), self.clock.clone())?;
        store.wait_at_most(PATIENCE)?;
        Ok(Open { store, identity, version: None, revision: None })
    }
}

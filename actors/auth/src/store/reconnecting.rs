//! A store that is opened on demand and reopened after failures, for users that outlive an outage. It is used
//! without authority, unless an administrator is named.
//!
//! A file that was there and is missing is an outage: no empty one is created in its place, since what was written
//! to a removed file would be lost.

use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::store::model::location::StoreLocation;
use crate::store::open::Store;
use crate::store::sql::failure::{RETRY, unavailable};
use crate::store::sqlite::{FileId, identity};
use portico_core::error::{Kind, Result};

/// How long work waits for another process that has locked a file.
const PATIENCE: Duration = Duration::from_secs(2);

/// A store that may be away for a while.
#[derive(Debug)]
pub struct ReconnectingStore {
    place: StoreLocation,
    clock: Clock,
    open: Option<Store>,
    /// The file that was opened last.
    file: Option<FileId>,
    failed: Option<Instant>,
}

impl ReconnectingStore {
    /// Makes a handle on the store at `place` without opening it. The first opening creates a missing file.
    pub fn new(place: StoreLocation, clock: Clock) -> Self {
        Self { place, clock, open: None, file: None, failed: None }
    }

    /// Runs `work` at the store.
    ///
    /// # Errors
    /// Those of `work`; [`Kind::Unavailable`] if the store is unavailable, and for a moment afterwards without
    /// another attempt, so that callers do not wait one after the other.
    pub fn with<T>(&mut self, work: impl FnOnce(&mut Store) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let done = self.open().and_then(work);
        match &done {
            Err(error) if error.kind == Kind::Unavailable => {
                self.open = None;
                // A file fails at once, unless it is locked: that is waited for once, and not by each in turn.
                if self.place.file().is_none() || begun.elapsed() >= PATIENCE / 2 {
                    self.failed.get_or_insert_with(Instant::now);
                }
            }
            _ => self.failed = None,
        }
        done
    }

    fn open(&mut self) -> Result<&mut Store> {
        if let Some(since) = self.failed {
            if since.elapsed() < RETRY {
                return Err(unavailable().because("connecting failed a moment ago"));
            }
            self.failed = None;
        }
        let now = match (self.place.file(), self.file) {
            (Some(path), Some(_)) => Some(identity(path)?),
            _ => None,
        };
        let kept = self.open.take().filter(|store| !store.is_closed() && now == self.file);
        if let Some(store) = kept {
            return Ok(self.open.insert(store));
        }
        let store = match self.file {
            Some(_) => Store::open_existing(&self.place, None, self.clock.clone())?,
            None => Store::open_with(&self.place, self.clock.clone())?,
        };
        self.file = self.place.file().map(identity).transpose()?;
        store.wait_at_most(PATIENCE)?;
        Ok(self.open.insert(store.of_nobody()))
    }
}

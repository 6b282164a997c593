//! How a function that runs for long learns that its statement has to end.

use std::sync::{Arc, Mutex};

use rusqlite::{Error, ffi};

use crate::sqlite::session::cancel_flag::CancelFlag;
use portico_core::mutex::lock;

/// The stop switch of the session's current job.
#[derive(Clone, Default)]
pub(crate) struct StopSwitch(Arc<Mutex<Option<Arc<CancelFlag>>>>);

impl StopSwitch {
    /// From here on this is the job at work.
    pub(crate) fn set(&self, cancel: Option<Arc<CancelFlag>>) {
        *lock(&self.0) = cancel;
    }

    /// Whether the job has to end.
    pub(crate) fn reached(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|cancel| cancel.reached())
    }
}

/// The statement has to end.
#[derive(Debug)]
pub(crate) struct Stopped;

impl From<Stopped> for Error {
    fn from(Stopped: Stopped) -> Self {
        Self::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
    }
}

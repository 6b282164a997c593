//! Work at a store that is watched.

use tokio::sync::oneshot;

use crate::store::Store;
use portico_core::error::{Error, Result};

/// Work at the store that somebody waits for.
pub(crate) type Work = Box<dyn FnOnce(&mut Store) -> Done + Send>;

/// What came of it; the inner failure is none of the store.
pub(crate) type Done = Result<Result<()>>;

/// The watch has gone, with whatever it was asked.
pub(crate) fn gone(_: oneshot::error::RecvError) -> Error {
    Error::internal("nobody watches the store")
}

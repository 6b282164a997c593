//! The supervisor: one monitor for each connection, and its actors on all threads, each connection watched
//! and restarted on its own, and a snapshot in which callers look them up without a hop.

mod entry;
mod handle;
mod idle;
mod reload;
mod snapshot;
mod supervisor;
mod usage;

pub use crate::connection::{ConnectionSpec, Intensity, Start, changed};
pub use entry::ConnectionEntry;
pub use handle::Directory;
pub use usage::ConnectionLease;

//! The supervisor: one `ConnectionActor` for each connection, each watched
//! and restarted on its own, and a snapshot in which callers look them up without a hop.

mod entry;
mod handle;
mod idle;
mod snapshot;
mod supervisor;
mod usage;

pub use crate::connection::{Connection, Intensity, Start};
pub use entry::Entry;
pub use handle::Directory;
pub use usage::InUse;

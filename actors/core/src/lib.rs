//! The values and errors that all floors behind the mailbox share. Nothing here reads a file, a socket or a statement.

mod caller;
pub mod error;
pub mod finding;
mod limits;
pub mod loopback;
mod message;
pub mod mutex;
mod naming;
pub mod worker;
pub mod workspace;

pub use caller::{identity, principal, reach};
pub use limits::{backoff, budget, fair_queue, heartbeat, shares};
pub use message::{call, effects, event, reply, trace};
pub use naming::{calendar, keyed, name, near, pattern};

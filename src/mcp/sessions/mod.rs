//! The sessions of the 2025 revisions: one bounded table, in memory. The handshake that begins one
//! is in `versions/session.rs`.

mod owner;
mod session;
mod table;

pub use owner::{NOT_SHARED, Owner};
pub use session::{ListeningStream, PeerResponse, RunningRequest, Session};
pub use table::{SessionLimits, Sessions};

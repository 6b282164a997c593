//! The sessions of the 2025 revisions: one bounded table, in memory. The handshake that begins one
//! is in `rim/session.rs`.

mod owner;
mod pending_requests;
mod registry;
mod session;
mod table;

pub use owner::Owner;
pub use pending_requests::{PeerResponse, PendingRequest};
pub use registry::{SessionLimits, Sessions};
pub use session::{ListeningStream, RunningRequest, Session};

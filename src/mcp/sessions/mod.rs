//! The sessions of the 2025 revisions: one bounded table, in memory. The handshake that begins one
//! is in `mcp/session.rs`.

mod asking;
mod holder;
mod registry;
mod session;
mod table;

pub use asking::{Answer, Asking};
pub use holder::Holder;
pub use registry::{Bounds, Sessions};
pub use session::{Listening, Running, Session};

//! What goes through a mailbox, and what comes back: calls, replies, and what is told of both.

pub mod call;
pub mod event;
pub mod reply;
pub(crate) mod request;
pub mod trace;

//! Messages through a mailbox: calls, replies, and events about them.

pub mod call;
pub mod effects;
pub mod event;
pub mod reply;
pub(crate) mod request;
pub mod trace;

//! The wire of a session: its bytes, its messages, and its notices.

pub(crate) mod cancel;
pub(crate) mod driven_client;
pub(crate) mod lingering;
pub(crate) mod messages;
pub(crate) mod notices;
pub(crate) mod session_memory;
pub(crate) mod stream;
pub(crate) mod tls;

//! Threads with one connection each, how their work is stopped, and how its answer is sent.

pub(crate) mod cancel_flag;
pub(crate) mod channel;
pub(crate) mod temporary_files;
pub(crate) mod worker_pool;

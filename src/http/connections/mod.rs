//! Clients' connections: how they come about, what comes on them, and how they end.

pub(in crate::http) mod connection;
pub(in crate::http) mod input;
pub(in crate::http) mod listening;
pub(in crate::http) mod peer;
pub(in crate::http) mod socket;
pub(in crate::http) mod write_timeout;

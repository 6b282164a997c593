//! Clients' connections: their start, their input, and their end.

pub(in crate::http) mod connection;
pub(in crate::http) mod input;
pub(in crate::http) mod listening;
pub(in crate::http) mod peer;
pub(in crate::http) mod socket;
pub(in crate::http) mod write_timeout;

//! The SQL API.

pub(in crate::http) mod answer;
pub(in crate::http) mod bodies;
pub(in crate::http) mod idempotency;
pub(in crate::http) mod media;
pub(in crate::http) mod metadata;
pub(in crate::http) mod parameters;
pub(in crate::http) mod sql;

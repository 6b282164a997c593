//! Public resources: documents, health, and answers for unknown paths.

pub(in crate::http) mod description;
pub(in crate::http) mod fallback;
pub(in crate::http) mod health;
pub(in crate::http) mod metrics;
pub(in crate::http) mod well_known;

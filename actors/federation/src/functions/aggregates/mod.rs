//! Aggregates and window functions that the engine has not, or not as PostgreSQL.

pub(crate) mod ordered_set;
pub(crate) mod single;
pub(crate) mod windows;

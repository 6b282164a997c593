//! The service from its start to its end, and the commands that speak with it.

pub(in crate::cli) mod control;
pub(in crate::cli) mod logging;
pub(in crate::cli) mod notify;
pub(in crate::cli) mod reload;
pub(in crate::cli) mod serve;
pub(in crate::cli) mod serve_database;

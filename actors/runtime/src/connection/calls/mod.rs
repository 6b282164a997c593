//! Executes one call: its permit, its plan, its guards, and reading its results.

pub(in crate::connection) mod guards;
pub(in crate::connection) mod reader_timeout;
pub(in crate::connection) mod run;
pub(in crate::connection) mod runner;
pub(in crate::connection) mod script;
mod surprises;

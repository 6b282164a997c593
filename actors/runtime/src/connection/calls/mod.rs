//! How one call is carried out: its permit, its plan, what guards it, and how its results are read.

pub(in crate::connection) mod guards;
pub(in crate::connection) mod reader_timeout;
pub(in crate::connection) mod run;
pub(in crate::connection) mod runner;
pub(in crate::connection) mod script;

//! What stands around a statement: its transaction, or none, and who it runs as.

pub(crate) mod autocommit;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod transaction;

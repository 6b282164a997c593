//! What surrounds a statement: its transaction, if any, and the role that it runs as.

pub(crate) mod autocommit;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod transaction;

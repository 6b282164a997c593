//! Running statements: one, several in a transaction, and one for many sets of values.

pub(crate) mod autocommit;
pub(crate) mod batch;
pub(crate) mod execution;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod prepared;
pub(crate) mod procedure;
pub(crate) mod response;
pub(crate) mod rows;
pub(crate) mod running;
pub(crate) mod script;
pub(crate) mod shared;
pub(crate) mod statement;
pub(crate) mod text_fallback;
pub(crate) mod transaction;

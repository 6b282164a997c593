//! Running statements: one, several in a transaction, and one for many sets of values.

pub(crate) mod answer;
pub(crate) mod batch;
pub(crate) mod identity;
pub(crate) mod job;
pub(crate) mod mode;
pub(crate) mod prepared;
pub(crate) mod printed;
pub(crate) mod procedure;
pub(crate) mod rows;
pub(crate) mod running;
pub(crate) mod script;
pub(crate) mod shared;
pub(crate) mod statement;
pub(crate) mod transaction;

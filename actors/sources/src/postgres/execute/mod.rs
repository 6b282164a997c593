//! Running statements: one, several in a transaction, and one for many sets of values.

pub(crate) mod answer;
pub(crate) mod batch;
pub(crate) mod envelope;
pub(crate) mod execution;
pub(crate) mod prepared;
pub(crate) mod procedure;
pub(crate) mod script;
pub(crate) mod sent_text;
pub(crate) mod shared;
mod slots;
pub(crate) mod statement;

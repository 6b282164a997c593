//! What is joined where, and in which order.

pub(super) mod chain;
pub(super) mod exists;
pub(super) mod order;
pub(super) mod sources;

//! The position and the order of joins.

pub(super) mod chain;
pub(super) mod exists;
pub(super) mod order;
pub(super) mod sources;

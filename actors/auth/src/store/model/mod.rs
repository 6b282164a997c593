//! What the store is told and tells, apart from its rows.

pub(crate) mod authority;
pub(crate) mod change;
pub(crate) mod location;

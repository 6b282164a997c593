//! The store's input and output, apart from its rows.

pub(crate) mod authority;
pub(crate) mod change;
pub(crate) mod location;

//! What columns are called, and where they come from.

pub(crate) mod labels;
pub(crate) mod origin;
pub(crate) mod unique;

//! The names of columns, and their origin.

pub(crate) mod labels;
pub(crate) mod origin;
pub(crate) mod unique;

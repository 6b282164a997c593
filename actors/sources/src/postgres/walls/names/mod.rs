//! The names of hidden objects, and how they are kept out of texts.

pub(crate) mod hidden;
pub(crate) mod hiding;
pub(crate) mod mask;

//! The names of what is hidden, and how they are kept out of texts.

pub(crate) mod hidden;
pub(crate) mod hiding;
pub(crate) mod mask;

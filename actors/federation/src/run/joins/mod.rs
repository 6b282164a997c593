//! Joins while they run: what one side finds narrows what the other asks for.

pub(crate) mod binding;
pub(crate) mod collecting;
pub(crate) mod key_values;
pub(crate) mod keys;
pub(crate) mod yielding;

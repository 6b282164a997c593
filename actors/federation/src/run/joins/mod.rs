//! Joins at run time: keys found on one side narrow the query of the other.

pub(crate) mod binding;
pub(crate) mod collecting;
pub(crate) mod key_values;
pub(crate) mod keys;
pub(crate) mod yielding;

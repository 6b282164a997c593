//! What the names of a statement stand for, and what their columns are.

pub(crate) mod catalog;
pub(crate) mod table;
pub(crate) mod untyped;

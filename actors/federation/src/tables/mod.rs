//! Resolves the names of a statement, and describes their columns.

pub(crate) mod catalog;
mod main_folder;
pub(crate) mod table;
pub(crate) mod untyped;

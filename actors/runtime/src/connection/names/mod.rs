//! Names as callers write them: found, misspelt, or near.

pub(in crate::connection) mod columns;
pub(in crate::connection) mod listing;
pub(in crate::connection) mod misspelt;
pub(in crate::connection) mod nearby;
mod rules;
pub(in crate::connection) mod workspace_names;

//! Statements that both kinds of database understand, with their parameters and rows.

pub(crate) mod columns;
pub(crate) mod duplicate_emails;
pub(crate) mod failure;
pub(crate) mod format;
pub(crate) mod params;
pub(crate) mod row;

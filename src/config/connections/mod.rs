//! `[[connections]]`, with the tables in it, and `[defaults]`.

pub(in crate::config) mod address;
pub(in crate::config) mod connection;
pub(in crate::config) mod defaults;
pub(in crate::config) mod identity;
pub(in crate::config) mod offer;
pub(in crate::config) mod prompt;
pub(in crate::config) mod statement;

//! Reads the file's schema.

mod checks;
pub(crate) mod comments;
pub(crate) mod keys;
pub(crate) mod listing;
pub(crate) mod metadata;

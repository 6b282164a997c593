//! What is read from the file's schema.

pub(crate) mod comments;
pub(crate) mod facets;
pub(crate) mod keys;
pub(crate) mod listing;

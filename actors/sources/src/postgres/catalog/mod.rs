//! Reads the server's catalogue, and caches it.

pub(crate) mod cache;
pub(crate) mod checks;
pub(crate) mod details;
pub(crate) mod fragments;
pub(crate) mod keys;
pub(crate) mod metadata;
pub(crate) mod relations;
pub(crate) mod routines;

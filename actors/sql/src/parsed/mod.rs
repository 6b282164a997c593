//! The result of parsing a statement: its tree, its class, its names and relations.

pub(crate) mod class;
pub(crate) mod effects;
pub(crate) mod functions;
pub(crate) mod mask;
pub(crate) mod names;
pub(crate) mod relations;
#[cfg(any(test, fuzzing))]
pub(crate) mod shape;
pub(crate) mod shape_cache;
pub(crate) mod tree;

//! From a text to a statement of the engine: rewrites its syntax, refuses what differs, and limits its size.

pub(super) mod bounds;
mod cast_aliases;
mod identifiers;
mod intervals;
pub(crate) mod keys;
mod names;
pub(super) mod parameters;
pub(crate) mod parse;
mod recursive;
mod refused;
mod spelling;
pub(super) mod syntax;

//! The engine's values as cells, and its columns as the columns of the wire.

pub(crate) mod columns;
pub(crate) mod proof;
pub(crate) mod rows;
pub(crate) mod types;

//! The server's binary values as cells, and its types as the types of the wire.

pub(crate) mod array;
pub(crate) mod cells;
pub(crate) mod columns;
pub(crate) mod decoder;
pub(crate) mod malformed;
pub(crate) mod network;
pub(crate) mod numeric;
pub(crate) mod temporal;
pub(crate) mod types;

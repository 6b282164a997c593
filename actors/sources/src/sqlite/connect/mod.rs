//! Opening the file, with every lock and limit in place.

pub(crate) mod limits;
pub(crate) mod open;
pub(crate) mod open_error;

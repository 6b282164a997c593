//! Opening the file, with every lock and limit in place.

pub(crate) mod open;

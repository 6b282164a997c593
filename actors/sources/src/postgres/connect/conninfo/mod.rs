//! Parses an address: its parameters, and the password that belongs to it.

pub(crate) mod invalid;
pub(crate) mod options;
pub(crate) mod parameters;
pub(crate) mod password;

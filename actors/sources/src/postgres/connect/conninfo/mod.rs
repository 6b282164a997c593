//! What an address asks for: its parameters, and the password that goes with it.

pub(crate) mod invalid;
pub(crate) mod options;
pub(crate) mod parameters;
pub(crate) mod password;

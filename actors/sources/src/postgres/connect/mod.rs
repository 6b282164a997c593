//! Opens sessions: the address, the host, TLS, the password and the wire itself.

pub(crate) mod connect_error;
pub(crate) mod connector;
mod conninfo;
pub(crate) mod login;
pub(crate) mod protocol;

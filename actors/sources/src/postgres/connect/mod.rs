//! How a session comes about: the address, the host, TLS, the password and the wire itself.

pub(crate) mod cancel;
pub(crate) mod connector;
pub(crate) mod fault;
pub(crate) mod invalid;
pub(crate) mod lending;
pub(crate) mod login;
pub(crate) mod messages;
pub(crate) mod notices;
pub(crate) mod options;
pub(crate) mod parameters;
pub(crate) mod password;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod wire;

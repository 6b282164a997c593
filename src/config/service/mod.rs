//! The tables that are about the service as a whole.

pub(in crate::config) mod audit;
pub(in crate::config) mod clients;
pub(in crate::config) mod federation;
pub(in crate::config) mod issuer;
pub(in crate::config) mod log;
pub(in crate::config) mod server;
pub(in crate::config) mod store;
pub(in crate::config) mod telemetry;
pub(in crate::config) mod tls;

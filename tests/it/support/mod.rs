//! What every test needs: a running service, real databases, and small readers of results. No
//! test lives here.

pub(crate) mod app;
pub(crate) mod browser;
pub(crate) mod cluster;
pub(crate) mod configuration;
pub(crate) mod dice;
pub(crate) mod failures;
pub(crate) mod fixture;
pub(crate) mod launched;
pub(crate) mod mcp;
pub(crate) mod person;
pub(crate) mod pgbouncer;
pub(crate) mod postgres;
pub(crate) mod process;
pub(crate) mod proxy;
pub(crate) mod raw;
pub(crate) mod results;
pub(crate) mod service;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod wire;

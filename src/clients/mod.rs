//! What published clients want so that they use this service: for `portico connect`, and for people's own page.

pub(crate) mod client;
pub(crate) mod mcp_server;
mod programs;
pub(crate) mod setup;
pub(crate) mod setups;

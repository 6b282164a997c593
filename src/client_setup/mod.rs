//! Set-up texts for published clients: for `portico connect`, and for people's own page.

pub(crate) mod client;
pub(crate) mod mcp_server;
mod programs;
pub(crate) mod setup;
pub(crate) mod setups;

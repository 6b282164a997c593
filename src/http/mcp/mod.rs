//! The MCP endpoint.

pub(in crate::http) mod admission;
pub(in crate::http) mod open_streams;
pub(in crate::http) mod post;
pub(in crate::http) mod request;
pub(in crate::http) mod sse;
pub(in crate::http) mod streams;

//! OAuth 2: clients, grants, authorization codes, refresh tokens, introspection and revocation.

pub mod authorization;
pub mod client;
pub(crate) mod grant;
pub(crate) mod introspection;
mod redirects;

//! What OAuth 2 knows: clients, grants, authorization codes, refresh tokens, introspection and revocation.

pub mod authorization;
pub mod client;
pub(crate) mod grant;
pub(crate) mod introspection;
mod redirects;

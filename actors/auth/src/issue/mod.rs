//! Issues access tokens, and publishes the keys that verify them.

pub(crate) mod published;
pub(crate) mod token_issuer;
pub(crate) mod token_request;

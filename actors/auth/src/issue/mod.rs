//! Access tokens are issued here, and the keys published that verify them.

pub(crate) mod published;
pub(crate) mod token_issuer;
pub(crate) mod token_request;

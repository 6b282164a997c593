//! Credentials are verified here: tokens and their signatures, what the store held when it was last read, and what was
//! found not long ago.

pub(crate) mod active_tokens;
pub(crate) mod authenticate;
pub(crate) mod authentication;
pub(crate) mod cache;
pub(crate) mod in_flight;
pub(crate) mod judging;
pub(crate) mod jws;
pub(crate) mod pending;
pub(crate) mod refusal;
pub(crate) mod resource;
pub(crate) mod snapshot;
pub(crate) mod token;

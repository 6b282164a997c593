//! Verifies credentials: tokens and their signatures, against the store as it was last read, with a cache of recent
//! verdicts.

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

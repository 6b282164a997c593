//! Verifies credentials: tokens and their signatures, against the store as it was last read, with a cache of recent
//! verdicts.

pub(crate) mod active_tokens;
pub(crate) mod cache;
pub(crate) mod decision;
pub(crate) mod handler;
pub(crate) mod in_flight;
pub(crate) mod jws;
pub(crate) mod pending;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod resource;
pub(crate) mod snapshot;
pub(crate) mod token;

//! Issuers besides our own: what they are trusted with, and how their keys are fetched.

pub(crate) mod fetching;
pub(crate) mod issuer;
pub(crate) mod jwks;

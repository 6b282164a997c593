//! Who the caller is, which database role the caller has, and what the caller can reach.

pub mod identity;
pub mod principal;
pub mod reach;

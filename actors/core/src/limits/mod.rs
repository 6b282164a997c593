//! How much, how often and how long: shares, budgets, delays.

pub mod backoff;
pub mod beat;
pub mod budget;
pub mod shares;

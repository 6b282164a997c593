//! How much, how often and how long: shares, budgets, delays.

pub mod backoff;
pub mod budget;
pub mod heartbeat;
pub mod shares;

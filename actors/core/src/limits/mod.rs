//! How much, how often and how long: shares, budgets, turns, delays.

pub mod backoff;
pub mod budget;
pub mod fair_queue;
pub mod heartbeat;
pub mod shares;

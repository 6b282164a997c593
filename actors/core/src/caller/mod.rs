//! Who calls, who they are in a database, and what they reach.

pub mod identity;
pub mod principal;
pub mod reach;

//! Functions and casts of our own, where the engine's differ from PostgreSQL's or grow without a bound.

pub(crate) mod casts;
pub(crate) mod growing;
pub(crate) mod numbers;

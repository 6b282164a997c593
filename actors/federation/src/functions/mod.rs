//! Functions, operators and casts as PostgreSQL has them.

pub(crate) mod aggregates;
pub(crate) mod allowed;
mod cases;
pub(crate) mod growing;
mod in_turn;
pub(crate) mod numbers;
mod own;
pub(crate) mod postgresql;
mod recursive;
pub(crate) mod regular;
mod set_operations;
pub(crate) mod times;
pub(crate) mod types;

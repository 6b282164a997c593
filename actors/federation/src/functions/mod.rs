//! Functions, operators and casts as PostgreSQL has them.

pub(crate) mod aggregates;
pub(crate) mod allowed;
pub(crate) mod bounded_text;
mod cases;
mod membership;
pub(crate) mod numbers;
pub(crate) mod postgresql;
mod recursive;
pub(crate) mod regular;
mod set_operations;
mod short_circuit;
pub(crate) mod times;
pub(crate) mod types;
mod udf_macros;
mod user_defined;

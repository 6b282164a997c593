//! Runs a plan: queries sources, narrows the queries by keys, returns rows.

mod batches;
pub(crate) mod buffered_aggregates;
pub(crate) mod deferred_start;
pub(crate) mod fragment;
pub(crate) mod joins;
pub(crate) mod leaf;
pub(crate) mod results;
pub(crate) mod shared;
pub(crate) mod skipping;
mod unary_node;
pub(crate) mod unordered;
pub(crate) mod windows;
mod wrapping_rule;

//! What happens while a plan runs: sources are asked, keys narrow them, rows are handed on.

mod batches;
pub(crate) mod fragment;
pub(crate) mod gathered;
pub(crate) mod joins;
pub(crate) mod later;
pub(crate) mod leaf;
mod one_input;
pub(crate) mod results;
pub(crate) mod shared;
pub(crate) mod unordered;
pub(crate) mod windows;
mod wrap;

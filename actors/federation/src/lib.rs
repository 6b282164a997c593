//! Statements over several connections: an engine plans them, has each source do what it can do exactly, and does the
//! rest itself.
//!
//! A text goes through `planning` (names by `catalog`, `table` and `labels`, values by `parameters`), `push` (what the sources do)
//! `binding` and `keys` (what joins tell them while they run); `leaf` asks a source; `results` hands the rows on.

mod binding;
mod bounds;
mod casts;
mod catalog;
mod connections;
mod dialect;
mod engine;
mod exact;
mod explained;
mod failure;
mod fragment;
mod growing;
mod keys;
mod labels;
mod later;
mod leaf;
mod numbers;
mod order;
mod origin;
mod parameters;
mod parse;
mod planning;
mod push;
mod results;
mod statement;
mod table;
mod unique;
mod untyped;
mod values;
mod yielding;

pub use self::connections::{Connections, Member};
pub use self::engine::{Engine, Settings};
pub use self::fragment::{Bound, Fragment};
pub use self::statement::Statement;

//! Statements over several connections: an engine plans them, pushes down to each source what it can do exactly,
//! and does the rest itself.
//!
//! A text goes through `plan` (its names through `tables`) and `push` (the sources' parts). In `run`, `joins`
//! passes keys that joins have found to the sources; `leaf` queries a source; `results` returns the rows.

mod connections;
mod dialect;
mod engine;
mod engine_words;
mod external_error;
mod failure;
mod functions;
mod plan;
mod push;
mod run;
mod statement;
mod tables;
mod values;

pub use self::connections::{Connections, SourceConnection};
pub use self::engine::{Engine, Settings};
pub use self::functions::allowed::functions;
pub use self::run::fragment::{Bound, Fragment};
pub use self::statement::Statement;

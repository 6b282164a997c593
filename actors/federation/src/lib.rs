//! Statements over several connections: an engine plans them, has each source do what it can do exactly, and does the
//! rest itself.
//!
//! A text goes through `plan` (its names through `tables`) and `push` (what the sources do). In `run`, `binding` and `keys`
//! are what joins tell the sources; `leaf` asks a source; `results` hands the rows on.

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

//! Names, classes and placeholders of SQL statements: pure functions over one guarded parse.
//! Nothing here runs a statement; the engine's own locks do not rely on it.
//!
//! A text goes through `lexer` (with `blank`, `place`, `bracket` and `placeholder`), `split` and `guard`;
//! each statement through `memory`, and where its shape is new `mask` and `tree`, or the scans of `names` and `effects` where
//! it is not parsed; then `class`, `names` and `rewrite` make a `Statement` of it.

mod blank;
mod bracket;
mod class;
mod dialect;
mod effects;
mod every_row;
mod frame;
mod functions;
mod guard;
#[cfg(any(test, fuzzing))]
pub mod invariants;
mod lexer;
mod listed;
mod mask;
mod memory;
mod names;
mod outline;
mod place;
mod placeholder;
mod plain;
mod procedure;
mod redact;
mod relations;
mod rewrite;
#[cfg(any(test, fuzzing))]
mod shape;
mod split;
mod statement;
mod token;
mod tree;
mod within;

#[cfg(test)]
mod tests;

pub use self::class::Class;
pub use self::class::reads_only_pragma;
pub use self::dialect::Dialect;
pub use self::frame::{parameters_apart, query_behind_with};
pub use self::lexer::tokens_at_source as tokens;
pub use self::listed::{ListedRelation, listed_relations};
pub use self::names::{Named, Naming};
pub use self::outline::{Outline, outline};
pub use self::placeholder::Given;
pub use self::plain::is_plain_name;
pub use self::procedure::procedure_name;
pub use self::redact::{Redact, redacted};
pub use self::rewrite::Edit;
pub use self::statement::{Statement, catalogs, statements, statements_over_connections, statements_with};
pub use self::statement::{is_open, with_values};
pub use self::token::{Kind, Token};
pub use self::within::{InWorkspace, Renamed, statements_within, written};

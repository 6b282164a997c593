//! Names, classes and placeholders of SQL statements: pure functions over one guarded parse.
//! Nothing here runs a statement; the engine's own locks do not rely on it.
//!
//! A text goes through `lexing`: `lexer` (with `blank`, `place`, `bracket` and `placeholder`), `split` and `guard`.
//! Each statement then goes through `parsed`: `shape_cache` returns the facts of a known shape. A new shape goes
//! through `mask` and `tree`, or through the scans of `names` and `effects` if it cannot be parsed. `class`,
//! `names` and `rewrite` make a `Statement` of the result. `within` does so for the names of a workspace.
//! `parse_cache` keeps recent statements.

mod dialect;
#[cfg(any(test, fuzzing))]
pub mod invariants;
mod lexing;
mod parse_cache;
mod parsed;
mod rewrite;
mod scans;
mod statement;
mod workspace_rewrite;

#[cfg(test)]
mod tests;

pub use self::dialect::Dialect;
pub use self::lexing::lexer::tokens_at_source as tokens;
pub use self::lexing::placeholder::ParameterNames;
pub use self::lexing::token::{Kind, Token, closing_quote};
pub use self::parse_cache::{recall, statements_with};
pub use self::parsed::class::Class;
pub use self::parsed::class::reads_only_pragma;
pub use self::parsed::names::{Named, Naming};
pub use self::rewrite::Edit;
pub use self::scans::frame::{
    ParametersApart, alike_parameters, parameter_positions, parameters_apart, parameters_like, parameters_written,
    query_behind_with,
};
pub use self::scans::listed::{ListedRelation, listed_relations};
pub use self::scans::plain::{is_plain_name, quoted};
pub use self::scans::procedure::procedure_name;
pub use self::scans::redact::{Redact, redacted};
pub use self::scans::repeated::{ParameterPlace, parameter_places};
pub use self::scans::session_user::names_session_user;
pub use self::scans::statement_form::{StatementForm, statement_form};
pub use self::scans::temporary::makes_temporary;
pub use self::statement::{Addressed, Statement, addressed, catalogs, statements, statements_over_connections};
pub use self::statement::{TRUNCATE, is_open, with_values};
pub use self::workspace_rewrite::{InWorkspace, Renamed, statements_within, written};

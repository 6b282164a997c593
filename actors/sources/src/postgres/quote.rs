//! Names as statements write them.

use portico_sql::Dialect;

/// A name as a statement writes it, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    Dialect::POSTGRESQL.quoted(name)
}

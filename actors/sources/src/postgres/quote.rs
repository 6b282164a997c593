//! Names as statements write them.

use portico_sql::Dialect;

/// Quotes a name, whatever characters it contains.
pub(crate) fn quoted(name: &str) -> String {
    Dialect::POSTGRESQL.quoted(name)
}

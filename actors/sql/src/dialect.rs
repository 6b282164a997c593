//! The dialects of SQL that are read.

/// Whose SQL it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL 15–18.
    PostgreSql,
    /// SQLite 3.
    Sqlite,
}

//! Limits of every engine that compiles a caller's statement.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

/// Octets in a value, a row and a statement's text at most.
pub(crate) const LONGEST: usize = 64 << 20;
/// Arguments of a function at most.
pub(crate) const ARGUMENTS: usize = 200;

/// Limits of one connection (<https://www.sqlite.org/limits.html>), tighter than SQLite's own
/// because the statements come from strangers.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "both are small")]
const LIMITS: &[(Limit, i32)] = &[
    // A value or a row: several copies of it are in memory on its way out.
    (Limit::SQLITE_LIMIT_LENGTH, LONGEST as i32),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, ARGUMENTS as i32),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 4 << 20),
    // SQLite's own: programs write a condition for each of their rows.
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1000),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // Matching takes time in the product of pattern and text.
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 100),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Sets the limits of an engine that compiles a caller's statement.
///
/// # Errors
/// SQLite's error.
pub(crate) fn confine(connection: &Connection) -> rusqlite::Result<()> {
    for (limit, most) in LIMITS {
        connection.set_limit(*limit, *most)?;
    }
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        // A misspelt "column" is an error, not a string.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
    ] {
        connection.set_db_config(setting, on)?;
    }
    Ok(())
}

//! The file's format and how an older one is brought up to date. The tables themselves are in
//! `migrations/sqlite/`, one numbered file for each version.

use rusqlite::{Connection, TransactionBehavior};

use crate::clock::Clock;
use crate::store::sql::failure::broken;
use crate::store::sql::format::{Migrations, migrations};
use crate::store::sql::{duplicate_emails, format};
use crate::store::sqlite::statements::{execute, query};
use portico_core::error::{Error, Result};

/// Each step of the format, under the version that it leads to.
const MIGRATIONS: Migrations = migrations!("sqlite");

const _: () = assert!(matches!(MIGRATIONS, [.., (format::CURRENT, _)]), "the last step leads to the current version");

/// Identifies our files among other databases: "Port" in ASCII.
const APPLICATION_ID: i64 = 0x506f_7274;

/// Migrates the file, each step in a transaction of its own.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    version(connection)?;
    // Kept in the file: readers then never wait for writers, nor writers for readers.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(broken)?;
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
        // Read under the lock: another process may have been faster.
        let done = version(&transaction)?;
        let Some((next, migration)) = MIGRATIONS.iter().find(|(step, _)| *step > done) else {
            return Ok(());
        };
        transaction.execute_batch(migration).map_err(broken)?;
        if *next == duplicate_emails::VERSION {
            key_addresses(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(broken)?;
        transaction.pragma_update(None, "user_version", next).map_err(broken)?;
        transaction.commit().map_err(broken)?;
    }
}

fn key_addresses(connection: &Connection) -> Result<()> {
    let users = query(connection, duplicate_emails::USERS, &Vec::new(), duplicate_emails::user)?;
    for (sql, params) in duplicate_emails::keyed(&users, Clock::system().now().time()) {
        execute(connection, sql, &params)?;
    }
    Ok(())
}

/// Whether the file has exactly the format that this program reads.
pub(crate) fn check(connection: &Connection) -> Result<()> {
    format::check(version(connection)?)
}

/// The file's version; 0 for an empty one.
fn version(connection: &Connection) -> Result<i64> {
    // One statement, so that another process cannot come between the answers.
    let sql = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
               FROM pragma_application_id, pragma_user_version";
    let (application, version, objects): (i64, i64, i64) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(foreign)?;
    match (application, version) {
        (0, 0) if objects == 0 => Ok(0),
        (APPLICATION_ID, 1..) => format::known(version),
        _ => Err(not_a_store()),
    }
}

fn foreign(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => not_a_store().because(error),
        _ => broken(error),
    }
}

fn not_a_store() -> Error {
    Error::invalid("the file of the store holds something else").hint("name another file, which may not exist yet")
}

//! The seam between what the store keeps and where it is kept: one connection, whose statements are
//! written once. They are SQL that both kinds of database understand, with SQLite's placeholders
//! (`?1`, `:name`).

use rusqlite::{Transaction, TransactionBehavior};

use crate::store::sql::failure::{StatementError, StatementResult, broken};
use crate::store::sql::params::ToParams;
use crate::store::sql::row::Row;
use crate::store::{postgres, sqlite};
use portico_core::error::Result;

/// A connection to the store.
#[derive(Debug)]
pub(super) enum Connection {
    /// To a SQLite file.
    File(rusqlite::Connection),
    /// To a PostgreSQL database.
    Postgres(postgres::PostgresSession),
}

impl Connection {
    /// Runs one statement; how many rows it concerned.
    pub(super) fn execute(&self, sql: &str, values: impl ToParams) -> StatementResult<usize> {
        match self {
            Self::File(connection) => sqlite::execute(connection, sql, &values.params()?),
            Self::Postgres(remote) => remote.execute(sql, values.params()?),
        }
    }

    /// Every row of one statement.
    pub(super) fn query<T>(
        &self,
        sql: &str,
        values: impl ToParams,
        mut read: impl FnMut(&Row<'_>) -> StatementResult<T>,
    ) -> StatementResult<Vec<T>> {
        match self {
            Self::File(connection) => sqlite::query(connection, sql, &values.params()?, read),
            Self::Postgres(remote) => {
                remote.query(sql, values.params()?)?.iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// The one row of one statement.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        values: impl ToParams,
        read: impl FnMut(&Row<'_>) -> StatementResult<T>,
    ) -> StatementResult<T> {
        self.query(sql, values, read)?.into_iter().next().ok_or(StatementError::NoRows)
    }

    /// Runs `change` in one transaction that no other writer can come between, in any process.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::File(connection) => {
                let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
                let transaction = begun.map_err(broken)?;
                let done = change(self)?;
                transaction.commit().map_err(broken)?;
                Ok(done)
            }
            Self::Postgres(remote) => remote.within(postgres::WRITE, || change(self)),
        }
    }

    /// Runs `reading` on the contents as they are at one moment.
    pub(super) fn read<T>(&self, reading: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::File(connection) => {
                let begun = connection.unchecked_transaction();
                let _transaction = begun.map_err(broken)?;
                reading(self)
            }
            Self::Postgres(remote) => remote.within(postgres::READ, || reading(self)),
        }
    }
}

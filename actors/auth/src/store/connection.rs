//! The interface between the store's content and its database: one connection, whose statements are written once.
//! They are SQL that both kinds of database understand, with SQLite's placeholders (`?1`, `:name`).

use rusqlite::{ToSql, Transaction, TransactionBehavior};

use crate::store::sql::failure::broken;
use crate::store::sql::params::ToParams;
use crate::store::sql::row::Row;
use crate::store::{postgres, sqlite};
use portico_core::error::Result;

/// A connection to the store.
#[derive(Debug)]
pub(super) enum StoreConnection {
    /// To a SQLite file.
    File(rusqlite::Connection),
    /// To a PostgreSQL database.
    Postgres(postgres::PostgresSession),
}

impl StoreConnection {
    /// Runs one statement; how many rows it concerned.
    pub(super) fn execute(&self, sql: &str, values: impl ToParams) -> Result<usize> {
        let values = values.params().map_err(broken)?;
        match self {
            Self::File(connection) => sqlite::execute(connection, sql, &values),
            Self::Postgres(remote) => remote.execute(sql, values),
        }
    }

    /// Adds a row to `table`: each value is named as its column is.
    pub(super) fn insert(&self, table: &str, values: &[(&str, &dyn ToSql)]) -> Result<()> {
        let places: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        let places = places.join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", places.replace(':', ""));
        self.execute(&sql, values).map(drop)
    }

    /// Every row of one statement.
    pub(super) fn query<T>(
        &self,
        sql: &str,
        values: impl ToParams,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let values = values.params().map_err(broken)?;
        match self {
            Self::File(connection) => sqlite::query(connection, sql, &values, read),
            Self::Postgres(remote) => remote.query(sql, values, read),
        }
    }

    /// Returns the only row of a statement, which may be missing.
    pub(super) fn query_opt<T>(
        &self,
        sql: &str,
        values: impl ToParams,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(sql, values, read)?.into_iter().next())
    }

    /// Returns the only row of a statement.
    pub(super) fn query_one<T>(
        &self,
        sql: &str,
        values: impl ToParams,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.query_opt(sql, values, read)?.ok_or_else(|| broken("a row is missing"))
    }

    /// Returns the number of rows of `FROM what`.
    pub(super) fn count(&self, what: &str, values: impl ToParams) -> Result<i64> {
        self.query_one(&format!("SELECT count(*) FROM {what}"), values, |row| row.get(0))
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

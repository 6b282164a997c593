//! The seam between what the store keeps and where it is kept: one connection, whose statements are
//! written once. They are SQL that both kinds of database understand, with SQLite's placeholders
//! (`?1`, `:name`); values are SQLite's five, of which the driver of the other kind knows how to make
//! its own.

use rusqlite::types::{FromSql, FromSqlError, ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Transaction, TransactionBehavior};

use super::file;
use super::remote::{self, Remote};
use crate::error::{Error, Kind, Result};

/// A connection to the store.
#[derive(Debug)]
pub(super) enum Connection {
    /// To a SQLite file.
    File(rusqlite::Connection),
    /// To a PostgreSQL database.
    Postgres(Remote),
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such row.
    NoRows,
    /// A name is taken.
    Taken,
    /// The rest, for the log.
    Other(Error),
}

/// What a statement or the reading of a row comes to.
pub(super) type Read<T> = std::result::Result<T, Failure>;

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRows,
            error if file::is_taken(&error) => Self::Taken,
            error => Self::Other(unavailable().because(error)),
        }
    }
}

impl From<FromSqlError> for Failure {
    fn from(error: FromSqlError) -> Self {
        Self::Other(unavailable().because(error))
    }
}

/// Of a row that may be missing.
pub(super) trait Optional<T> {
    /// `None` when there is no such row.
    fn optional(self) -> Read<Option<T>>;
}

impl<T> Optional<T> for Read<T> {
    fn optional(self) -> Read<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Failure::NoRows) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The store's own words for a failure that is no answer.
pub(super) fn broken(failure: Failure) -> Error {
    match failure {
        Failure::Other(error) => error,
        Failure::NoRows => unavailable().because("a row is missing"),
        Failure::Taken => unavailable().because("a name is taken"),
    }
}

/// The store cannot be read or written; the next attempt may succeed.
pub(super) fn unavailable() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens cannot be read or written").retry_after(super::RETRY)
}

/// Values for the placeholders of one statement, each with its name where it has one.
pub(super) type Given<'a> = Vec<(Option<&'a str>, Value)>;

/// What can stand for placeholders: `()`, `[…]`, a pair, `params!` and `named_params!`.
pub(super) trait Values {
    /// Their values, in order.
    fn given(&self) -> rusqlite::Result<Given<'_>>;
}

fn value(from: &dyn ToSql) -> rusqlite::Result<Value> {
    Ok(match from.to_sql()? {
        ToSqlOutput::Owned(value) => value,
        ToSqlOutput::Borrowed(value) => value.try_into().map_err(|_| rusqlite::Error::InvalidQuery)?,
        _ => return Err(rusqlite::Error::InvalidQuery),
    })
}

impl Values for () {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        Ok(Vec::new())
    }
}

impl<T: ToSql, const N: usize> Values for [T; N] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|each| Ok((None, value(each)?))).collect()
    }
}

impl<A: ToSql, B: ToSql> Values for (A, B) {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        Ok(vec![(None, value(&self.0)?), (None, value(&self.1)?)])
    }
}

impl Values for &[&dyn ToSql] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|each| Ok((None, value(*each)?))).collect()
    }
}

impl Values for &[(&str, &dyn ToSql)] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|(name, each)| Ok((Some(*name), value(*each)?))).collect()
    }
}

/// One row of an answer.
pub(super) enum Row<'a> {
    /// Of SQLite.
    File(&'a rusqlite::Row<'a>),
    /// Of PostgreSQL.
    Postgres(&'a remote::Row),
}

/// Names a column.
pub(super) trait Column: rusqlite::RowIndex {
    /// Its place among `columns`.
    fn among(&self, columns: &[String]) -> Option<usize>;
}

impl Column for usize {
    fn among(&self, _: &[String]) -> Option<usize> {
        Some(*self)
    }
}

impl Column for &str {
    fn among(&self, columns: &[String]) -> Option<usize> {
        columns.iter().position(|column| column == self)
    }
}

impl Row<'_> {
    /// The value of one column.
    pub(super) fn get<C: Column, T: FromSql>(&self, column: C) -> Read<T> {
        let value = match self {
            Self::File(row) => row.get_ref(column)?,
            Self::Postgres(row) => match row.get(&column) {
                Some(value) => ValueRef::from(value),
                None => return Err(Failure::Other(unavailable().because("a column is missing"))),
            },
        };
        Ok(T::column_result(value)?)
    }
}

impl Connection {
    /// Runs one statement; how many rows it concerned.
    pub(super) fn execute(&self, sql: &str, values: impl Values) -> Read<usize> {
        match self {
            Self::File(connection) => file::execute(connection, sql, &values.given()?),
            Self::Postgres(remote) => remote.execute(sql, values.given()?),
        }
    }

    /// Every row of one statement.
    pub(super) fn query<T>(
        &self,
        sql: &str,
        values: impl Values,
        mut read: impl FnMut(&Row<'_>) -> Read<T>,
    ) -> Read<Vec<T>> {
        match self {
            Self::File(connection) => file::query(connection, sql, &values.given()?, read),
            Self::Postgres(remote) => {
                remote.query(sql, values.given()?)?.iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// The one row of one statement.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        values: impl Values,
        read: impl FnMut(&Row<'_>) -> Read<T>,
    ) -> Read<T> {
        self.query(sql, values, read)?.into_iter().next().ok_or(Failure::NoRows)
    }

    /// Runs `change` in one transaction that no other writer can come between, in any process.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::File(connection) => {
                let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
                let transaction = begun.map_err(|error| broken(error.into()))?;
                let done = change(self)?;
                transaction.commit().map_err(|error| broken(error.into()))?;
                Ok(done)
            }
            Self::Postgres(remote) => remote.within(remote::WRITE, || change(self)),
        }
    }

    /// Runs `reading` on the contents as they are at one moment.
    pub(super) fn read<T>(&self, reading: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::File(connection) => {
                let begun = connection.unchecked_transaction();
                let _transaction = begun.map_err(|error| broken(error.into()))?;
                reading(self)
            }
            Self::Postgres(remote) => remote.within(remote::READ, || reading(self)),
        }
    }
}

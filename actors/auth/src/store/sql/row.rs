//! One row of an answer, whichever kind of database gave it.

use std::rc::Rc;

use rusqlite::types::{FromSql, Value, ValueRef};

use crate::store::sql::failure::{StatementError, StatementResult, unavailable};

/// One row of an answer.
pub(crate) enum Row<'a> {
    /// Of SQLite.
    File(&'a rusqlite::Row<'a>),
    /// Of PostgreSQL.
    Postgres(&'a BufferedRow),
}

impl Row<'_> {
    /// The value of one column.
    pub(crate) fn get<C: Column, T: FromSql>(&self, column: C) -> StatementResult<T> {
        let value = match self {
            Self::File(row) => row.get_ref(column)?,
            Self::Postgres(row) => match row.get(&column) {
                Some(value) => ValueRef::from(value),
                None => return Err(StatementError::Other(unavailable().because("a column is missing"))),
            },
        };
        Ok(T::column_result(value)?)
    }
}

/// A row that was read whole.
pub(crate) struct BufferedRow {
    pub(crate) columns: Rc<[String]>,
    pub(crate) values: Vec<Value>,
}

impl BufferedRow {
    /// The value of one column.
    pub(crate) fn get(&self, column: &impl Column) -> Option<&Value> {
        self.values.get(column.among(&self.columns)?)
    }
}

/// Names a column.
pub(crate) trait Column: rusqlite::RowIndex {
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

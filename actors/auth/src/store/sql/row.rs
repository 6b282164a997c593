//! One row of an answer, whichever kind of database gave it.

use std::rc::Rc;

use rusqlite::types::{FromSql, Value, ValueRef};
use uuid::Uuid;

use crate::store::sql::failure::broken;
use portico_core::error::Result;

/// One row of an answer.
pub(crate) enum Row<'a> {
    /// Of SQLite.
    File(&'a rusqlite::Row<'a>),
    /// Of PostgreSQL.
    Postgres(&'a BufferedRow),
}

impl Row<'_> {
    /// The value of one column.
    pub(crate) fn get<C: Column, T: FromSql>(&self, column: C) -> Result<T> {
        let value = match self {
            Self::File(row) => row.get_ref(column).map_err(broken)?,
            Self::Postgres(row) => {
                let value = column.among(&row.columns).and_then(|place| row.values.get(place));
                ValueRef::from(value.ok_or_else(|| broken("a column is missing"))?)
            }
        };
        T::column_result(value).map_err(broken)
    }

    /// The id of a record.
    pub(crate) fn id(&self, column: impl Column) -> Result<Uuid> {
        self.optional_id(column)?.ok_or_else(|| broken("a record has no id"))
    }

    /// The id of a record, or NULL.
    pub(crate) fn optional_id(&self, column: impl Column) -> Result<Option<Uuid>> {
        let text: Option<String> = self.get(column)?;
        let id = text.as_deref().map(Uuid::try_parse).transpose();
        id.map_err(|_| broken("the store holds an invalid id"))
    }
}

/// A row that was read whole.
pub(crate) struct BufferedRow {
    pub(crate) columns: Rc<[String]>,
    pub(crate) values: Vec<Value>,
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

//! Internal catalogue queries, sent in one round trip without a prepare; columns are read by index.

use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::failure;
use portico_core::error::{Error, Result};

/// Returns the rows of the query `question` with these values.
///
/// # Errors
/// What can happen to any statement, such as the loss of the source; otherwise
/// [`Kind::Internal`](portico_core::error::Kind::Internal), since the query is our own.
pub(crate) async fn ask(client: &Client, question: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
    client.query_typed(question, values).await.map_err(|error| failure::of_own(&error))
}

/// Returns one column of a row.
///
/// # Errors
/// [`Kind::Internal`](portico_core::error::Kind::Internal): it is of another type than expected.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(Error::internal)
}

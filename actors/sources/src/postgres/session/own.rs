//! Questions of our own about the catalogue: asked in one round trip, and read by the place of a column.

use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::failure;
use portico_core::error::{Error, Result};

/// The rows that `question` answers with for these values.
///
/// # Errors
/// What befalls any statement, as the source going away; else [`Kind::Internal`](portico_core::error::Kind::Internal):
/// the question is ours.
pub(crate) async fn ask(client: &Client, question: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
    client.query_typed(question, values).await.map_err(|error| failure::of_own(&error))
}

/// One column of a row of ours.
///
/// # Errors
/// [`Kind::Internal`](portico_core::error::Kind::Internal): it is of another type than was asked for.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(Error::internal)
}

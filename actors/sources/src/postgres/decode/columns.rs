//! The columns of a result as the server describes them.

use tokio_postgres::Column;
use tokio_postgres::types::{Oid, Type};

/// A column of a result, as described on the wire.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDescription {
    pub(crate) label: String,
    pub(crate) table: Option<Oid>,
    pub(crate) attribute: Option<i16>,
    pub(crate) modifier: i32,
    pub(crate) type_: Type,
}

/// The columns of a row description.
pub(crate) fn descriptions(columns: &[Column]) -> Vec<ColumnDescription> {
    let seen = |column: &Column| ColumnDescription {
        label: column.name().to_owned(),
        table: column.table_oid(),
        attribute: column.column_id(),
        modifier: column.type_modifier(),
        type_: column.type_().clone(),
    };
    columns.iter().map(seen).collect()
}

//! Columns without a type at their source, such as computed columns of a SQLite view: they get the type of their
//! first values, as they do if their source alone answers. A later value of another type is an error.

use futures_util::StreamExt;

use crate::connections::Connections;
use portico_core::call::{Limits, Mode, Op, Sql};
use portico_core::error::{Error, Result};
use portico_core::reply::{Cell, Column, DataType, Part, TextType};

/// The number of rows examined for columns whose first values are NULL.
const LOOKED_AT: u32 = 1_000;

/// The values of a column so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    None,
    Whole,
    Number,
    Octets,
    /// Text, or more than one of these.
    Other,
}

impl Values {
    fn with(self, cell: &Cell<'_>) -> Self {
        let this = match cell {
            Cell::Null => return self,
            Cell::Integer(_) => Self::Whole,
            Cell::Double(_) | Cell::Float(_) => Self::Number,
            Cell::Bytes(_) => Self::Octets,
            _ => Self::Other,
        };
        match (self, this) {
            (Self::None, this) => this,
            (same, this) if same == this => same,
            (Self::Whole | Self::Number, Self::Whole | Self::Number) => Self::Number,
            _ => Self::Other,
        }
    }
}

/// Returns true if the type of a column's values is unknown: it is computed, or declared without one.
pub(crate) fn is_untyped(column: &Column) -> bool {
    let is_text = !column.enforced && column.data_type == DataType::Varchar && column.length == 0;
    is_text && (column.table.is_none() || column.text == TextType::Undeclared)
}

/// Gives the columns at `places` of a table the types of their first values.
///
/// # Errors
/// The source's error.
pub(crate) async fn look(
    connections: &dyn Connections,
    connection: usize,
    (schema, table): (&str, &str),
    columns: &mut [Column],
    places: &[usize],
    limits: Limits,
) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let member = connections.members().get(connection);
    let dialect = &member.ok_or_else(|| Error::internal("bug: the index of a connection is missing"))?.driver.dialect;
    let names = places.iter().filter_map(|place| Some(dialect.quoted(&columns.get(*place)?.label)));
    let names = names.collect::<Vec<_>>().join(", ");
    let from = format!("{}.{}", dialect.quoted(schema), dialect.quoted(table));
    let sql = Sql { text: format!("SELECT {names} FROM {from} LIMIT {LOOKED_AT}"), rows_alone: true, ..Sql::default() };
    let mut results = connections.ask(connection, Op::Script(Mode::Run, sql), limits).await?;
    let mut found = vec![Values::None; places.len()];
    while let Some(part) = results.next().await {
        let Part::Rows(rows) = part? else { continue };
        for row in 0..rows.rows() {
            for (at, values) in found.iter_mut().enumerate() {
                *values = values.with(&rows.cell(row, at)?);
            }
        }
    }
    for (place, values) in places.iter().zip(found) {
        let Some(column) = columns.get_mut(*place) else { continue };
        (column.data_type, column.precision) = match values {
            Values::Whole => (DataType::BigInt, 19),
            Values::Number => (DataType::Double, 15),
            Values::Octets => (DataType::Binary, 0),
            Values::None | Values::Other => continue,
        };
    }
    Ok(())
}

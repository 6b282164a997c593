//! Batches of the engine as results.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType as ArrowType, Schema, TimeUnit};

use crate::plan::columns::origin::{Origin, Origins};
use crate::values;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Column, DataType};

/// The columns of a result.
pub(crate) fn columns(schema: &Schema, origins: &Origins) -> (Arc<[Column]>, Arc<[ColumnFormat]>) {
    let (columns, forms): (Vec<_>, Vec<_>) = (schema.fields().iter())
        .map(|field| {
            let (data_type, precision, scale, zoned) = described(field.data_type());
            let computed = Column {
                precision,
                scale,
                zoned,
                nullable: field.is_nullable(),
                enforced: true,
                ..Column::computed(field.name(), data_type)
            };
            match origins.get(field) {
                Some(Origin { column, unbounded, padded }) if kept(field.data_type(), &column, unbounded) => {
                    let form = match () {
                        () if unbounded => ColumnFormat::Decimal,
                        () if padded => ColumnFormat::Padded(usize::try_from(column.length).unwrap_or(0)),
                        () => ColumnFormat::Plain,
                    };
                    let column = Column { label: field.name().clone(), nullable: field.is_nullable(), ..column };
                    (column, form)
                }
                _ => (computed, ColumnFormat::Plain),
            }
        })
        .unzip();
    (columns.into(), forms.into())
}

/// Returns true if a field still has the type of the column that it comes from.
fn kept(type_: &ArrowType, column: &Column, unbounded: bool) -> bool {
    let (data_type, precision, scale, _) = described(type_);
    match column.data_type {
        // Text as long as it was not computed with.
        _ if unbounded => data_type == DataType::Varchar,
        DataType::Decimal | DataType::Numeric => {
            data_type == DataType::Numeric && (precision, scale) == (column.precision, column.scale)
        }
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            data_type == column.data_type || (!column.enforced && data_type == DataType::BigInt)
        }
        DataType::Float => matches!(data_type, DataType::Float | DataType::Double),
        DataType::Uuid => data_type == DataType::Varchar,
        other => data_type == other || (other == DataType::Time && data_type == DataType::Varchar),
    }
}

/// How the values of a column are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnFormat {
    /// As they are.
    Plain,
    /// Digits of an exact number, which are text to the engine.
    Decimal,
    /// Filled up with blanks to so many characters.
    Padded(usize),
}

fn described(type_: &ArrowType) -> (DataType, i64, i64, bool) {
    match type_ {
        ArrowType::Boolean => (DataType::Boolean, 0, 0, false),
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::UInt8 => (DataType::SmallInt, 5, 0, false),
        ArrowType::Int32 | ArrowType::UInt16 => (DataType::Integer, 10, 0, false),
        ArrowType::Int64 | ArrowType::UInt32 | ArrowType::UInt64 => (DataType::BigInt, 19, 0, false),
        ArrowType::Float16 | ArrowType::Float32 => (DataType::Float, 8, 0, false),
        ArrowType::Float64 => (DataType::Double, 17, 0, false),
        ArrowType::Decimal128(precision, scale) | ArrowType::Decimal256(precision, scale) => {
            (DataType::Numeric, (*precision).into(), (*scale).into(), false)
        }
        ArrowType::Date32 => (DataType::Date, 0, 0, false),
        ArrowType::Time64(TimeUnit::Microsecond) => (DataType::Time, 6, 6, false),
        ArrowType::Timestamp(_, zone) => (DataType::Timestamp, 6, 6, zone.is_some()),
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => (DataType::Binary, 0, 0, false),
        _ => (DataType::Varchar, 0, 0, false),
    }
}

/// Rows of a batch.
pub(crate) struct Rows {
    batch: RecordBatch,
    forms: Arc<[ColumnFormat]>,
}

impl Rows {
    pub(crate) fn new(batch: RecordBatch, forms: Arc<[ColumnFormat]>) -> Self {
        Self { batch, forms }
    }
}

impl Batch for Rows {
    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn octets(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let array =
            self.batch.columns().get(column).ok_or_else(|| Error::internal("bug: a column index is out of range"))?;
        let cell = values::cell(array, row)?;
        Ok(match (self.forms.get(column), cell) {
            (Some(ColumnFormat::Decimal), Cell::Text(digits)) => Cell::Decimal(digits),
            (Some(ColumnFormat::Padded(length)), Cell::Text(text)) if text.chars().count() < *length => {
                Cell::Text(format!("{text:<length$}", length = *length).into())
            }
            (_, cell) => cell,
        })
    }
}

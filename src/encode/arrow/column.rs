//! Takes the cells of one column and makes Arrow arrays of them.

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Decimal256Builder, Float32Builder,
    Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder, Time64MicrosecondBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::DataType as ArrowType;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::reply::Cell;

use super::super::lines::write_bare;
use super::parse;

/// Octets that a value of fixed width counts for.
const FIXED: usize = 8;

/// The values of a column that wait for their batch.
pub(super) struct Values {
    label: String,
    builder: Builder,
    text: Vec<u8>,
}

enum Builder {
    Boolean(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Decimal128(Decimal128Builder, u8, i8),
    Decimal256(Decimal256Builder, u8, i8),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Binary(BinaryBuilder),
    Text(StringBuilder),
}

impl Builder {
    fn new(type_: &ArrowType) -> Self {
        match type_ {
            ArrowType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ArrowType::Int8 => Self::Int8(Int8Builder::new()),
            ArrowType::Int16 => Self::Int16(Int16Builder::new()),
            ArrowType::Int32 => Self::Int32(Int32Builder::new()),
            ArrowType::Int64 => Self::Int64(Int64Builder::new()),
            ArrowType::Float32 => Self::Float32(Float32Builder::new()),
            ArrowType::Float64 => Self::Float64(Float64Builder::new()),
            ArrowType::Decimal128(digits, scale) => {
                Self::Decimal128(Decimal128Builder::new().with_data_type(type_.clone()), *digits, *scale)
            }
            ArrowType::Decimal256(digits, scale) => {
                Self::Decimal256(Decimal256Builder::new().with_data_type(type_.clone()), *digits, *scale)
            }
            ArrowType::Date32 => Self::Date(Date32Builder::new()),
            ArrowType::Time64(_) => Self::Time(Time64MicrosecondBuilder::new()),
            ArrowType::Timestamp(..) => {
                Self::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(type_.clone()))
            }
            ArrowType::Binary => Self::Binary(BinaryBuilder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn array(&mut self) -> &mut dyn ArrayBuilder {
        match self {
            Self::Boolean(builder) => builder,
            Self::Int8(builder) => builder,
            Self::Int16(builder) => builder,
            Self::Int32(builder) => builder,
            Self::Int64(builder) => builder,
            Self::Float32(builder) => builder,
            Self::Float64(builder) => builder,
            Self::Decimal128(builder, ..) => builder,
            Self::Decimal256(builder, ..) => builder,
            Self::Date(builder) => builder,
            Self::Time(builder) => builder,
            Self::Timestamp(builder) => builder,
            Self::Binary(builder) => builder,
            Self::Text(builder) => builder,
        }
    }

    fn append_null(&mut self) {
        match self {
            Self::Boolean(builder) => builder.append_null(),
            Self::Int8(builder) => builder.append_null(),
            Self::Int16(builder) => builder.append_null(),
            Self::Int32(builder) => builder.append_null(),
            Self::Int64(builder) => builder.append_null(),
            Self::Float32(builder) => builder.append_null(),
            Self::Float64(builder) => builder.append_null(),
            Self::Decimal128(builder, ..) => builder.append_null(),
            Self::Decimal256(builder, ..) => builder.append_null(),
            Self::Date(builder) => builder.append_null(),
            Self::Time(builder) => builder.append_null(),
            Self::Timestamp(builder) => builder.append_null(),
            Self::Binary(builder) => builder.append_null(),
            Self::Text(builder) => builder.append_null(),
        }
    }
}

impl Values {
    pub(super) fn new(type_: &ArrowType, label: &str) -> Self {
        Self { label: label.to_owned(), builder: Builder::new(type_), text: Vec::new() }
    }

    /// Takes one value; about how many octets it is.
    ///
    /// # Errors
    /// [`Kind::Rejected`] for a value that the column's type has no room for.
    pub(super) fn push(&mut self, cell: &Cell<'_>) -> Result<usize> {
        if matches!(cell, Cell::Null) {
            self.builder.append_null();
            return Ok(1);
        }
        match self.append(cell) {
            Some(octets) => Ok(octets),
            None => Err(Error::new(
                Kind::Rejected,
                format!("column {:?} holds a value that its Arrow type has no room for", self.label),
            )
            .hint("cast this column to text")),
        }
    }

    fn append(&mut self, cell: &Cell<'_>) -> Option<usize> {
        match (&mut self.builder, cell) {
            (Builder::Boolean(builder), Cell::Boolean(value)) => builder.append_value(*value),
            (Builder::Int8(builder), Cell::Integer(value)) => builder.append_value(i8::try_from(*value).ok()?),
            (Builder::Int16(builder), Cell::Integer(value)) => builder.append_value(i16::try_from(*value).ok()?),
            (Builder::Int32(builder), Cell::Integer(value)) => builder.append_value(i32::try_from(*value).ok()?),
            (Builder::Int64(builder), Cell::Integer(value)) => builder.append_value(*value),
            (Builder::Float32(builder), Cell::Float(value)) => builder.append_value(*value),
            (Builder::Float64(builder), Cell::Double(value)) => builder.append_value(*value),
            (Builder::Float64(builder), Cell::Float(value)) => builder.append_value(f64::from(*value)),
            (Builder::Float64(builder), Cell::Integer(value)) => builder.append_value(exact(*value)?),
            (Builder::Decimal128(builder, most, scale), Cell::Decimal(digits)) => {
                builder.append_value(parse::decimal(digits, *most, *scale)?.to_i128()?);
            }
            (Builder::Decimal256(builder, most, scale), Cell::Decimal(digits)) => {
                builder.append_value(parse::decimal(digits, *most, *scale)?);
            }
            (Builder::Date(builder), Cell::Text(text)) => builder.append_value(parse::date(text)?),
            (Builder::Time(builder), Cell::Text(text)) => builder.append_value(parse::time(text)?),
            (Builder::Timestamp(builder), Cell::Text(text)) => builder.append_value(parse::timestamp(text)?),
            (Builder::Binary(builder), Cell::Bytes(octets)) => {
                builder.append_value(octets);
                return Some(octets.len() + FIXED);
            }
            (Builder::Text(builder), Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text)) => {
                builder.append_value(text);
                return Some(text.len() + FIXED);
            }
            (Builder::Text(builder), other) => {
                self.text.clear();
                write_bare(&mut self.text, other);
                let text = std::str::from_utf8(&self.text).ok()?;
                builder.append_value(text);
                return Some(text.len() + FIXED);
            }
            _ => return None,
        }
        Some(FIXED)
    }

    /// The values so far; it begins anew.
    pub(super) fn finish(&mut self) -> ArrayRef {
        self.builder.array().finish()
    }
}

/// A whole number as a float, if it is the same number.
#[allow(clippy::cast_precision_loss)]
fn exact(value: i64) -> Option<f64> {
    let float = value as f64;
    (value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).then_some(float)
}

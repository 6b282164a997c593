//! Maps columns to Arrow types. A type is only as narrow as every value of the column is sure to fit: columns that
//! the source does not enforce, and unbounded decimals, get wider types or text.

use arrow_schema::{DataType as ArrowType, TimeUnit};
use portico_core::reply::{Column, DataType};

/// Decimal digits of Arrow's 128-bit and 256-bit decimals.
const DIGITS_128: i64 = 38;
const DIGITS_256: i64 = 76;

/// The type of `column`.
pub fn arrow_type(column: &Column) -> ArrowType {
    let enforced = column.enforced;
    match column.data_type {
        DataType::Binary => ArrowType::Binary,
        DataType::TinyInt if enforced => ArrowType::Int8,
        DataType::SmallInt if enforced => ArrowType::Int16,
        DataType::Integer if enforced => ArrowType::Int32,
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => ArrowType::Int64,
        DataType::Float if enforced => ArrowType::Float32,
        DataType::Float | DataType::Double => ArrowType::Float64,
        DataType::Decimal | DataType::Numeric if enforced => decimal(column.precision, column.scale),
        DataType::Boolean => ArrowType::Boolean,
        DataType::Date if enforced => ArrowType::Date32,
        DataType::Time if enforced && !column.zoned => ArrowType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp if enforced => {
            ArrowType::Timestamp(TimeUnit::Microsecond, column.zoned.then(|| "UTC".into()))
        }
        DataType::Varchar
        | DataType::Uuid
        | DataType::Decimal
        | DataType::Numeric
        | DataType::Date
        | DataType::Time
        | DataType::Timestamp => ArrowType::Utf8,
    }
}

fn decimal(precision: i64, scale: i64) -> ArrowType {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(digits), Ok(behind)) if (1..=DIGITS_128).contains(&precision) && (0..=precision).contains(&scale) => {
            ArrowType::Decimal128(digits, behind)
        }
        (Ok(digits), Ok(behind)) if (1..=DIGITS_256).contains(&precision) && (0..=precision).contains(&scale) => {
            ArrowType::Decimal256(digits, behind)
        }
        _ => ArrowType::Utf8,
    }
}

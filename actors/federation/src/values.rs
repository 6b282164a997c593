//! Values of the engine as text, in the forms of results: with `T` between date and time, and `Z` after times in
//! UTC.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType as ArrowType, TimeUnit};
use datafusion::common::ScalarValue;

use portico_core::calendar;
use portico_core::error::{Error, Result};
use portico_core::reply::Cell;

/// Microseconds of a second and seconds of a day.
const SECOND: i128 = 1_000_000;
const DAY: i128 = 24 * 3600;

/// Returns the text of a value; `None` for NULL and for types without a text here.
pub(crate) fn text_of(value: &ScalarValue) -> Option<String> {
    let array = value.to_array().ok()?;
    match cell(&array, 0).ok()? {
        Cell::Null => None,
        Cell::Boolean(value) => Some(value.to_string()),
        Cell::Integer(value) => Some(value.to_string()),
        Cell::Decimal(text) | Cell::Text(text) => Some(text.into_owned()),
        Cell::Float(_) | Cell::Double(_) | Cell::Json(_) | Cell::Bytes(_) => None,
    }
}

/// The value of `array` in `row`.
///
/// # Errors
/// For a type that no result has.
pub(crate) fn cell(array: &ArrayRef, row: usize) -> Result<Cell<'_>> {
    if array.is_null(row) || *array.data_type() == ArrowType::Null {
        return Ok(Cell::Null);
    }
    Ok(match array.data_type() {
        ArrowType::Boolean => Cell::Boolean(array.as_boolean().value(row)),
        ArrowType::Int8 => Cell::Integer(array.as_primitive::<Int8Type>().value(row).into()),
        ArrowType::Int16 => Cell::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        ArrowType::Int32 => Cell::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        ArrowType::Int64 => Cell::Integer(array.as_primitive::<Int64Type>().value(row)),
        ArrowType::UInt8 => Cell::Integer(array.as_primitive::<UInt8Type>().value(row).into()),
        ArrowType::UInt16 => Cell::Integer(array.as_primitive::<UInt16Type>().value(row).into()),
        ArrowType::UInt32 => Cell::Integer(array.as_primitive::<UInt32Type>().value(row).into()),
        ArrowType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or_else(|_| Cell::Decimal(value.to_string().into()), Cell::Integer)
        }
        ArrowType::Float32 => Cell::Float(array.as_primitive::<Float32Type>().value(row)),
        ArrowType::Float64 => Cell::Double(array.as_primitive::<Float64Type>().value(row)),
        ArrowType::Decimal128(..) => Cell::Decimal(array.as_primitive::<Decimal128Type>().value_as_string(row).into()),
        ArrowType::Decimal256(..) => Cell::Decimal(array.as_primitive::<Decimal256Type>().value_as_string(row).into()),
        ArrowType::Utf8 => Cell::Text(Cow::Borrowed(array.as_string::<i32>().value(row))),
        ArrowType::LargeUtf8 => Cell::Text(Cow::Borrowed(array.as_string::<i64>().value(row))),
        ArrowType::Utf8View => Cell::Text(Cow::Borrowed(array.as_string_view().value(row))),
        ArrowType::Binary => Cell::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(row))),
        ArrowType::LargeBinary => Cell::Bytes(Cow::Borrowed(array.as_binary::<i64>().value(row))),
        ArrowType::BinaryView => Cell::Bytes(Cow::Borrowed(array.as_binary_view().value(row))),
        ArrowType::Date32 => {
            written(|text| calendar::push_date(text, array.as_primitive::<Date32Type>().value(row).into()))
        }
        ArrowType::Time64(TimeUnit::Microsecond) => {
            let microseconds = array.as_primitive::<Time64MicrosecondType>().value(row);
            written(|text| calendar::push_time(text, microseconds.unsigned_abs()))
        }
        ArrowType::Timestamp(unit, zone) => {
            let microseconds = match unit {
                TimeUnit::Second => i128::from(array.as_primitive::<TimestampSecondType>().value(row)) * SECOND,
                TimeUnit::Millisecond => i128::from(array.as_primitive::<TimestampMillisecondType>().value(row)) * 1000,
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row).into(),
                TimeUnit::Nanosecond => {
                    i128::from(array.as_primitive::<TimestampNanosecondType>().value(row)).div_euclid(1000)
                }
            };
            let days = i64::try_from(microseconds.div_euclid(DAY * SECOND)).map_err(Error::internal)?;
            let of_day = u64::try_from(microseconds.rem_euclid(DAY * SECOND)).map_err(Error::internal)?;
            written(|text| calendar::push_timestamp(text, days, of_day, zone.is_some()))
        }
        _ => {
            let shown = datafusion::arrow::util::display::array_value_to_string(array, row).map_err(Error::internal)?;
            Cell::Text(shown.into())
        }
    })
}

/// Returns what `push` writes.
fn written(push: impl FnOnce(&mut String)) -> Cell<'static> {
    let mut text = String::new();
    push(&mut text);
    Cell::Text(text.into())
}

/// The exact number that is written so, with as many digits behind the point.
pub(crate) fn exact_number(text: &str) -> Option<ScalarValue> {
    let text = text.trim();
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let is_number =
        digits.len() + behind.len() > 0 && digits.bytes().chain(behind.bytes()).all(|octet| octet.is_ascii_digit());
    let value: i128 = is_number.then(|| format!("{whole}{behind}").parse().ok())??;
    let scale = i8::try_from(behind.len()).ok()?;
    let precision = u8::try_from((digits.len() + behind.len()).max(1)).ok()?;
    (precision <= DECIMAL128_MAX_PRECISION).then_some(ScalarValue::Decimal128(Some(value), precision, scale))
}

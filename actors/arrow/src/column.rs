//! Takes the cells of one column and makes Arrow arrays of them.

use arrow_array::ArrayRef;
use arrow_array::builder::{ArrayBuilder, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_schema::DataType as ArrowType;
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::Cell;

use super::parse;

/// Octets that a value of fixed width counts for.
const FIXED: usize = 8;

/// The values of a column that wait for their batch.
pub struct Values {
    label: String,
    type_: ArrowType,
    column: Box<dyn Column>,
    /// Rows so far, in all batches.
    rows: u64,
}

/// Builds the arrays of one column.
trait Column: Send {
    /// Appends one value. Returns its approximate size in bytes; `None` if it does not fit the type.
    fn append(&mut self, cell: &Cell<'_>) -> Option<usize>;

    fn finish(&mut self) -> ArrayRef;
}

/// A builder, and the function that appends a value to it.
struct Builder<B, A>(B, A);

impl<B: ArrayBuilder, A: FnMut(&mut B, &Cell<'_>) -> Option<usize> + Send> Column for Builder<B, A> {
    fn append(&mut self, cell: &Cell<'_>) -> Option<usize> {
        (self.1)(&mut self.0, cell)
    }

    fn finish(&mut self) -> ArrayRef {
        self.0.finish()
    }
}

/// A column of values that `read` makes of cells which are not NULL.
fn primitive<T: ArrowPrimitiveType>(
    type_: &ArrowType,
    read: impl Fn(&Cell<'_>) -> Option<T::Native> + Send + 'static,
) -> Box<dyn Column> {
    let builder = PrimitiveBuilder::<T>::new().with_data_type(type_.clone());
    Box::new(Builder(builder, move |builder: &mut PrimitiveBuilder<T>, cell: &Cell<'_>| {
        builder.append_option(if *cell == Cell::Null { None } else { Some(read(cell)?) });
        Some(FIXED)
    }))
}

fn booleans(builder: &mut BooleanBuilder, cell: &Cell<'_>) -> Option<usize> {
    match cell {
        Cell::Null => builder.append_null(),
        Cell::Boolean(value) => builder.append_value(*value),
        // Computed by a source without a type for truth values.
        Cell::Integer(value @ (0 | 1)) => builder.append_value(*value == 1),
        _ => return None,
    }
    Some(FIXED)
}

fn octets(builder: &mut BinaryBuilder, cell: &Cell<'_>) -> Option<usize> {
    match cell {
        Cell::Null => builder.append_null(),
        Cell::Bytes(octets) => {
            builder.append_value(octets);
            return Some(octets.len() + FIXED);
        }
        _ => return None,
    }
    Some(FIXED)
}

/// Writes a value that is not text as text.
pub type FormatText = fn(&mut Vec<u8>, &Cell<'_>);

/// Texts; `room` is for `spell`.
fn texts(builder: &mut StringBuilder, cell: &Cell<'_>, spell: Option<FormatText>, room: &mut Vec<u8>) -> Option<usize> {
    let text = match cell {
        Cell::Null => {
            builder.append_null();
            return Some(FIXED);
        }
        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => text,
        other => {
            room.clear();
            spell?(room, other);
            std::str::from_utf8(room).ok()?
        }
    };
    builder.append_value(text);
    Some(text.len() + FIXED)
}

fn column(type_: &ArrowType, spell: Option<FormatText>) -> Box<dyn Column> {
    match *type_ {
        ArrowType::Boolean => Box::new(Builder(BooleanBuilder::new(), booleans)),
        ArrowType::Binary => Box::new(Builder(BinaryBuilder::new(), octets)),
        ArrowType::Int8 => primitive::<Int8Type>(type_, integer),
        ArrowType::Int16 => primitive::<Int16Type>(type_, integer),
        ArrowType::Int32 => primitive::<Int32Type>(type_, integer),
        ArrowType::Int64 => primitive::<Int64Type>(type_, integer),
        ArrowType::Float32 => primitive::<Float32Type>(type_, |cell| match cell {
            Cell::Float(value) => Some(*value),
            _ => None,
        }),
        ArrowType::Float64 => primitive::<Float64Type>(type_, |cell| match cell {
            Cell::Double(value) => Some(*value),
            Cell::Float(value) => Some(f64::from(*value)),
            Cell::Integer(value) => exact(*value),
            _ => None,
        }),
        ArrowType::Decimal128(most, scale) => {
            primitive::<Decimal128Type>(type_, move |cell| parse::decimal(digits(cell)?, most, scale)?.to_i128())
        }
        ArrowType::Decimal256(most, scale) => {
            primitive::<Decimal256Type>(type_, move |cell| parse::decimal(digits(cell)?, most, scale))
        }
        ArrowType::Date32 => primitive::<Date32Type>(type_, |cell| parse::date(text(cell)?)),
        ArrowType::Time64(_) => primitive::<Time64MicrosecondType>(type_, |cell| parse::time(text(cell)?)),
        ArrowType::Timestamp(..) => primitive::<TimestampMicrosecondType>(type_, |cell| parse::timestamp(text(cell)?)),
        _ => {
            let mut room = Vec::new();
            let append = move |builder: &mut StringBuilder, cell: &Cell<'_>| texts(builder, cell, spell, &mut room);
            Box::new(Builder(StringBuilder::new(), append))
        }
    }
}

impl Values {
    /// Makes the column `label` of type `type_`. `spell` writes a value that is not text, if the column is of text;
    /// without it such a value does not fit.
    pub fn new(type_: &ArrowType, label: &str, spell: Option<FormatText>) -> Self {
        Self { label: label.to_owned(), type_: type_.clone(), column: column(type_, spell), rows: 0 }
    }

    /// Appends one value. Returns its approximate size in bytes.
    ///
    /// # Errors
    /// [`Kind::Rejected`] for a value that Arrow's type has no room for.
    pub fn push(&mut self, cell: &Cell<'_>) -> Result<usize> {
        self.rows += 1;
        match self.column.append(cell) {
            Some(_) if *cell == Cell::Null => Ok(1),
            Some(octets) => Ok(octets),
            None => Err(self.without_room()),
        }
    }

    /// The source's type may have more values than Arrow's: infinite dates, NaN as a decimal, the hour 24.
    fn without_room(&self) -> Error {
        let Self { label, type_, rows, .. } = self;
        let message = format!("column {label:?} holds a value in row {rows} that Arrow's type {type_} has no room for");
        Error::new(Kind::Rejected, message)
            .hint("cast this column to text, or accept another format, such as application/json")
    }

    /// The values so far; it begins anew.
    pub fn finish(&mut self) -> ArrayRef {
        self.column.finish()
    }
}

fn integer<T: TryFrom<i64>>(cell: &Cell<'_>) -> Option<T> {
    let Cell::Integer(value) = cell else { return None };
    T::try_from(*value).ok()
}

fn digits<'c>(cell: &'c Cell<'_>) -> Option<&'c str> {
    let Cell::Decimal(digits) = cell else { return None };
    Some(digits)
}

fn text<'c>(cell: &'c Cell<'_>) -> Option<&'c str> {
    let Cell::Text(text) = cell else { return None };
    Some(text)
}

/// A whole number as a float, if it is the same number.
#[allow(clippy::cast_precision_loss)]
fn exact(value: i64) -> Option<f64> {
    let float = value as f64;
    (value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).then_some(float)
}

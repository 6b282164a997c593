//! Types of the engine as PostgreSQL has them.

use arrow_schema::{DataType as ArrowType, TimeUnit};
use datafusion::common::{DataFusionError, Result};

use crate::external_error::external;
use portico_core::error::{Error, Kind};

/// Types between which the same casts are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::functions) enum TypeCategory {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Decimal,
    Real,
    Double,
    Text,
    Date,
    Timestamp,
    Zoned,
    Time,
    Bytes,
}

impl TypeCategory {
    pub(in crate::functions) fn from_type(type_: &ArrowType) -> Option<Self> {
        Some(match type_ {
            ArrowType::Boolean => Self::Boolean,
            ArrowType::Int8 | ArrowType::Int16 | ArrowType::UInt8 => Self::SmallInt,
            ArrowType::Int32 | ArrowType::UInt16 => Self::Integer,
            ArrowType::Int64 | ArrowType::UInt32 | ArrowType::UInt64 => Self::BigInt,
            ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => Self::Decimal,
            ArrowType::Float16 | ArrowType::Float32 => Self::Real,
            ArrowType::Float64 => Self::Double,
            ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => Self::Text,
            ArrowType::Date32 | ArrowType::Date64 => Self::Date,
            ArrowType::Timestamp(_, None) => Self::Timestamp,
            ArrowType::Timestamp(_, Some(_)) => Self::Zoned,
            ArrowType::Time32(_) | ArrowType::Time64(_) => Self::Time,
            ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => Self::Bytes,
            _ => return None,
        })
    }

    /// Returns true if PostgreSQL's text of its values differs from the engine's.
    pub(in crate::functions) const fn has_own_text(self) -> bool {
        matches!(
            self,
            Self::Real | Self::Double | Self::Timestamp | Self::Zoned | Self::Date | Self::Time | Self::Bytes
        )
    }

    pub(in crate::functions) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Decimal => "numeric",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Text => "text",
            Self::Date => "date",
            Self::Timestamp => "timestamp without time zone",
            Self::Zoned => "timestamp with time zone",
            Self::Time => "time without time zone",
            Self::Bytes => "bytea",
        }
    }

    pub(in crate::functions) fn is_time(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp | Self::Zoned | Self::Time)
    }

    pub(in crate::functions) fn is_number(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt | Self::Decimal | Self::Real | Self::Double)
    }

    /// Whether PostgreSQL has a cast (`pg_cast`).
    pub(in crate::functions) fn becomes(self, to: Self) -> bool {
        match (self, to) {
            _ if self == to => true,
            (Self::Text, _) | (_, Self::Text) => true,
            (Self::Boolean, Self::Integer) | (Self::Integer, Self::Boolean) => true,
            (Self::Date, to) => matches!(to, Self::Timestamp | Self::Zoned),
            (Self::Timestamp, to) => matches!(to, Self::Date | Self::Zoned | Self::Time),
            (Self::Zoned, to) => matches!(to, Self::Date | Self::Timestamp | Self::Time),
            _ => self.is_number() && to.is_number(),
        }
    }
}

/// Returns the type of timestamps, in UTC if they have a zone. PostgreSQL counts in microseconds.
pub(in crate::functions) fn instant(is_zoned: bool) -> ArrowType {
    ArrowType::Timestamp(TimeUnit::Microsecond, is_zoned.then(|| "UTC".into()))
}

/// Whether it is the time between two times.
pub(crate) fn is_interval(type_: &ArrowType) -> bool {
    matches!(type_, ArrowType::Interval(_) | ArrowType::Duration(_))
}

/// Returns PostgreSQL's name for a type of the engine.
pub(crate) fn type_name(type_: &ArrowType) -> String {
    match TypeCategory::from_type(type_) {
        Some(class) => class.name().to_owned(),
        None if is_interval(type_) => "interval".to_owned(),
        None if type_.is_null() => "unknown".to_owned(),
        None => type_.to_string(),
    }
}

/// The refusal of a cast.
pub(in crate::functions) fn no_cast(from: TypeCategory, to: TypeCategory) -> DataFusionError {
    let message = format!("cannot cast type {} to {}", from.name(), to.name());
    external(Error::new(Kind::Rejected, message).sqlstate("42846"))
}

/// Refuses to mix numbers with dates or times: the engine treats a date as a number of days.
pub(crate) fn admit_together<'a>(types: impl Iterator<Item = &'a ArrowType> + Clone) -> Result<()> {
    let is = |category: fn(TypeCategory) -> bool| {
        types.clone().find(|type_| TypeCategory::from_type(type_).is_some_and(category)).map(type_name)
    };
    match (is(TypeCategory::is_time), is(TypeCategory::is_number)) {
        (Some(time), Some(number)) => {
            let message = format!("{time} and {number} cannot stand beside each other");
            let hint = "write a date in quotes: DATE '2026-03-31'; two dates are days apart";
            Err(external(Error::new(Kind::Rejected, message).sqlstate("42883").hint(hint)))
        }
        _ => Ok(()),
    }
}

/// The hint for functions of double precision.
pub(crate) const AS_DOUBLE: &str = "write CAST(… AS double precision) around its argument";

/// The refusal of a function for values of these types.
pub(crate) fn no_function(name: &str, of: &[ArrowType], hint: &'static str) -> DataFusionError {
    let of: Vec<String> = of.iter().map(type_name).collect();
    let message = format!("function {name}({}) is not supported over several connections", of.join(", "));
    external(Error::new(Kind::Rejected, message).sqlstate("42883").hint(hint))
}

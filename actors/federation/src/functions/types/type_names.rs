//! Types by their names in a statement, as PostgreSQL means them: times count microseconds.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result as EngineResult, not_impl_err};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{DataType, ExactNumberInfo, TimezoneInfo};

use crate::functions::types::categories::instant;

/// Digits behind the point of seconds.
const DIGITS: u64 = 6;

/// Digits that an exact number has here, at most.
const MOST_DIGITS: u64 = 38;

/// Plans the types that the engine takes for others.
#[derive(Debug)]
pub(crate) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, named: &DataType) -> EngineResult<Option<FieldRef>> {
        let type_ = match named {
            DataType::Time(Some(digits), _) | DataType::Timestamp(Some(digits), _) if *digits < DIGITS => {
                return not_impl_err!("round times to {digits} digits; use date_trunc");
            }
            DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                ArrowType::Time64(TimeUnit::Microsecond)
            }
            DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => instant(false),
            DataType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => instant(true),
            // Up to 24 bits are single precision.
            DataType::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => ArrowType::Float32,
            DataType::Float(_) => ArrowType::Float64,
            DataType::Numeric(ExactNumberInfo::PrecisionAndScale(digits, scale))
            | DataType::Decimal(ExactNumberInfo::PrecisionAndScale(digits, scale))
                if *scale < 0 || i128::from(*scale) > i128::from(*digits) =>
            {
                return not_impl_err!("numbers of type numeric({digits}, {scale})");
            }
            // The engine counts digits in one octet.
            DataType::Numeric(info) | DataType::Decimal(info)
                if let Some(digits) = precision(info).filter(|digits| *digits > MOST_DIGITS) =>
            {
                return not_impl_err!("numbers of {digits} digits; write numeric, or one of at most {MOST_DIGITS}");
            }
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(Field::new("", type_, true))))
    }
}

/// How many digits a number has, where that is said.
fn precision(of: &ExactNumberInfo) -> Option<u64> {
    match of {
        ExactNumberInfo::None => None,
        ExactNumberInfo::Precision(digits) | ExactNumberInfo::PrecisionAndScale(digits, _) => Some(*digits),
    }
}

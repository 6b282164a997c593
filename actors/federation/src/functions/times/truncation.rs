//! `date_trunc`, for all years that PostgreSQL has: the engine's own counts nanoseconds, which end in the year 2262.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use datafusion::arrow::array::new_null_array;
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use crate::functions::times::calendar::{out_of_range, zone};
use crate::functions::types::categories::instant;
use crate::functions::user_defined::{UserDefinedFunction, not_there, refused};
use portico_core::calendar;

/// The function.
pub(in crate::functions) const FUNCTIONS: &[UserDefinedFunction] = &[UserDefinedFunction {
    name: "date_trunc",
    types: |types| {
        let (of, zone) = match types {
            [unit, of] if unit.is_string() || unit.is_null() => (of, None),
            [unit, of, zone] if unit.is_string() || unit.is_null() => (of, Some(zone)),
            _ => return None,
        };
        let is_local = match of {
            ArrowType::Timestamp(_, None) => true,
            ArrowType::Timestamp(_, Some(_)) | ArrowType::Date32 | ArrowType::Null => false,
            _ => return None,
        };
        match zone {
            None => Some((vec![ArrowType::Utf8, instant(!is_local)], instant(!is_local))),
            // A time without a zone is one of UTC here.
            Some(zone) if zone.is_string() || zone.is_null() => {
                Some((vec![ArrowType::Utf8, instant(true), ArrowType::Utf8], instant(true)))
            }
            Some(_) => None,
        }
    },
    compute: truncated,
    hint: "give it a unit such as 'month' and a date or a timestamp; of a time, extract(hour FROM …) is a number",
}];

const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 3600 * SECOND;
/// The first timestamp that PostgreSQL has, `4714-11-24 BC` (`MIN_TIMESTAMP`).
const FIRST: i64 = -2_440_588 * DAY;

/// The precision that a time is truncated to.
#[derive(Clone, Copy)]
enum Unit {
    /// A multiple of so many microseconds, within a day.
    Microseconds(i64),
    Week,
    Months(i64),
    /// A number of years, and the first year of such a period.
    Years(i64, i64),
}

/// The units by their names.
const UNITS: &[(&str, Unit)] = &[
    ("microsecond", Unit::Microseconds(1)),
    ("millisecond", Unit::Microseconds(1000)),
    ("second", Unit::Microseconds(SECOND)),
    ("minute", Unit::Microseconds(60 * SECOND)),
    ("hour", Unit::Microseconds(3600 * SECOND)),
    ("day", Unit::Microseconds(DAY)),
    ("week", Unit::Week),
    ("month", Unit::Months(1)),
    ("quarter", Unit::Months(3)),
    ("year", Unit::Years(1, 0)),
    ("decade", Unit::Years(10, 0)),
    ("century", Unit::Years(100, 1)),
    ("millennium", Unit::Years(1000, 1)),
    ("centurie", Unit::Years(100, 1)),
    ("millennia", Unit::Years(1000, 1)),
];

impl Unit {
    fn named(name: &str) -> EngineResult<Self> {
        let small = name.to_lowercase();
        let is_named = |one: &str| small == one || small.strip_suffix('s') == Some(one);
        UNITS.iter().find(|(one, _)| is_named(one)).map(|(_, unit)| *unit).ok_or_else(|| {
            refused(
                "22023",
                format!(
                    "unit {name:?} not recognized: use microseconds, milliseconds, second, minute, hour, \
                day, week, month, quarter, year, decade, century or millennium"
                ),
            )
        })
    }

    /// Whether it begins at midnight.
    fn is_of_days(self) -> bool {
        !matches!(self, Self::Microseconds(width) if width < DAY)
    }

    /// When the unit begins that the time is in.
    fn begin(self, at: i64) -> i64 {
        let days = at.div_euclid(DAY);
        let (year, month, _) = calendar::date(days);
        match self {
            Self::Microseconds(width) => at - at.rem_euclid(width),
            // 1970-01-01 was a Thursday.
            Self::Week => (days - (days + 3).rem_euclid(7)) * DAY,
            Self::Months(months) => calendar::days(year, month - (month - 1) % months, 1) * DAY,
            Self::Years(years, first) => calendar::days(year - (year - first).rem_euclid(years), 1, 1) * DAY,
        }
    }
}

fn truncated(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let (unit, values, named) = match args.args.as_slice() {
        [unit, values] => (unit, values, None),
        [unit, values, named] => (unit, values, Some(named)),
        _ => return exec_err!("date_trunc takes a unit and a time"),
    };
    let values = values.to_array(args.number_rows)?;
    let ColumnarValue::Scalar(unit) = unit else {
        return Err(not_there("a unit that is not a literal".to_owned(), "write the unit in quotes"));
    };
    let zone = named.map(zone).transpose()?;
    let (Some(unit), false) = (unit.try_as_str().flatten(), zone.is_some_and(|zone| zone.is_none())) else {
        return Ok(new_null_array(values.data_type(), values.len()));
    };
    let (unit, zone) = (Unit::named(unit)?, zone.flatten());
    let begun =
        values.as_primitive::<TimestampMicrosecondType>().try_unary::<_, TimestampMicrosecondType, _>(|at| {
            let begun = match zone {
                None => unit.begin(at),
                Some(zone) => {
                    let offset = zone.offset_from_utc(at)? * SECOND;
                    let local = unit.begin(at + offset);
                    local - if unit.is_of_days() { zone.offset_of_local(local)? * SECOND } else { offset }
                }
            };
            if begun < FIRST { Err(out_of_range()) } else { Ok(begun) }
        })?;
    Ok(Arc::new(begun.with_data_type(values.data_type().clone())))
}

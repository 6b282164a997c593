//! `EXTRACT`: parts of dates and times as the exact numbers that PostgreSQL answers. The engine's own are whole numbers
//! without the fractions of a second.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, TimeUnit};
use datafusion::arrow::compute::{DatePart, cast, date_part};
use datafusion::common::{DataFusionError, Result as EngineResult, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::external_error::external;
use crate::functions::numbers::DIGITS;
use crate::functions::udf_macros::own_signature;
use portico_core::error::{Error, Kind};

/// The function behind `EXTRACT`.
pub(crate) const EXTRACT: &str = "extract";
const MICROSECONDS: i64 = 1_000_000;
const DAY: i64 = 24 * 3600;

/// The function behind `EXTRACT`.
pub(crate) fn extract() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Extract { signature: Signature::user_defined(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extract {
    signature: Signature,
}

/// A field of a date or a time.
enum DateField {
    Whole(DatePart),
    /// The seconds of the minute in units of so many microseconds, with so many digits behind the point.
    Seconds(i8),
    Epoch,
}

impl DateField {
    fn named(name: &str, of: &ArrowType) -> Option<Self> {
        let (has_date, has_time) = match of {
            ArrowType::Date32 => (true, false),
            ArrowType::Time64(_) => (false, true),
            _ => (true, true),
        };
        let part = match name {
            "year" => Self::Whole(DatePart::Year),
            "isoyear" => Self::Whole(DatePart::YearISO),
            "quarter" => Self::Whole(DatePart::Quarter),
            "month" => Self::Whole(DatePart::Month),
            "week" => Self::Whole(DatePart::Week),
            "day" => Self::Whole(DatePart::Day),
            "doy" => Self::Whole(DatePart::DayOfYear),
            "dow" => Self::Whole(DatePart::DayOfWeekSunday0),
            "isodow" => Self::Whole(DatePart::DayOfWeekMonday0),
            "hour" if has_time => return Some(Self::Whole(DatePart::Hour)),
            "minute" if has_time => return Some(Self::Whole(DatePart::Minute)),
            "second" | "seconds" if has_time => return Some(Self::Seconds(6)),
            "millisecond" | "milliseconds" if has_time => return Some(Self::Seconds(3)),
            "microsecond" | "microseconds" if has_time => return Some(Self::Seconds(0)),
            "epoch" => return Some(Self::Epoch),
            _ => return None,
        };
        has_date.then_some(part)
    }

    /// Digits behind the point.
    fn scale(&self, of: &ArrowType) -> i8 {
        match self {
            Self::Whole(_) => 0,
            Self::Seconds(digits) => *digits,
            Self::Epoch if *of == ArrowType::Date32 => 0,
            Self::Epoch => 6,
        }
    }

    fn extract(&self, array: &ArrayRef) -> EngineResult<ArrayRef> {
        let scale = self.scale(array.data_type());
        let numbers: Decimal128Array = match (self, array.data_type()) {
            (Self::Whole(part), _) => {
                let from_monday = i128::from(matches!(part, DatePart::DayOfWeekMonday0));
                let is_year = matches!(part, DatePart::Year | DatePart::YearISO);
                let numbers = date_part(array.as_ref(), *part)?;
                numbers.as_primitive::<Int32Type>().unary::<_, Decimal128Type>(|of| {
                    // There is no year 0: PostgreSQL counts the years BC from -1.
                    i128::from(of) + from_monday - i128::from(is_year && of <= 0)
                })
            }
            (Self::Epoch, ArrowType::Date32) => {
                array.as_primitive::<Date32Type>().unary(|days| i128::from(i64::from(days) * DAY))
            }
            (Self::Epoch, ArrowType::Time64(_)) => array.as_primitive::<Time64MicrosecondType>().unary(i128::from),
            (Self::Epoch, _) => array.as_primitive::<TimestampMicrosecondType>().unary(i128::from),
            (Self::Seconds(_), ArrowType::Time64(_)) => array.as_primitive::<Time64MicrosecondType>().unary(of_minute),
            (Self::Seconds(_), _) => array.as_primitive::<TimestampMicrosecondType>().unary(of_minute),
        };
        Ok(Arc::new(numbers.with_precision_and_scale(DIGITS, scale)?))
    }
}

/// The microseconds of the minute.
fn of_minute(microseconds: i64) -> i128 {
    microseconds.rem_euclid(60 * MICROSECONDS).into()
}

/// The part that a literal names.
fn part(name: Option<&ScalarValue>, of: &ArrowType) -> EngineResult<DateField> {
    let name = name.and_then(|name| name.try_as_str().flatten()).map(str::to_lowercase).unwrap_or_default();
    DateField::named(&name, of).ok_or_else(|| {
        let type_ = crate::functions::types::categories::type_name(of);
        let message = format!("unit \"{name}\" is not supported for type {type_} over several connections");
        let hint = "use year, quarter, month, week, day, dow, isodow, doy, isoyear or epoch, and of times hour, minute, \
                    second, millisecond or microsecond";
        external(Error::new(Kind::Rejected, message).sqlstate("22023").hint(hint))
    })
}

/// Returns the type that the field is taken of; texts are not allowed.
fn taken_of(type_: &ArrowType) -> EngineResult<ArrowType> {
    match type_ {
        ArrowType::Date32 => Ok(ArrowType::Date32),
        ArrowType::Timestamp(_, zone) => Ok(ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone())),
        ArrowType::Time64(_) => Ok(ArrowType::Time64(TimeUnit::Microsecond)),
        other => Err::<_, DataFusionError>(crate::functions::types::categories::no_function(
            EXTRACT,
            std::slice::from_ref(other),
            "take parts of dates, times and timestamps; of the time between two, epoch, day, hour, minute or second",
        )),
    }
}

impl ScalarUDFImpl for Extract {
    fn name(&self) -> &'static str {
        EXTRACT
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        match types {
            // Other types are left as they are, and refused under their name.
            [_, of] => Ok(vec![ArrowType::Utf8, taken_of(of).unwrap_or_else(|_| of.clone())]),
            _ => exec_err!("EXTRACT takes a part and a value"),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        internal_err!("bug: the type of a part is asked for without the part")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> EngineResult<FieldRef> {
        let ([_, of], [name, ..]) = (args.arg_fields, args.scalar_arguments) else {
            return exec_err!("EXTRACT takes a part and a value");
        };
        let type_ = taken_of(of.data_type())?;
        let scale = part(*name, &type_)?.scale(&type_);
        Ok(Arc::new(Field::new(EXTRACT, ArrowType::Decimal128(DIGITS, scale), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let [ColumnarValue::Scalar(name), value] = args.args.as_slice() else {
            return exec_err!("EXTRACT takes a part and a value");
        };
        let array = value.to_array(args.number_rows)?;
        let array = cast(&array, &taken_of(array.data_type())?)?;
        Ok(ColumnarValue::Array(part(Some(name), array.data_type())?.extract(&array)?))
    }
}

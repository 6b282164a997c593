//! Functions of dates and times that are PostgreSQL's.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{Int32Type, IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, PrimitiveArray};
use arrow_schema::{DataType as ArrowType, IntervalUnit};
use chrono::{Datelike, LocalResult, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone};
use datafusion::arrow::temporal_conversions::timestamp_us_to_datetime;
use datafusion::common::{DataFusionError, Result as EngineResult, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use crate::functions::types::categories::instant;
use crate::functions::user_defined::{UserDefinedFunction, not_there, refused};

/// The function behind `AT TIME ZONE`.
pub(crate) const TIME_ZONE: &str = "timezone";
/// The time at which an interval begins that a time is in.
pub(crate) const BIN: &str = "date_bin";

/// The last year for which the rules of zones are known here.
const LAST_YEAR: i32 = 2099;
/// The first date there is in this year, the 4714th before our era.
const FIRST_YEAR: i32 = -4713;

/// The functions.
pub(in crate::functions) const FUNCTIONS: &[UserDefinedFunction] = &[
    UserDefinedFunction {
        name: "make_date",
        types: |types| match types {
            [year, month, day] if [year, month, day].iter().all(|of| of.is_integer() || of.is_null()) => {
                Some((vec![ArrowType::Int32; 3], ArrowType::Date32))
            }
            _ => None,
        },
        compute: make_date,
        hint: "give it a year, a month and a day as integers",
    },
    UserDefinedFunction {
        name: TIME_ZONE,
        types: |types| match types {
            [zone, of] if zone.is_string() || zone.is_null() => {
                let (of, answered) = match of {
                    ArrowType::Timestamp(_, None) => (instant(false), instant(true)),
                    ArrowType::Timestamp(_, Some(_)) | ArrowType::Date32 | ArrowType::Null => {
                        (instant(true), instant(false))
                    }
                    _ => return None,
                };
                Some((vec![ArrowType::Utf8, of], answered))
            }
            _ => None,
        },
        compute: in_zone,
        hint: "cast what stands before AT TIME ZONE to timestamp or timestamptz",
    },
    UserDefinedFunction {
        name: BIN,
        types: |types| match types {
            [ArrowType::Interval(_) | ArrowType::Null, of, origin] => {
                let is_taken = |of: &ArrowType| {
                    matches!(of, ArrowType::Timestamp(..) | ArrowType::Date32 | ArrowType::Null) || of.is_string()
                };
                let is_zoned = |of: &ArrowType| matches!(of, ArrowType::Timestamp(_, Some(_)));
                let is_local = |of: &ArrowType| matches!(of, ArrowType::Timestamp(_, None));
                let both = [of, origin];
                if of.is_string() || !both.iter().all(|of| is_taken(of)) {
                    return None;
                }
                let zoned = both.iter().any(|of| is_zoned(of)) || !both.iter().any(|of| is_local(of));
                let stride = ArrowType::Interval(IntervalUnit::MonthDayNano);
                let origin = if origin.is_string() { ArrowType::Utf8 } else { instant(zoned) };
                Some((vec![stride, instant(zoned), origin], instant(zoned)))
            }
            _ => None,
        },
        compute: bin,
        hint: "give it an interval, a timestamp, and the timestamp from which is counted",
    },
];

pub(super) fn out_of_range() -> DataFusionError {
    refused("22008", "timestamp out of range".to_owned())
}

fn make_date(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let arrays: Vec<ArrayRef> =
        args.args.iter().map(|each| each.to_array(args.number_rows)).collect::<EngineResult<_>>()?;
    let [years, months, days] = arrays.as_slice() else { return exec_err!("make_date takes three values") };
    let [years, months, days] = [years, months, days].map(AsArray::as_primitive::<Int32Type>);
    let dates = years.iter().zip(months).zip(days).map(|((year, month), day)| {
        let (Some(year), Some(month), Some(day)) = (year, month, day) else { return Ok(None) };
        // There is no year 0: the year before 1 is 1 BC.
        let astronomical = if year < 0 { year.checked_add(1) } else { Some(year).filter(|year| *year > 0) };
        let date =
            astronomical.filter(|year| *year > FIRST_YEAR).zip(u32::try_from(month).ok()).zip(u32::try_from(day).ok());
        let date = date.and_then(|((year, month), day)| NaiveDate::from_ymd_opt(year, month, day));
        let days = date.map(|date| date.to_epoch_days());
        let message = || refused("22008", format!("date field value out of range: {year}-{month:02}-{day:02}"));
        days.map(Some).ok_or_else(message)
    });
    Ok(Arc::new(dates.collect::<EngineResult<Date32Array>>()?))
}

/// A zone of the IANA's, or UTC.
#[derive(Clone, Copy)]
pub(super) struct Zone {
    rules: Tz,
    is_utc: bool,
}

/// Returns the time zone that a literal names; `None` for NULL.
///
/// # Errors
/// For an unknown zone, and for an argument that is not a literal.
pub(super) fn zone(named: &ColumnarValue) -> EngineResult<Option<Zone>> {
    let ColumnarValue::Scalar(name) = named else {
        return Err(not_there("a time zone that is not a literal".to_owned(), "write the name of one zone, in quotes"));
    };
    let Some(name) = name.try_as_str().flatten() else { return Ok(None) };
    // PostgreSQL has abbreviations, and offsets with the opposite sign; a name with a slash is IANA's.
    let is_name = name.contains('/') || matches!(name, "UTC" | "GMT");
    let found = if is_name { Tz::from_str(name).ok() } else { None };
    let message = || format!("time zone {name:?} is not supported over several connections");
    let zone = found.map(|rules| Zone { rules, is_utc: name == "UTC" });
    zone.map(Some).ok_or_else(|| not_there(message(), "write a name such as 'Europe/Berlin', or 'UTC'"))
}

impl Zone {
    /// The time of these microseconds.
    ///
    /// # Errors
    /// Where the rules of the zone are not known.
    fn known_time(self, at: i64) -> EngineResult<NaiveDateTime> {
        let time = timestamp_us_to_datetime(at).ok_or_else(out_of_range)?;
        if time.year() > LAST_YEAR && !self.is_utc {
            let message = "a time after the year 2099 in a zone is not supported over several connections".to_owned();
            return Err(not_there(message, "leave the zone out: the rules of zones are known until then"));
        }
        Ok(time)
    }

    /// The seconds that the zone is before UTC at these microseconds of UTC.
    pub(super) fn offset_from_utc(self, at: i64) -> EngineResult<i64> {
        Ok(self.rules.offset_from_utc_datetime(&self.known_time(at)?).fix().local_minus_utc().into())
    }

    /// The seconds that the zone is before UTC at these microseconds of its clocks. Of a time that they show twice the second
    /// one is meant; one that they leave out is counted as before the change (`DetermineTimeZoneOffset`).
    pub(super) fn offset_of_local(self, at: i64) -> EngineResult<i64> {
        let time = self.known_time(at)?;
        let seconds = |offset: <Tz as TimeZone>::Offset| i64::from(offset.fix().local_minus_utc());
        Ok(match self.rules.offset_from_local_datetime(&time) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(_, offset) => seconds(offset),
            LocalResult::None => {
                let before = (1..=48).filter_map(|halves| time.checked_sub_signed(TimeDelta::minutes(30 * halves)));
                let mut known = before.filter_map(|before| self.rules.offset_from_local_datetime(&before).latest());
                known.next().map_or(0, seconds)
            }
        })
    }
}

fn in_zone(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let rows = args.number_rows;
    let [named, values] = args.args.as_slice() else { return exec_err!("timezone takes a zone and a time") };
    let values = values.to_array(rows)?;
    let is_zoned = matches!(values.data_type(), ArrowType::Timestamp(_, Some(_)));
    let answered = instant(!is_zoned);
    let Some(zone) = zone(named)? else {
        return Ok(datafusion::arrow::array::new_null_array(&answered, rows));
    };
    let moved = values
        .as_primitive::<TimestampMicrosecondType>()
        .try_unary::<_, TimestampMicrosecondType, DataFusionError>(|at| {
            let offset = if is_zoned { zone.offset_from_utc(at)? } else { -zone.offset_of_local(at)? };
            at.checked_add(offset * 1_000_000).ok_or_else(out_of_range)
        })?;
    Ok(Arc::new(moved.with_data_type(answered)))
}

fn bin(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let [stride, values, origin] = args.args.as_slice() else { return exec_err!("date_bin takes three values") };
    if origin.data_type().is_string() {
        return Err(not_there("date_bin from a text".to_owned(), "cast it to timestamp"));
    }
    let [stride, values, origin] = [stride, values, origin].map(|array| array.to_array(args.number_rows));
    let (stride, values, origin) = (stride?, values?, origin?);
    let strides = stride.as_primitive::<IntervalMonthDayNanoType>();
    let [times, origins] = [&values, &origin].map(AsArray::as_primitive::<TimestampMicrosecondType>);
    let bins = strides.iter().zip(times).zip(origins).map(|((stride, time), origin)| {
        let (Some(stride), Some(time), Some(origin)) = (stride, time, origin) else { return Ok(None) };
        if stride.months != 0 {
            let message = "timestamps cannot be binned into intervals containing months or years";
            return Err(refused("0A000", message.to_owned()));
        }
        let width = i128::from(stride.days) * 86_400_000_000 + i128::from(stride.nanoseconds) / 1_000;
        if width <= 0 {
            return Err(refused("22008", "stride must be greater than zero".to_owned()));
        }
        let begun = i128::from(time) - (i128::from(time) - i128::from(origin)).rem_euclid(width);
        i64::try_from(begun).map(Some).map_err(|_| out_of_range())
    });
    let bins = bins.collect::<EngineResult<PrimitiveArray<TimestampMicrosecondType>>>()?;
    Ok(Arc::new(bins.with_data_type(values.data_type().clone())))
}

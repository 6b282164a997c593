//! PostgreSQL's binary dates, times and intervals as text. Every value the source can hold has a
//! form here, infinity and years before Christ included; calendars of libraries stop short of them.

use std::fmt::Write;

use crate::postgres::decode::malformed::{Malformed, whole};
use portico_core::calendar::{push_date, push_padded, push_time, push_timestamp};

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
const MICROSECONDS_PER_DAY: i64 = 86_400 * MICROSECONDS_PER_SECOND;
/// Octets of nearly every form at most.
const LONGEST: usize = 32;
/// Days from 1970-01-01 to the epoch of PostgreSQL, 2000-01-01.
const EPOCH: i64 = 10_957;

/// `YYYY-MM-DD`.
pub(crate) fn date(raw: &[u8]) -> Result<String, Malformed> {
    let days = i32::from_be_bytes(whole(raw, "date")?);
    match days {
        i32::MAX => return Ok("infinity".to_owned()),
        i32::MIN => return Ok("-infinity".to_owned()),
        _ => {}
    }
    let mut text = String::with_capacity(LONGEST);
    push_date(&mut text, i64::from(days) + EPOCH);
    Ok(text)
}

/// `YYYY-MM-DDTHH:MM:SS[.f]` and the `zone` mark; before Christ in the source's own form.
pub(crate) fn timestamp(raw: &[u8], zone: Zone) -> Result<String, Malformed> {
    let microseconds = i64::from_be_bytes(whole(raw, "timestamp")?);
    match microseconds {
        i64::MAX => return Ok("infinity".to_owned()),
        i64::MIN => return Ok("-infinity".to_owned()),
        _ => {}
    }
    let mut text = String::with_capacity(LONGEST);
    let days = microseconds.div_euclid(MICROSECONDS_PER_DAY) + EPOCH;
    let of_day = microseconds.rem_euclid(MICROSECONDS_PER_DAY).unsigned_abs();
    push_timestamp(&mut text, days, of_day, zone == Zone::Utc);
    Ok(text)
}

/// Whether a timestamp is a point in time, written in UTC, or local time without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    None,
    Utc,
}

/// `HH:MM:SS[.f]`; 24:00:00 is legal.
pub(crate) fn time(raw: &[u8]) -> Result<String, Malformed> {
    let mut text = String::with_capacity(LONGEST);
    push_time(&mut text, i64::from_be_bytes(whole(raw, "time")?).unsigned_abs());
    Ok(text)
}

/// `HH:MM:SS[.f]±HH[:MM[:SS]]`.
pub(crate) fn time_with_zone(raw: &[u8]) -> Result<String, Malformed> {
    let (time, zone) = raw.split_first_chunk::<8>().ok_or(Malformed("timetz"))?;
    let mut text = String::with_capacity(LONGEST);
    push_time(&mut text, i64::from_be_bytes(*time).unsigned_abs());
    // The source counts seconds west of Greenwich.
    let west = i64::from(i32::from_be_bytes(whole(zone, "timetz")?));
    let seconds = west.unsigned_abs();
    text.push(if west > 0 { '-' } else { '+' });
    push_padded(&mut text, seconds / 3600, 2);
    if seconds % 3600 != 0 {
        text.push(':');
        push_padded(&mut text, seconds / 60 % 60, 2);
    }
    if seconds % 60 != 0 {
        text.push(':');
        push_padded(&mut text, seconds % 60, 2);
    }
    Ok(text)
}

/// The form of `IntervalStyle = postgres`: `1 year 2 mons 3 days 04:05:06.7`.
pub(crate) fn interval(raw: &[u8]) -> Result<String, Malformed> {
    match fields(raw)? {
        (i64::MAX, i32::MAX, i32::MAX) => Ok("infinity".to_owned()),
        (i64::MIN, i32::MIN, i32::MIN) => Ok("-infinity".to_owned()),
        _ => finite_interval(raw),
    }
}

/// Microseconds, days and months of an interval.
fn fields(raw: &[u8]) -> Result<(i64, i32, i32), Malformed> {
    let (time, rest) = raw.split_first_chunk::<8>().ok_or(Malformed("interval"))?;
    let (days, months) = rest.split_first_chunk::<4>().ok_or(Malformed("interval"))?;
    let months = i32::from_be_bytes(whole(months, "interval")?);
    Ok((i64::from_be_bytes(*time), i32::from_be_bytes(*days), months))
}

/// As the function above, for servers before 17, which have no infinite intervals.
pub(crate) fn finite_interval(raw: &[u8]) -> Result<String, Malformed> {
    let (microseconds, days, months) = fields(raw)?;
    let mut text = String::new();
    let mut negative_before = false;
    for (value, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if value == 0 {
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        if negative_before && value > 0 {
            text.push('+');
        }
        let plural = if value == 1 { "" } else { "s" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{value} {unit}{plural}");
        negative_before = value < 0;
    }
    if text.is_empty() || microseconds != 0 {
        if !text.is_empty() {
            text.push(' ');
        }
        if microseconds < 0 {
            text.push('-');
        } else if negative_before {
            text.push('+');
        }
        push_time(&mut text, microseconds.unsigned_abs());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_around_the_turns_of_eras() {
        let at = |days: i32| date(&days.to_be_bytes()).unwrap();
        assert_eq!(at(0), "2000-01-01");
        assert_eq!(at(-1), "1999-12-31");
        assert_eq!(at(59), "2000-02-29");
        assert_eq!(at(-730_119), "0001-01-01");
        assert_eq!(at(-730_120), "0001-12-31 BC");
        assert_eq!(at(2_921_940), "10000-01-01");
        assert_eq!(at(i32::MIN), "-infinity");
    }

    #[test]
    fn a_moment_before_the_epoch_has_a_positive_time_of_day() {
        assert_eq!(timestamp(&(-1_i64).to_be_bytes(), Zone::Utc).unwrap(), "1999-12-31T23:59:59.999999Z");
        assert_eq!(timestamp(&1_500_000_i64.to_be_bytes(), Zone::None).unwrap(), "2000-01-01T00:00:01.5");
    }

    #[test]
    fn too_few_octets_are_an_error() {
        assert!(date(&[1]).is_err());
        assert!(interval(&[0; 15]).is_err());
        assert!(time_with_zone(&[0; 8]).is_err());
    }
}

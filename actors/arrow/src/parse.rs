//! Parses values that come as text, in the units of Arrow. Returns `None` for values that the type cannot hold:
//! infinity, the hour 24.

use arrow_buffer::i256;
use portico_core::calendar;

/// Microseconds of a second and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 3600 * SECOND;

/// Days since 1970-01-01 of `YYYY-MM-DD`, with ` BC` behind it before the year 1.
pub(super) fn date(text: &str) -> Option<i32> {
    let (text, before_christ) = era(text);
    day(text, before_christ)
}

fn day(text: &str, before_christ: bool) -> Option<i32> {
    let mut pieces = text.split('-');
    let (year, month, day) = (pieces.next()?, number(pieces.next()?)?, number(pieces.next()?)?);
    let year = number(year).filter(|_| year.len() >= 4)?;
    // There is no year 0: the year before 1 is 1 BC.
    let year = if before_christ { 1 - year } else { year };
    let days = calendar::days(year, month, day);
    // A source may hold days that are none, as SQLite does: 2024-02-30.
    let fits = (1..=12).contains(&month) && calendar::date(days) == (year, month, day) && pieces.next().is_none();
    i32::try_from(days).ok().filter(|_| fits)
}

/// Returns the text without its era, and whether the era is before Christ.
fn era(text: &str) -> (&str, bool) {
    text.strip_suffix(calendar::BEFORE_CHRIST).map_or((text, false), |text| (text, true))
}

/// Microseconds since midnight of `HH:MM:SS[.f]`.
pub(super) fn time(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut pieces = whole.split(':');
    let (hour, minute, second) = (number(pieces.next()?)?, number(pieces.next()?)?, number(pieces.next()?)?);
    if fraction.len() > 6 || minute >= 60 || second >= 60 || pieces.next().is_some() {
        return None;
    }
    let microseconds = number(&format!("{fraction:0<6}"))?;
    let time = ((hour * 60 + minute) * 60 + second) * SECOND + microseconds;
    (time < DAY).then_some(time)
}

/// Microseconds since 1970-01-01 of `YYYY-MM-DDTHH:MM:SS[.f][Z]`; before the year 1, of `YYYY-MM-DD HH:MM:SS[.f][+00] BC`.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    let (bare, before_christ) = era(text);
    let (between, zone) = if before_christ { (' ', "+00") } else { ('T', "Z") };
    let (date, rest) = bare.split_once(between)?;
    let time = time(rest.strip_suffix(zone).unwrap_or(rest))?;
    i64::from(day(date, before_christ)?).checked_mul(DAY)?.checked_add(time)
}

/// The digits of a decimal with so many behind the point, as one whole number; `most` digits in all.
pub(super) fn decimal(text: &str, most: u8, scale: i8) -> Option<i256> {
    let scale = usize::try_from(scale).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    // Zeros beyond its scale are insignificant.
    let fraction = if fraction.len() > scale { fraction.trim_end_matches('0') } else { fraction };
    if fraction.len() > scale || whole.trim_start_matches('-').is_empty() {
        return None;
    }
    let digits = format!("{whole}{fraction:0<scale$}");
    let bare = digits.strip_prefix('-').unwrap_or(&digits);
    let fits = !bare.is_empty()
        && bare.bytes().all(|digit| digit.is_ascii_digit())
        && bare.trim_start_matches('0').len() <= usize::from(most);
    if fits { i256::from_string(&digits) } else { None }
}

fn number(digits: &str) -> Option<i64> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-21", Some(20_778)),
            ("0001-01-01", Some(-719_162)),
            ("294276-12-31", Some(106_762_939)),
            ("infinity", None),
            ("0001-12-31 BC", Some(-719_163)),
            ("4714-11-24 BC", Some(-2_440_588)),
            ("BC", None),
            ("2026-13-01", None),
            ("2024-02-30", None),
            ("2023-02-29", None),
            ("2024-04-31", None),
            ("2024-01-00", None),
            ("2026-01", None),
            ("", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn times_keep_their_microseconds() {
        assert_eq!(time("00:00:00"), Some(0));
        assert_eq!(time("23:59:59.999999"), Some(DAY - 1));
        assert_eq!(time("00:00:01.5"), Some(1_500_000));
        for wrong in ["24:00:00", "12:00:00+02", "12:00", "", "12:00:00.1234567", "10:11:60", "10:60:00"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(timestamp("1970-01-02T00:00:00.000001Z"), Some(DAY + 1));
        assert_eq!(timestamp("1969-12-31T23:59:59"), Some(-SECOND));
        assert_eq!(timestamp("0001-12-31 00:00:01+00 BC"), Some(-719_163 * DAY + SECOND));
        assert_eq!(timestamp("0001-12-31 00:00:01 BC"), Some(-719_163 * DAY + SECOND));
        for wrong in ["infinity", "-infinity", "2026-01-01", "0044-03-15T12:00:00Z BC", "2026-01-01 12:00:00+00"] {
            assert_eq!(timestamp(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_fill_up_to_their_scale() {
        let read = |text: &str| decimal(text, 10, 2);
        assert_eq!(read("12.5"), Some(i256::from_i128(1250)));
        assert_eq!(read("-0.05"), Some(i256::from_i128(-5)));
        assert_eq!(read("12345678.90"), Some(i256::from_i128(1_234_567_890)));
        for wrong in ["0.001", "123456789.00", "NaN", "Infinity", "1e3", "", "-"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let long = "9".repeat(76);
        assert_eq!(decimal(&long, 76, 0).unwrap().to_string(), long);
    }
}

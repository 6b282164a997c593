//! The proleptic Gregorian calendar, and the text form of dates and times in results. Dates of libraries end with
//! the year 9999; those of PostgreSQL and Arrow go further.

/// The suffix of a date before the year 1.
pub const BEFORE_CHRIST: &str = " BC";

/// Days from 0000-03-01 to 1970-01-01. Years that begin in March have the leap day last, and 400 of them are
/// always 146,097 days.
const UNIX_EPOCH: i64 = 719_468;

/// Days from 1970-01-01 to a day of the calendar; year 0 is 1 BC.
pub const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - UNIX_EPOCH
}

/// Returns year, month and day of a number of days since 1970-01-01; year 0 is 1 BC.
pub fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + UNIX_EPOCH;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Returns true for a day of the calendar, `YYYY-MM-DD`.
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, width: usize| {
        let is_whole = part.len() == width && part.bytes().all(|digit| digit.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| is_whole)
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    (1..=12).contains(&month) && date(days(year, month, day)) == (year, month, day)
}

/// Writes `YYYY-MM-DD` for days since 1970-01-01; before the year 1 as PostgreSQL does (`0044-03-15 BC`).
pub fn push_date(text: &mut String, days: i64) {
    if push_day(text, days) {
        text.push_str(BEFORE_CHRIST);
    }
}

/// Writes `YYYY-MM-DDTHH:MM:SS[.f]` for days since 1970-01-01 and microseconds since midnight, and `Z` if it is in
/// UTC; before the year 1 as PostgreSQL does (`0044-03-15 12:00:00+00 BC`).
pub fn push_timestamp(text: &mut String, days: i64, microseconds: u64, is_utc: bool) {
    let before_christ = push_day(text, days);
    text.push(if before_christ { ' ' } else { 'T' });
    push_time(text, microseconds);
    match (is_utc, before_christ) {
        (true, true) => text.push_str("+00"),
        (true, false) => text.push('Z'),
        (false, _) => {}
    }
    if before_christ {
        text.push_str(BEFORE_CHRIST);
    }
}

/// Writes a day. Returns true if its year is before Christ.
fn push_day(text: &mut String, days: i64) -> bool {
    let (year, month, day) = date(days);
    // There is no year 0: the year before 1 is 1 BC.
    let before_christ = year <= 0;
    let year = if before_christ { 1 - year } else { year };
    push_padded(text, year.unsigned_abs(), 4);
    text.push('-');
    push_padded(text, month.unsigned_abs(), 2);
    text.push('-');
    push_padded(text, day.unsigned_abs(), 2);
    before_christ
}

/// Writes `HH:MM:SS[.f]` for microseconds since midnight, without trailing zeros.
pub fn push_time(text: &mut String, microseconds: u64) {
    let seconds = microseconds / 1_000_000;
    push_padded(text, seconds / 3600, 2);
    text.push(':');
    push_padded(text, seconds / 60 % 60, 2);
    text.push(':');
    push_padded(text, seconds % 60, 2);
    let (mut fraction, mut width) = (microseconds % 1_000_000, 6);
    if fraction == 0 {
        return;
    }
    while fraction % 10 == 0 {
        (fraction, width) = (fraction / 10, width - 1);
    }
    text.push('.');
    push_padded(text, fraction, width);
}

/// Writes a number with leading zeros up to `width`. Formatting by the standard library took a quarter of the time
/// of an answer with a timestamp in each row.
pub fn push_padded(text: &mut String, number: u64, width: usize) {
    let (mut digits, mut rest, mut start) = ([b'0'; 20], number, 20);
    while rest > 0 || 20 - start < width {
        start -= 1;
        digits[start] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    text.extend(digits[start..].iter().copied().map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_of_the_calendar() {
        for (text, is_one) in [
            ("2024-02-29", true),
            ("0001-01-01", true),
            ("2023-02-29", false),
            ("2025-13-01", false),
            ("2025-00-01", false),
            ("2025-01-00", false),
            ("2025-01-32", false),
            ("31.12.2024", false),
            ("2025-1-1", false),
            ("+025-01-01", false),
            ("yesterday", false),
            ("2025-01-01T00:00:00", false),
            ("", false),
        ] {
            assert_eq!(is_date(text), is_one, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_eras_has_its_date() {
        let (mut year, mut month, mut day) = (-801, 1, 1);
        let is_leap = |year: i64| year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
        for number in days(year, month, day)..days(800, 1, 1) {
            assert_eq!(date(number), (year, month, day));
            assert_eq!(days(year, month, day), number);
            let last = match month {
                2 => 28 + i64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, end) if end == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!((days(1970, 1, 1), days(2026, 11, 21), date(106_762_939)), (0, 20_778, (294_276, 12, 31)));
    }
}

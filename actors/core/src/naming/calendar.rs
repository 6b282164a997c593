//! The proleptic Gregorian calendar. A library's dates end with the year 9999; those of PostgreSQL and Arrow go
//! further.

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

/// Year, month and day of so many days since 1970-01-01; year 0 is 1 BC.
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

#[cfg(test)]
mod tests {
    use super::*;

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

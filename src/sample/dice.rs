//! Random numbers and dates for the sample: a small generator of our own, so that the numbers are the same on every
//! machine and with every version. Nothing secret is ever made with it.

use portico_actors::calendar;

/// `SplitMix64` with a fixed beginning.
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    /// Starts the sequence of `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: i64, most: i64) -> i64 {
        let width = most.abs_diff(least).saturating_add(1);
        // The remainder's tiny bias does not matter here.
        least.saturating_add_unsigned(self.next() % width)
    }

    /// One of `choices`, which has some.
    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.next() % choices.len().max(1) as u64;
        &choices[usize::try_from(index).unwrap_or(0)]
    }

    /// True so many times in a hundred.
    pub(super) fn percent(&mut self, chance: i64) -> bool {
        self.between(1, 100) <= chance
    }

    /// 128 bits in the form of a version 4 UUID (RFC 9562 §5.4).
    pub(super) fn uuid(&mut self) -> String {
        let bits = (u128::from(self.next()) << 64) | u128::from(self.next());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
    }
}

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// A day as `YYYY-MM-DD`.
pub(super) fn date(days: i64) -> String {
    let (year, month, day) = calendar::date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds since 1970 as `YYYY-MM-DDTHH:MM:SS`.
pub(super) fn timestamp(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}", date(seconds.div_euclid(DAY)))
}

/// The reverse of [`timestamp`].
pub(super) fn seconds(timestamp: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| timestamp.get(range)?.parse::<i64>().ok();
    let days = calendar::days(number(0..4)?, number(5..7)?, number(8..10)?);
    Some(days * DAY + number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_in_the_database() {
        assert_eq!(timestamp(20_000 * DAY + 3_661), "2024-10-04T01:01:01");
        assert_eq!(seconds("2024-10-04T01:01:01"), Some(20_000 * DAY + 3_661));
    }

    #[test]
    fn the_sequence_is_always_the_same() {
        // The published first outputs of SplitMix64 for this seed.
        let mut dice = Dice::new(1_234_567);
        assert_eq!([dice.next(), dice.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        for _ in 0..1000 {
            assert!((-3..=4).contains(&dice.between(-3, 4)));
        }
        assert_eq!(dice.uuid().len(), 36);
    }
}

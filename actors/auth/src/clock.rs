//! The current time, as a value that tests can set. No waiting and no timers live here.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use portico_core::calendar;

/// A point in time in whole seconds since 1970-01-01T00:00:00Z, as tokens and the store keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From seconds since 1970-01-01T00:00:00Z.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// Adds a duration; saturates at the end of time.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_seconds(duration)))
    }

    /// Subtracts a duration; saturates at the beginning of time.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(whole_seconds(duration)))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(whole_seconds(since)),
            Err(until) => Self(-whole_seconds(until.duration())),
        }
    }
}

/// RFC 3339 in UTC, such as `2026-11-21T09:30:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = calendar::date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn whole_seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

/// How far the clocks of two machines may be apart unless the settings say otherwise.
pub const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// The current time, and the maximal clock skew of other processes: times that they have written are compared with
/// both.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    time: Timestamp,
    skew: Duration,
}

impl Now {
    /// The time, as this process notes it.
    pub const fn time(self) -> Timestamp {
        self.time
    }

    /// The same, no later than `last`.
    #[must_use]
    pub fn no_later_than(self, last: Timestamp) -> Self {
        Self { time: self.time.min(last), ..self }
    }

    /// Returns true if `end` has passed, by the clock of any process.
    pub fn is_over(self, end: Timestamp) -> bool {
        self.time >= self.over_from(end)
    }

    /// When it is over for this clock.
    #[must_use]
    pub fn over_from(self, end: Timestamp) -> Timestamp {
        end.after(self.skew)
    }

    /// The last end that is over.
    #[must_use]
    pub fn ended(self) -> Timestamp {
        self.time.before(self.skew)
    }
}

/// A moment by two clocks. The machine's clock may be set; the steady clock never goes back, but may stand still while
/// the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    time: Timestamp,
    steady: Instant,
}

impl Moment {
    /// The moment now, which is `time` by the machine's clock.
    pub(crate) fn now(time: Timestamp) -> Self {
        Self { time, steady: Instant::now() }
    }

    /// The time by the machine's clock.
    pub(crate) const fn time(self) -> Timestamp {
        self.time
    }

    /// How long ago `earlier` was, by the clock that says more.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        let told = self.time.seconds().saturating_sub(earlier.time.seconds());
        let told = Duration::from_secs(u64::try_from(told).unwrap_or_default());
        self.steady.saturating_duration_since(earlier.steady).max(told)
    }

    /// Returns true if `earlier` was so long ago, or if the machine's clock was set back behind it.
    pub(crate) fn is_past(self, earlier: Self, by: Duration) -> bool {
        self.time < earlier.time || self.since(earlier) >= by
    }
}

/// Returns the current time.
#[derive(Clone)]
pub struct Clock {
    time: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    skew: Duration,
}

impl Clock {
    /// The system's own clock.
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// Makes a clock that calls `time`, which must return at once and never panic.
    pub fn new(time: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { time: Arc::new(time), skew: CLOCK_SKEW }
    }

    /// Sets the maximal skew of other machines' clocks.
    #[must_use]
    pub fn apart(self, skew: Duration) -> Self {
        Self { skew, ..self }
    }

    /// The time now.
    pub fn now(&self) -> Now {
        Now { time: (self.time)().into(), skew: self.skew }
    }

    /// How far the clocks of other machines may be apart from it.
    pub const fn skew(&self) -> Duration {
        self.skew
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_told_as_rfc_3339() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_253_400, "2026-11-21T09:30:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::from_seconds(seconds).to_string(), text);
        }
    }

    #[test]
    fn what_has_ended_by_one_clock_is_over_by_another_one_when_the_skew_has_passed() {
        let end = Timestamp::from_seconds(100);
        for (skew, time, is_over) in [(0, 99, false), (0, 100, true), (30, 129, false), (30, 130, true)] {
            let clock = Clock::new(move || UNIX_EPOCH + Duration::from_secs(time)).apart(Duration::from_secs(skew));
            let now = clock.now();
            assert_eq!((now.is_over(end), end <= now.ended()), (is_over, is_over), "{skew} {time}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_younger() {
        let (day, steady) = (Duration::from_hours(24), Instant::now());
        let at =
            |seconds: i64, later: Duration| Moment { time: Timestamp::from_seconds(seconds), steady: steady + later };
        let begun = at(100_000, Duration::ZERO);
        for (now, age) in [
            (at(100_000, Duration::ZERO), Duration::ZERO),
            (at(100_000, day), day),
            (at(100_060, Duration::ZERO), Duration::from_secs(60)),
            (at(1_000, day), day),
        ] {
            assert_eq!(now.since(begun), age);
            assert_eq!(now.is_past(begun, day), age >= day);
        }
        assert!(at(99_999, Duration::ZERO).is_past(begun, day), "nobody knows how long ago it was");
        assert!(at(i64::MIN, Duration::ZERO).is_past(begun, day));
    }

    #[test]
    fn arithmetic_ends_at_the_ends_of_time() {
        let last = Timestamp::from_seconds(i64::MAX);
        assert_eq!(last.after(Duration::MAX), last);
        assert_eq!(Timestamp::from_seconds(i64::MIN).before(Duration::MAX), Timestamp::from_seconds(i64::MIN));
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(5)).seconds(), -5);
    }
}

//! What time it is, as a value that tests can set. No waiting and no timers live here.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::calendar;

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

    /// This much later; the end of time where that cannot be told.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_seconds(duration)))
    }

    /// This much earlier; the beginning of time where that cannot be told.
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

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// The system's own clock.
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// A clock that tells what `time` says; must return at once and never panic.
    pub fn new(time: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(time))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)().into()
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
    fn arithmetic_ends_at_the_ends_of_time() {
        let last = Timestamp::from_seconds(i64::MAX);
        assert_eq!(last.after(Duration::MAX), last);
        assert_eq!(Timestamp::from_seconds(i64::MIN).before(Duration::MAX), Timestamp::from_seconds(i64::MIN));
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(5)).seconds(), -5);
    }
}

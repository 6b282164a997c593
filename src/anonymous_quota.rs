//! Limits the records that unauthenticated callers cause, in the audit trail and in the log. They are limited
//! twice: in time, so that a flood does not fill the disk, and in proportion to the records of known callers, so
//! that patience does not rotate those away either.

use portico_actors::mutex::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Records of strangers that are recorded one by one: so many at once …
const BURST: f64 = 100.0;
/// … and so many a second.
const RATE: f64 = 20.0;
/// Records of strangers that a quiet service records at most …
const CREDIT: f64 = 1_000.0;
/// … and how many each record of a known caller allows.
const SHARE: f64 = 1.0 / 3.0;
/// The longest and the shortest interval between reports of the counted ones.
pub(crate) const SUM_AT_LEAST: Duration = Duration::from_mins(10);
pub(crate) const SUM_AT_MOST: Duration = Duration::from_mins(1);

/// Decides which records of strangers are made, and counts the others.
#[derive(Debug)]
pub(crate) struct Strangers {
    bucket: Mutex<Bucket>,
    counted: AtomicU64,
}

impl Default for Strangers {
    fn default() -> Self {
        Self { bucket: Mutex::new(Bucket::full(Instant::now())), counted: AtomicU64::new(0) }
    }
}

impl Strangers {
    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        lock(&self.bucket)
    }

    /// Returns true if one more gets a record of its own; otherwise it is counted. Records of known callers always
    /// do.
    pub(crate) fn takes(&self, is_stranger: bool) -> bool {
        if !is_stranger {
            self.bucket().earn();
            return true;
        }
        let takes = self.bucket().take(Instant::now());
        if !takes {
            self.count();
        }
        takes
    }

    /// Counts one that is not recorded.
    pub(crate) fn count(&self) {
        self.counted.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were counted since this was asked last.
    pub(crate) fn counted(&self) -> u64 {
        self.counted.swap(0, Ordering::Relaxed)
    }

    /// Returns true if the count must be reported although nothing else is recorded.
    pub(crate) fn is_due(&self) -> bool {
        self.bucket().is_due(Instant::now())
    }
}

/// How many may be recorded now.
#[derive(Debug)]
struct Bucket {
    left: f64,
    credit: f64,
    at: Instant,
    told: Instant,
}

impl Bucket {
    fn full(now: Instant) -> Self {
        Self { left: BURST, credit: CREDIT, at: now, told: now }
    }

    /// Whether one more is recorded by itself.
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * RATE).min(BURST);
        self.at = now;
        let has = self.left >= 1.0 && self.credit >= 1.0;
        self.left -= f64::from(u8::from(has));
        self.credit -= f64::from(u8::from(has));
        has
    }

    /// A known caller has left a record.
    fn earn(&mut self) {
        self.credit = (self.credit + SHARE).min(CREDIT);
    }

    /// Returns true if the count must be reported although nothing else is recorded.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.told) >= SUM_AT_LEAST;
        if is_due {
            self.told = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_recorded_one_by_one_up_to_a_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        assert_eq!((0..1_000).filter(|_| bucket.take(start)).count(), 100);
        let later = start + Duration::from_secs(2);
        assert_eq!((0..1_000).filter(|_| bucket.take(later)).count(), 40);
    }

    #[test]
    fn patient_strangers_leave_no_more_than_a_share() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        let flood = |bucket: &mut Bucket, from: u32| {
            (from..from + 86_400).filter(|second| bucket.take(start + Duration::from_secs((*second).into()))).count()
        };
        assert_eq!(flood(&mut bucket, 0), 1_000, "a day of it leaves a bounded number");
        assert_eq!(flood(&mut bucket, 86_400), 0);
        (0..3_000).for_each(|_| bucket.earn());
        let left = flood(&mut bucket, 2 * 86_400);
        assert!((999..=1_000).contains(&left), "{left}");
        assert!(bucket.is_due(start + SUM_AT_LEAST) && !bucket.is_due(start + SUM_AT_LEAST));
    }
}

//! Rate limits: a token bucket for each key, in bounded memory. What is counted, and the form of the refusal, is
//! decided elsewhere.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use portico_core::error::Quota;

/// The number allowed in a window; all of one window may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub most: u32,
    /// In which time.
    pub window: Duration,
}

impl Rate {
    /// So many in a minute.
    pub const fn per_minute(most: u32) -> Self {
        Self { most, window: Duration::from_secs(60) }
    }

    /// Returns the same rate without bursts.
    pub(crate) fn one_by_one(self) -> Self {
        Self { most: self.most.min(1), window: self.interval() }
    }

    /// The time in which one more is earned.
    fn interval(self) -> Duration {
        self.window / self.most.max(1)
    }
}

/// A bucket for each key (the generic cell rate algorithm: one point in time says how full a bucket is). Two
/// generations of at most half the capacity each: when the younger is full, the older is dropped. A key in use is
/// kept; a dropped bucket is a full one, or one of very many.
#[derive(Debug)]
pub struct Throttle<K> {
    policy: &'static str,
    /// `None`: no limit.
    rate: Option<Rate>,
    half: usize,
    younger: HashMap<K, Instant>,
    older: HashMap<K, Instant>,
}

impl<K: Eq + Hash> Throttle<K> {
    /// Makes buckets for at most `capacity` keys. `policy` names them in answers; a rate of 0 means no limit.
    pub fn new(policy: &'static str, rate: Rate, capacity: usize) -> Self {
        let rate = Some(rate).filter(|rate| rate.most > 0);
        Self { policy, rate, half: (capacity / 2).max(1), younger: HashMap::new(), older: HashMap::new() }
    }

    /// Takes one token from the bucket of `key`. Returns the state of the bucket; `None` if there is no limit.
    ///
    /// # Errors
    /// The state of the bucket if it is empty: nothing was taken.
    pub fn take(&mut self, key: K, now: Instant) -> Result<Option<Quota>, Quota> {
        let Some(rate) = self.rate else { return Ok(None) };
        let full_at = self.full_at(&key).filter(|at| *at > now).unwrap_or(now);
        let after = full_at + rate.interval();
        let spent = after.duration_since(now);
        if spent > rate.window + rate.interval() / 2 {
            return Err(self.quota(rate, full_at, now));
        }
        self.insert(key, after);
        Ok(Some(self.quota(rate, after, now)))
    }

    /// Puts one token back into the bucket of `key`.
    pub fn give_back(&mut self, key: &K) {
        let Some(rate) = self.rate else { return };
        let full_at = self.younger.get_mut(key).or_else(|| self.older.get_mut(key));
        if let Some(full_at) = full_at {
            // A time that cannot be represented is so long ago that the bucket is full.
            *full_at = full_at.checked_sub(rate.interval()).unwrap_or(*full_at);
        }
    }

    /// Makes the bucket of `key` full.
    pub fn forget(&mut self, key: &K) {
        self.younger.remove(key);
        self.older.remove(key);
    }

    /// Whether the bucket of `key` is empty.
    pub fn exhausted(&self, key: &K, now: Instant) -> Option<Quota> {
        let quota = self.quota(self.rate?, self.full_at(key)?, now);
        (quota.remaining == 0).then_some(quota)
    }

    fn full_at(&self, key: &K) -> Option<Instant> {
        self.younger.get(key).or_else(|| self.older.get(key)).copied()
    }

    fn quota(&self, rate: Rate, full_at: Instant, now: Instant) -> Quota {
        let (interval, missing) =
            (rate.interval().as_nanos().max(1), full_at.saturating_duration_since(now).as_nanos());
        let spent = u32::try_from(missing.div_ceil(interval)).unwrap_or(u32::MAX).min(rate.most);
        let remaining = rate.most - spent;
        // For an empty bucket, when the next token is available; otherwise when all are.
        let next = missing.saturating_sub(interval * u128::from(rate.most - 1));
        let reset = if remaining == 0 { next } else { missing };
        Quota {
            policy: self.policy,
            most: rate.most,
            window: rate.window,
            remaining,
            reset: Duration::from_nanos(u64::try_from(reset).unwrap_or(u64::MAX)),
        }
    }

    fn insert(&mut self, key: K, full_at: Instant) {
        if self.younger.len() >= self.half && !self.younger.contains_key(&key) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.older.remove(&key);
        self.younger.insert(key, full_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let mut throttle = Throttle::new("test", Rate { most: 3, window: Duration::from_secs(30) }, 10);
        let start = Instant::now();
        for remaining in [2, 1, 0] {
            assert_eq!(throttle.take("a", start).unwrap().unwrap().remaining, remaining);
        }
        let empty = throttle.take("a", start).unwrap_err();
        assert_eq!((empty.remaining, empty.reset, empty.most), (0, Duration::from_secs(10), 3));
        assert_eq!(throttle.exhausted(&"a", start), Some(empty));
        assert!(throttle.take("b", start).is_ok(), "another key has its own");
        let later = start + Duration::from_secs(10);
        assert!(throttle.exhausted(&"a", later).is_none());
        assert_eq!(throttle.take("a", later).unwrap().unwrap().remaining, 0);
        assert!(throttle.take("a", later).is_err());
        let much_later = start + Duration::from_secs(1_000);
        assert_eq!(throttle.take("a", much_later).unwrap().unwrap().remaining, 2);
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let mut throttle = Throttle::new("test", Rate { most: 2, window: Duration::from_secs(20) }, 10);
        let now = Instant::now();
        assert!(throttle.take("a", now).is_ok() && throttle.take("a", now).is_ok() && throttle.take("a", now).is_err());
        throttle.give_back(&"a");
        assert!(throttle.take("a", now).is_ok() && throttle.take("a", now).is_err());
        throttle.forget(&"a");
        throttle.give_back(&"a");
        assert_eq!(throttle.take("a", now).unwrap().unwrap().remaining, 1);
    }

    #[test]
    fn a_rate_of_none_lets_everything_pass() {
        let mut throttle = Throttle::new("test", Rate::per_minute(0), 10);
        let now = Instant::now();
        assert!((0..1_000).all(|_| throttle.take("a", now) == Ok(None)));
        assert!(throttle.exhausted(&"a", now).is_none());
    }

    #[test]
    fn many_keys_stay_within_bounds_and_a_busy_one_stays_known() {
        let mut throttle = Throttle::new("test", Rate::per_minute(1_000), 100);
        let now = Instant::now();
        for number in 0..999_u32 {
            assert!(throttle.take(u32::MAX, now).is_ok());
            assert!(throttle.take(number, now).is_ok());
            assert!(throttle.younger.len() + throttle.older.len() <= 100);
        }
        assert_eq!(throttle.take(u32::MAX, now).unwrap().unwrap().remaining, 0);
        assert!(throttle.take(u32::MAX, now).is_err());
    }
}

//! How long to wait before the next attempt: a pure value, so that it can be tested without time.

use std::time::Duration;

/// Returns the whole seconds that a client is told to wait for `delay`: it must not come back before, nor at once.
pub fn seconds(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// Exponential backoff with jitter: each delay doubles, from `min` to `max`.
#[derive(Clone, Debug)]
pub struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
    /// State of a small xorshift generator: it spreads the delays and need not be secret.
    jitter: u64,
}

impl Backoff {
    /// Delays from `min` to `max`; a `max` below `min` counts as `min`. `seed` spreads several
    /// backoffs apart.
    pub fn new(min: Duration, max: Duration, seed: u64) -> Self {
        Self { min, max: max.max(min), next: min, jitter: seed | 1 }
    }

    /// Returns the delay before the next attempt: between 75 % and 100 % of the step, and never under 75 % of
    /// `min`.
    pub fn delay(&mut self) -> Duration {
        let step = self.next;
        self.next = (step * 2).min(self.max);
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let quarter = step / 4;
        let spread = u32::try_from(self.jitter % 1024).unwrap_or(0);
        step.saturating_sub(quarter * spread / 1024)
    }

    /// Starts again from `min` after a success.
    pub fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_maximum_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2), 7);
        let mut step = Duration::from_millis(100);
        for _ in 0..10 {
            let delay = backoff.delay();
            assert!(delay <= step && delay >= step * 3 / 4, "{delay:?} is no delay of step {step:?}");
            step = (step * 2).min(Duration::from_secs(2));
        }
        backoff.reset();
        assert!(backoff.delay() <= Duration::from_millis(100));
    }

    #[test]
    fn two_seeds_spread_apart() {
        let delays = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60), seed);
            (0..8).map(|_| backoff.delay()).collect::<Vec<_>>()
        };
        assert_ne!(delays(3), delays(1_000_003));
    }
}

//! Failed sign-ins with a password, so that nobody can try many. Tokens have 256 random bits and
//! are not counted.

use std::collections::HashMap;
use std::time::Duration;

use super::super::clock::Timestamp;

/// Failures in a row that are let pass.
const FREE: u32 = 5;
/// How long a name then waits, and after how long its failures are forgotten.
const WAIT: Duration = Duration::from_mins(5);
/// Names remembered at most. When there are more, the oldest failures are forgotten: whoever fills
/// this table makes as many attempts as they win.
const REMEMBERED: usize = 10_000;

/// Failures in a row, by name.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    failures: HashMap<String, (u32, Timestamp)>,
}

impl Attempts {
    /// How long `name` has to wait before its next attempt, if it has to. The attempt counts as a
    /// failure until it is told to be none, so that many at once are not let pass together.
    pub(crate) fn begin(&mut self, name: &str, now: Timestamp) -> Option<Duration> {
        let (count, last) =
            self.failures.get(name).copied().filter(|(_, last)| now < last.after(WAIT)).unwrap_or((0, now));
        if count >= FREE {
            let left = last.after(WAIT).seconds().saturating_sub(now.seconds());
            return Some(Duration::from_secs(left.max(1).unsigned_abs()));
        }
        if self.failures.len() >= REMEMBERED && !self.failures.contains_key(name) {
            self.forget_oldest(now);
        }
        self.failures.insert(name.to_owned(), (count + 1, now));
        None
    }

    /// `name` has signed in.
    pub(crate) fn succeeded(&mut self, name: &str) {
        self.failures.remove(name);
    }

    fn forget_oldest(&mut self, now: Timestamp) {
        self.failures.retain(|_, (_, last)| now < last.after(WAIT));
        if self.failures.len() >= REMEMBERED {
            let oldest = self.failures.iter().min_by_key(|(_, (_, last))| *last).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.failures.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_failures_a_name_waits_and_others_do_not() {
        let mut attempts = Attempts::default();
        let now = Timestamp::from_seconds(1_000);
        for _ in 0..FREE {
            assert_eq!(attempts.begin("ann", now), None);
        }
        assert_eq!(attempts.begin("ann", now), Some(WAIT));
        assert_eq!(attempts.begin("bob", now), None);
        assert_eq!(attempts.begin("ann", now.after(WAIT)), None, "it may try again");
        attempts.succeeded("ann");
        for _ in 0..FREE {
            assert_eq!(attempts.begin("ann", now.after(WAIT)), None);
        }
    }

    #[test]
    fn the_table_is_bounded() {
        let mut attempts = Attempts::default();
        for number in 0..REMEMBERED + 50 {
            attempts.begin(&number.to_string(), Timestamp::from_seconds(1_000));
        }
        assert_eq!(attempts.failures.len(), REMEMBERED);
    }
}

//! How far a running call is, and the notifications of it.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::mcp::envelope;
use crate::mcp::model::{Id, LONGEST_NAME};

/// The progress of a call while it runs.
#[derive(Debug)]
pub struct Progress {
    started: Instant,
    rows: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        Self { started: Instant::now(), rows: AtomicU64::new(0) }
    }
}

impl Progress {
    /// So many rows of the result were read by now.
    pub fn read(&self, rows: u64) {
        self.rows.store(rows, Ordering::Relaxed);
    }

    /// How far it is, in a few words.
    pub(in crate::mcp) fn message(&self) -> String {
        self.message_after(self.started.elapsed().as_millis())
    }

    fn message_after(&self, millis: u128) -> String {
        let read = match self.rows.load(Ordering::Relaxed) {
            0 => "no rows yet".to_owned(),
            1 => "1 row read".to_owned(),
            rows => format!("{rows} rows read"),
        };
        format!("{read}, {}.{} s", millis / 1000, millis % 1000 / 100)
    }

    /// Returns one notification. The progress is the elapsed time in seconds, which also grows while no row
    /// arrives. `last` contains the milliseconds reported before; the specification requires increasing values.
    pub(in crate::mcp) fn notification(&self, token: &Id, last: &mut u128) -> Vec<u8> {
        let millis = self.started.elapsed().as_millis().max(*last + 1);
        *last = millis;
        let (seconds, rest) = (millis / 1000, millis % 1000);
        let (token, message) = (token.as_json(), self.message_after(millis));
        let params =
            format_args!("{{\"progressToken\":{token},\"progress\":{seconds}.{rest:03},\"message\":\"{message}\"}}");
        envelope::notification("notifications/progress", params)
    }
}

/// Reads a `progressToken`. A value that is neither a string nor an integer counts as none: the request is answered
/// without progress. So does a token that is too long to be kept with a task.
pub(in crate::mcp) fn read_token(raw: &RawValue) -> Option<Id> {
    Id::read(raw).filter(|token| token.as_json().len() <= LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_strings_or_integers() {
        let token = |token: &str| read_token(&RawValue::from_string(token.to_owned()).unwrap());
        for right in ["\"a\"", "7"] {
            assert_eq!(token(right).unwrap().as_json(), right);
        }
        assert_eq!(token(&format!("{:?}", "x".repeat(LONGEST_NAME))), None);
        for wrong in ["1.5", "null", "{}", "[1]", "true"] {
            assert_eq!(token(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_notification_is_further_than_the_last() {
        let token = read_token(&RawValue::from_string("7".to_owned()).unwrap()).unwrap();
        let (progress, mut last) = (Progress::default(), 0);
        let mut told = Vec::new();
        for rows in [0, 0, 1, 5] {
            progress.read(rows);
            let notification = progress.notification(&token, &mut last);
            let value: serde_json::Value = serde_json::from_slice(&notification).unwrap();
            assert_eq!(value["params"]["progressToken"], 7);
            told.push(value["params"]["progress"].as_f64().unwrap());
        }
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
    }
}

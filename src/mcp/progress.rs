//! How far a running call is, told while it runs: progress notifications, and then its response.
//! Who carries the messages, and whether they are kept, is not known here.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream};
use serde_json::value::RawValue;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Outcome;
use crate::fields::Fields;

/// The least time between two notifications of one call.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// What a call tells of itself while it runs.
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

    /// One notification. Seconds are what progresses: they grow also while no row comes. `last`
    /// holds the milliseconds told before; the specification wants every value greater.
    fn notification(&self, token: &Token, last: &mut u128) -> Vec<u8> {
        let millis = self.started.elapsed().as_millis().max(*last + 1);
        *last = millis;
        let (seconds, rest) = (millis / 1000, millis % 1000);
        let rows = self.rows.load(Ordering::Relaxed);
        let read = match rows {
            0 => "no rows yet".to_owned(),
            1 => "1 row read".to_owned(),
            rows => format!("{rows} rows read"),
        };
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\
             \"progress\":{seconds}.{rest:03},\"message\":\"{read}, {seconds}.{:01} s\"}}}}",
            token.0,
            rest / 100
        )
        .into_bytes()
    }
}

/// A request's `progressToken`, kept as the JSON text it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in `_meta` of `params`. What is neither a string nor an integer is none: the
    /// request is answered without progress.
    pub(super) fn of(params: Option<&str>) -> Option<Self> {
        let meta = Fields::parse(params?, "params").ok()?.take("_meta")?;
        let token = Fields::parse(meta.get(), "_meta").ok()?.take("progressToken")?;
        super::envelope::is_id(&token).then(|| Self(RawValue::get(&token).to_owned()))
    }
}

/// A call as a stream of messages: its progress at most twice a second, and once more when it
/// ends, and then its response. Dropping it drops the call.
pub struct Narration {
    call: LocalBoxFuture<'static, Outcome>,
    progress: std::sync::Arc<Progress>,
    token: Token,
    ticks: Interval,
    last: u128,
    place: Place,
}

enum Place {
    Running,
    Responding(Vec<u8>),
    Ended,
}

impl Narration {
    /// Tells of `call`, which reports to `progress`, to whom `token` means something.
    pub fn new(call: LocalBoxFuture<'static, Outcome>, progress: std::sync::Arc<Progress>, token: Token) -> Self {
        let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { call, progress, token, ticks, last: 0, place: Place::Running }
    }
}

impl Stream for Narration {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let this = &mut *self;
        match std::mem::replace(&mut this.place, Place::Ended) {
            Place::Ended => return Poll::Ready(None),
            Place::Responding(body) => return Poll::Ready(Some(body)),
            Place::Running => {}
        }
        if let Poll::Ready(outcome) = this.call.poll_unpin(cx) {
            return Poll::Ready(outcome.into_body().map(|body| {
                this.place = Place::Responding(body);
                this.progress.notification(&this.token, &mut this.last)
            }));
        }
        this.place = Place::Running;
        this.ticks.poll_tick(cx).map(|_| Some(this.progress.notification(&this.token, &mut this.last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_strings_or_integers() {
        let token = |token: &str| Token::of(Some(&format!(r#"{{"_meta":{{"progressToken":{token}}}}}"#)));
        assert_eq!(token("\"a\""), Some(Token("\"a\"".to_owned())));
        assert_eq!(token("7"), Some(Token("7".to_owned())));
        for wrong in ["1.5", "null", "{}", "[1]", "true"] {
            assert_eq!(token(wrong), None, "{wrong}");
        }
        assert_eq!(Token::of(Some(r#"{"_meta":5}"#)), None);
        assert_eq!(Token::of(None), None);
    }

    #[test]
    fn every_notification_is_further_than_the_last() {
        let (progress, token, mut last) = (Progress::default(), Token("7".to_owned()), 0);
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

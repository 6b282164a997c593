//! How far a running call is, told while it runs: progress notifications, and then its response.
//! Who carries the messages, and whether they are kept, is not known here.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream};
use serde_json::value::RawValue;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Outcome;
use super::envelope::Standing;
use super::exchange::{Exchange, Telling, Told};
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

    /// How far it is, in a few words.
    pub(super) fn words(&self) -> String {
        self.words_after(self.started.elapsed().as_millis())
    }

    fn words_after(&self, millis: u128) -> String {
        let read = match self.rows.load(Ordering::Relaxed) {
            0 => "no rows yet".to_owned(),
            1 => "1 row read".to_owned(),
            rows => format!("{rows} rows read"),
        };
        format!("{read}, {}.{} s", millis / 1000, millis % 1000 / 100)
    }

    /// One notification. Seconds are what progresses: they grow also while no row comes. `last`
    /// holds the milliseconds told before; the specification wants every value greater.
    fn notification(&self, token: &Token, last: &mut u128) -> Vec<u8> {
        let millis = self.started.elapsed().as_millis().max(*last + 1);
        *last = millis;
        let (seconds, rest) = (millis / 1000, millis % 1000);
        let words = self.words_after(millis);
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\
             \"progress\":{seconds}.{rest:03},\"message\":\"{words}\"}}}}",
            token.0
        )
        .into_bytes()
    }
}

/// A request's `progressToken`, kept as the JSON text it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in `_meta` of `params`. What is neither a string nor an integer is none: the
    /// request is answered without progress. So is one whose token is too long to be kept with a task.
    pub(super) fn of(params: Option<&str>) -> Option<Self> {
        let meta = Fields::parse(params?, "params").ok()?.take("_meta")?;
        let token = Fields::parse(meta.get(), "_meta").ok()?.take("progressToken")?;
        let fits = token.get().len() <= super::LONGEST_NAME && super::envelope::is_id(&token);
        fits.then(|| Self(RawValue::get(&token).to_owned()))
    }

    /// The JSON text.
    pub(super) fn as_json(&self) -> &str {
        &self.0
    }
}

/// A call as a stream of messages: whatever it tells, its progress at most twice a second and once
/// more when it ends where the caller asked for it, and then its response. Dropping it drops the call.
pub struct Narration {
    call: LocalBoxFuture<'static, Outcome>,
    exchange: Arc<Exchange>,
    telling: Telling,
    ticks: Interval,
    last: u128,
    /// What was told and not yet passed on.
    waiting: VecDeque<Told>,
    place: Place,
}

enum Place {
    Running,
    Done(Outcome),
    Ended,
}

impl Narration {
    /// Tells of `call`, which tells of itself through `exchange`; that comes out of `telling`.
    pub fn new(call: LocalBoxFuture<'static, Outcome>, exchange: Arc<Exchange>, telling: Telling) -> Self {
        let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { call, exchange, telling, ticks, last: 0, waiting: VecDeque::new(), place: Place::Running }
    }

    /// Runs the call until it is clear whether its answer is one message: then gives the outcome.
    /// Otherwise there is something to tell before, and the rest is for a stream.
    pub async fn outcome(&mut self) -> Option<Outcome> {
        poll_fn(|cx| self.poll_outcome(cx)).await
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome>> {
        self.advance(cx);
        match std::mem::replace(&mut self.place, Place::Ended) {
            // Only an answer like any other may be the end of a stream: others have their status.
            Place::Done(outcome @ Outcome::Response(Standing::Answered, _)) if self.has_told() => {
                self.place = Place::Done(outcome);
                Poll::Ready(None)
            }
            Place::Done(outcome) => Poll::Ready(Some(outcome)),
            running => {
                self.place = running;
                if self.waiting.is_empty() { Poll::Pending } else { Poll::Ready(None) }
            }
        }
    }

    fn has_told(&self) -> bool {
        !self.waiting.is_empty() || self.exchange.token().is_some()
    }

    /// Gathers what has happened.
    fn advance(&mut self, cx: &mut Context<'_>) {
        if matches!(self.place, Place::Running)
            && let Poll::Ready(outcome) = self.call.poll_unpin(cx)
        {
            self.place = Place::Done(outcome);
        }
        // Behind the call: what it told last comes before its response.
        while let Poll::Ready(Some(told)) = self.telling.poll_recv(cx) {
            self.waiting.push_back(told);
        }
        let Some(token) = self.exchange.token().filter(|_| !self.exchange.tells_own_progress()) else { return };
        let due = match &self.place {
            Place::Running => self.ticks.poll_tick(cx).is_ready(),
            Place::Done(_) | Place::Ended => false,
        };
        if due {
            let notification = self.exchange.progress.notification(token, &mut self.last);
            self.waiting.push_back(Told::Message(notification));
            // The next tick is to wake us too.
            let _ = self.ticks.poll_tick(cx);
        }
    }
}

impl Stream for Narration {
    type Item = Told;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Told>> {
        let this = &mut *self;
        this.advance(cx);
        if let Some(told) = this.waiting.pop_front() {
            return Poll::Ready(Some(told));
        }
        match std::mem::replace(&mut this.place, Place::Ended) {
            Place::Running => {
                this.place = Place::Running;
                Poll::Pending
            }
            Place::Ended => Poll::Ready(None),
            Place::Done(outcome) => match outcome.into_body() {
                None => Poll::Ready(None),
                Some(body) => {
                    let token = this.exchange.token().filter(|_| !this.exchange.tells_own_progress());
                    let Some(token) = token else { return Poll::Ready(Some(Told::Message(body))) };
                    this.waiting.push_back(Told::Message(body));
                    Poll::Ready(Some(Told::Message(this.exchange.progress.notification(token, &mut this.last))))
                }
            },
        }
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
        assert_eq!(token(&format!("{:?}", "x".repeat(super::super::LONGEST_NAME))), None);
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

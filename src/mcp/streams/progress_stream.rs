//! A call as a stream of messages: those sent while it runs, and then its response. The transport, and whether
//! messages are kept, is not known here.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{LocalBoxFuture, OptionFuture};
use futures_util::{Stream, stream};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::mcp::call::Outcome;
use crate::mcp::envelope::ResponseStatus;
use crate::mcp::request_context::{OutboundMessage, OutboundMessages, RequestContext};

/// The least time between two notifications of one call.
const INTERVAL: Duration = Duration::from_millis(500);

/// A call as a stream of messages: its own messages, its progress at most twice a second and once more at the end
/// if the caller asked for it, and then its response. Dropping it drops the call.
pub struct ProgressStream {
    /// As long as it runs.
    call: Option<LocalBoxFuture<'static, Outcome>>,
    /// The outcome, until it is sent.
    outcome: Option<Outcome>,
    request: Arc<RequestContext>,
    outbound: OutboundMessages,
    /// The interval of progress, if the caller asked for it.
    ticks: Option<Interval>,
    last: u128,
    /// Messages sent by the call and not passed on yet.
    waiting: VecDeque<OutboundMessage>,
    /// Held as long as the call runs.
    held: Option<Box<dyn Any>>,
}

impl ProgressStream {
    /// Runs `call`, which sends messages through `request`; they come out of `outbound`.
    pub fn new(
        call: LocalBoxFuture<'static, Outcome>,
        request: Arc<RequestContext>,
        outbound: OutboundMessages,
    ) -> Self {
        let ticks = request.token.is_some().then(|| {
            let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        Self {
            call: Some(call),
            outcome: None,
            request,
            outbound,
            ticks,
            last: 0,
            waiting: VecDeque::new(),
            held: None,
        }
    }

    /// Holds `what` as long as the call runs, such as its place among running requests.
    #[must_use]
    pub fn holding(self, what: impl Any) -> Self {
        Self { held: Some(Box::new(what)), ..self }
    }

    /// Runs the call until it is clear whether its answer is a single message. Returns the outcome then; otherwise
    /// messages precede it, and the rest is for a stream.
    pub async fn outcome(&mut self) -> Option<Outcome> {
        self.advance().await;
        let is_stream = !self.waiting.is_empty() || self.request.token.is_some();
        // Only an answer like any other may be the end of a stream: others have their status.
        if is_stream && matches!(self.outcome, None | Some(Outcome::Response(ResponseStatus::Answered, _))) {
            return None;
        }
        self.outcome.take()
    }

    /// Runs the call until there is a message, or it has ended.
    async fn advance(&mut self) {
        while self.waiting.is_empty()
            && let Some(call) = &mut self.call
        {
            let ticked = tokio::select! {
                biased;
                outcome = call => {
                    (self.call, self.outcome, self.held) = (None, Some(outcome), None);
                    false
                }
                Some(message) = self.outbound.recv() => {
                    self.waiting.push_back(message);
                    false
                }
                Some(_) = OptionFuture::from(self.ticks.as_mut().map(Interval::tick)) => true,
            };
            // After the call's end: its last messages precede its response.
            while let Ok(message) = self.outbound.try_recv() {
                self.waiting.push_back(message);
            }
            if let Some(token) = self.request.own_token().filter(|_| ticked) {
                let notification = self.request.progress.notification(token, &mut self.last);
                self.waiting.push_back(OutboundMessage::Message(notification));
            }
        }
    }

    /// Returns the next message. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<OutboundMessage> {
        self.advance().await;
        if let Some(message) = self.waiting.pop_front() {
            return Some(message);
        }
        let response = OutboundMessage::Message(self.outcome.take()?.into_body()?);
        let Some(token) = self.request.own_token() else { return Some(response) };
        self.waiting.push_back(response);
        Some(OutboundMessage::Message(self.request.progress.notification(token, &mut self.last)))
    }

    /// Returns the messages as a stream.
    pub fn into_stream(self) -> impl Stream<Item = OutboundMessage> {
        stream::unfold(self, async |mut messages| Some((messages.next().await?, messages)))
    }
}

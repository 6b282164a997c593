//! A call as a stream of messages: what it tells while it runs, and then its response. Who carries
//! the messages, and whether they are kept, is not known here.

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

/// A call as a stream of messages: whatever it tells, its progress at most twice a second and once
/// more when it ends where the caller asked for it, and then its response. Dropping it drops the call.
pub struct ProgressStream {
    /// As long as it runs.
    call: Option<LocalBoxFuture<'static, Outcome>>,
    /// What it has come to, until that is told.
    outcome: Option<Outcome>,
    request: Arc<RequestContext>,
    outbound: OutboundMessages,
    /// Where the caller wants to hear of progress.
    ticks: Option<Interval>,
    last: u128,
    /// What was sent by the call and not yet passed on.
    waiting: VecDeque<OutboundMessage>,
    /// What is held as long as the call runs.
    held: Option<Box<dyn Any>>,
}

impl ProgressStream {
    /// Tells of `call`, which tells of itself through `request`; that comes out of `outbound`.
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

    /// Holds `what` as long as the call runs, such as its place among those that are worked on.
    #[must_use]
    pub fn holding(self, what: impl Any) -> Self {
        Self { held: Some(Box::new(what)), ..self }
    }

    /// Runs the call until it is clear whether its answer is one message: then gives the outcome.
    /// Otherwise there is something to tell before, and the rest is for a stream.
    pub async fn outcome(&mut self) -> Option<Outcome> {
        self.advance().await;
        let is_stream = !self.waiting.is_empty() || self.request.token.is_some();
        // Only an answer like any other may be the end of a stream: others have their status.
        if is_stream && matches!(self.outcome, None | Some(Outcome::Response(ResponseStatus::Answered, _))) {
            return None;
        }
        self.outcome.take()
    }

    /// Runs the call until there is something to tell, or it is done.
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
            // Behind the call: what it sent last comes before its response.
            while let Ok(message) = self.outbound.try_recv() {
                self.waiting.push_back(message);
            }
            if let Some(token) = self.request.own_token().filter(|_| ticked) {
                let notification = self.request.progress.notification(token, &mut self.last);
                self.waiting.push_back(OutboundMessage::Message(notification));
            }
        }
    }

    /// The next message. Dropping it loses nothing.
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

    /// All of them.
    pub fn into_stream(self) -> impl Stream<Item = OutboundMessage> {
        stream::unfold(self, async |mut messages| Some((messages.next().await?, messages)))
    }
}

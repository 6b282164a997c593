//! A call as a stream of messages: what it tells while it runs, and then its response. Who carries
//! the messages, and whether they are kept, is not known here.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::mcp::call::Outcome;
use crate::mcp::envelope::ResponseStatus;
use crate::mcp::request_context::{OutboundMessage, OutboundMessages, RequestContext};

/// The least time between two notifications of one call.
const INTERVAL: Duration = Duration::from_millis(500);

/// A call as a stream of messages: whatever it tells, its progress at most twice a second and once
/// more when it ends where the caller asked for it, and then its response. Dropping it drops the call.
pub struct ProgressStream {
    call: LocalBoxFuture<'static, Outcome>,
    request: Arc<RequestContext>,
    outbound: OutboundMessages,
    ticks: Interval,
    last: u128,
    /// What was sent by the call and not yet passed on.
    waiting: VecDeque<OutboundMessage>,
    state: StreamState,
}

enum StreamState {
    Running,
    Done(Outcome),
    Ended,
}

impl ProgressStream {
    /// Tells of `call`, which tells of itself through `request`; that comes out of `outbound`.
    pub fn new(
        call: LocalBoxFuture<'static, Outcome>,
        request: Arc<RequestContext>,
        outbound: OutboundMessages,
    ) -> Self {
        let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { call, request, outbound, ticks, last: 0, waiting: VecDeque::new(), state: StreamState::Running }
    }

    /// Runs the call until it is clear whether its answer is one message: then gives the outcome.
    /// Otherwise there is something to tell before, and the rest is for a stream.
    pub async fn outcome(&mut self) -> Option<Outcome> {
        poll_fn(|cx| self.poll_outcome(cx)).await
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome>> {
        self.advance(cx);
        match std::mem::replace(&mut self.state, StreamState::Ended) {
            // Only an answer like any other may be the end of a stream: others have their status.
            StreamState::Done(outcome @ Outcome::Response(ResponseStatus::Answered, _)) if self.has_outbound() => {
                self.state = StreamState::Done(outcome);
                Poll::Ready(None)
            }
            StreamState::Done(outcome) => Poll::Ready(Some(outcome)),
            running => {
                self.state = running;
                if self.waiting.is_empty() { Poll::Pending } else { Poll::Ready(None) }
            }
        }
    }

    fn has_outbound(&self) -> bool {
        !self.waiting.is_empty() || self.request.token().is_some()
    }

    /// Gathers what has happened.
    fn advance(&mut self, cx: &mut Context<'_>) {
        if matches!(self.state, StreamState::Running)
            && let Poll::Ready(outcome) = self.call.poll_unpin(cx)
        {
            self.state = StreamState::Done(outcome);
        }
        // Behind the call: what it sent last comes before its response.
        while let Poll::Ready(Some(outgoing)) = self.outbound.poll_recv(cx) {
            self.waiting.push_back(outgoing);
        }
        let Some(token) = self.request.token().filter(|_| !self.request.reports_own_progress()) else { return };
        let due = match &self.state {
            StreamState::Running => self.ticks.poll_tick(cx).is_ready(),
            StreamState::Done(_) | StreamState::Ended => false,
        };
        if due {
            let notification = self.request.progress.notification(token, &mut self.last);
            self.waiting.push_back(OutboundMessage::Message(notification));
            // The next tick is to wake us too.
            let _ = self.ticks.poll_tick(cx);
        }
    }
}

impl Stream for ProgressStream {
    type Item = OutboundMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<OutboundMessage>> {
        let this = &mut *self;
        this.advance(cx);
        if let Some(outgoing) = this.waiting.pop_front() {
            return Poll::Ready(Some(outgoing));
        }
        match std::mem::replace(&mut this.state, StreamState::Ended) {
            StreamState::Running => {
                this.state = StreamState::Running;
                Poll::Pending
            }
            StreamState::Ended => Poll::Ready(None),
            StreamState::Done(outcome) => match outcome.into_body() {
                None => Poll::Ready(None),
                Some(body) => {
                    let token = this.request.token().filter(|_| !this.request.reports_own_progress());
                    let Some(token) = token else { return Poll::Ready(Some(OutboundMessage::Message(body))) };
                    this.waiting.push_back(OutboundMessage::Message(body));
                    Poll::Ready(Some(OutboundMessage::Message(
                        this.request.progress.notification(token, &mut this.last),
                    )))
                }
            },
        }
    }
}

//! A finished call, and the interface for recording it as a span.

use std::time::{Instant, SystemTime};

use portico_actors::event::CallEnded;
use portico_actors::trace::TraceParent;

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// The event.
    pub call: CallEnded,
    /// When it ended, by both clocks.
    pub ended: (Instant, SystemTime),
    /// The request's method, if HTTP knows it.
    pub method: Option<&'static str>,
    /// The pattern of the route that was taken: of a closed set.
    pub route: Option<String>,
    /// The response's status; `None` if the client left before.
    pub status: Option<u16>,
}

impl FinishedCall {
    /// Returns the operation of the call, in one word of a closed set.
    pub fn operation(&self) -> &'static str {
        self.call.operation.unwrap_or_else(|| super::operation::classify(&self.call.what))
    }
}

/// Records spans.
pub trait Tracer: Send + Sync {
    /// Gives a call its place in the trace of its caller, or in a new one. Returns the trace context for the call's
    /// source; `None` if there is none.
    fn join(&self, caller: Option<TraceParent>) -> Option<TraceParent>;

    /// Records a call that [`Tracer::join`] has given a place. Must return at once.
    fn record(&self, served: &FinishedCall);

    /// Sends the rest, within a time limit of its own. Blocks.
    fn close(&self);
}

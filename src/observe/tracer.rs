//! What is known of a call at its end, and who records it as a span.

use std::time::{Instant, SystemTime};

use portico_actors::event::CallEnded;
use portico_actors::trace::TraceParent;

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// What happened.
    pub call: CallEnded,
    /// When it ended, by both clocks.
    pub ended: (Instant, SystemTime),
    /// The request's method, if HTTP knows it.
    pub method: Option<&'static str>,
    /// The pattern of the route that was taken: of a closed set.
    pub route: Option<String>,
    /// The response's status; none when the caller left before.
    pub status: Option<u16>,
}

impl FinishedCall {
    /// What the call was for, in one word of a closed set.
    pub fn operation(&self) -> &'static str {
        self.call.operation.unwrap_or_else(|| super::operation::classify(&self.call.what))
    }
}

/// Records spans.
pub trait Tracer: Send + Sync {
    /// Gives a call its place in the trace of its caller, or in a new one: what the call's source is
    /// told. None when there is nothing to tell.
    fn join(&self, caller: Option<TraceParent>) -> Option<TraceParent>;

    /// Records a call whose place [`Tracer::join`] has given. Must return at once.
    fn record(&self, served: &FinishedCall);

    /// Sends what is left, within a limit of its own. Blocks.
    fn close(&self);
}

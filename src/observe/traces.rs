//! Spans of calls, as far as the service itself knows them: where a call stands in its caller's
//! trace, and what is known of it at its end. Who records them is behind [`Recorder`].

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use portico_actors::error::Result;
use portico_actors::event::CallEnded;
use portico_actors::trace::TraceParent;

use super::Metrics;
use crate::config::Telemetry;

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Served {
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

impl Served {
    /// What the call was for, in one word of a closed set.
    pub fn operation(&self) -> &'static str {
        self.call.operation.unwrap_or_else(|| super::operation::of(&self.call.what))
    }
}

/// Records spans.
pub trait Recorder: Send + Sync {
    /// Gives a call its place in the trace of its caller, or in a new one: what the call's source is
    /// told. None when there is nothing to tell.
    fn join(&self, caller: Option<TraceParent>) -> Option<TraceParent>;

    /// Records a call whose place [`Recorder::join`] has given. Must return at once.
    fn record(&self, served: &Served);

    /// Sends what is left, within a limit of its own. Blocks.
    fn close(&self);
}

/// Records spans where they are wanted.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<dyn Recorder>>);

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Traces").field(&self.0.is_some()).finish()
    }
}

impl Traces {
    /// As configured. Without the feature `otel` nothing is recorded: then no configuration asks for
    /// it.
    ///
    /// # Errors
    /// When the environment says something about sending that cannot be done.
    #[cfg(feature = "otel")]
    pub fn start(telemetry: &Telemetry, metrics: &Metrics) -> Result<Self> {
        let start = |settings| super::otlp::Otlp::start(settings, metrics.spans_dropped.clone());
        let recorder = telemetry.traces.as_ref().map(start).transpose()?;
        Ok(Self(recorder.map(|recorder| Arc::new(recorder) as Arc<dyn Recorder>)))
    }

    /// As configured. Without the feature `otel` nothing is recorded: then no configuration asks for
    /// it.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "otel"))]
    pub fn start(telemetry: &Telemetry, _: &Metrics) -> Result<Self> {
        debug_assert_eq!(telemetry.traces, None, "such a configuration is refused");
        Ok(Self::default())
    }

    /// What the source of a call is told of its trace. Where no spans are recorded that is what its
    /// caller said.
    pub fn join(&self, caller: Option<TraceParent>) -> Option<TraceParent> {
        self.0.as_ref().map_or(caller, |recorder| recorder.join(caller))
    }

    /// Whether spans are recorded.
    pub fn records(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the span at `trace` is one to be recorded.
    pub fn wants(&self, trace: Option<TraceParent>) -> bool {
        self.records() && trace.is_some_and(|trace| trace.is_sampled())
    }

    /// Records a call.
    pub fn record(&self, served: &Served) {
        if let Some(recorder) = self.0.as_ref().filter(|_| self.wants(served.call.trace)) {
            recorder.record(served);
        }
    }

    /// Sends what is left; nothing is recorded afterwards.
    pub async fn close(&self) {
        if let Some(recorder) = self.0.clone() {
            // It cannot panic, and there is nobody left to tell.
            let _ = tokio::task::spawn_blocking(move || recorder.close()).await;
        }
    }
}

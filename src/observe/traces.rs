//! Spans of calls, as far as the service itself knows them: the place of a call in its caller's trace. They are
//! recorded behind [`Tracer`].

use std::sync::Arc;

use portico_actors::error::Result;
use portico_actors::trace::TraceParent;

use super::Metrics;
use super::tracer::{FinishedCall, Tracer};
use crate::config::Telemetry;

/// Records spans where they are wanted.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<dyn Tracer>>);

impl Traces {
    /// Starts as configured. Without the feature `otel` nothing is recorded, and configurations that ask for it are
    /// refused.
    ///
    /// # Errors
    /// If the environment contains invalid settings for sending.
    #[cfg(feature = "otel")]
    pub fn start(telemetry: &Telemetry, metrics: &Metrics) -> Result<Self> {
        let start = |settings| super::otlp::Otlp::start(settings, metrics.spans_dropped.clone());
        let recorder = telemetry.traces.as_ref().map(start).transpose()?;
        Ok(Self(recorder.map(|recorder| Arc::new(recorder) as Arc<dyn Tracer>)))
    }

    /// Starts as configured. Without the feature `otel` nothing is recorded, and configurations that ask for it are
    /// refused.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "otel"))]
    pub fn start(telemetry: &Telemetry, _: &Metrics) -> Result<Self> {
        debug_assert_eq!(telemetry.traces, None, "such a configuration is refused");
        Ok(Self::default())
    }

    /// Returns the trace context for the source of a call. If no spans are recorded it is the caller's.
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
    pub fn record(&self, served: &FinishedCall) {
        if let Some(recorder) = self.0.as_ref().filter(|_| self.wants(served.call.trace)) {
            recorder.record(served);
        }
    }

    /// Sends the rest; nothing is recorded afterwards.
    pub async fn close(&self) {
        if let Some(recorder) = self.0.clone() {
            // It does not panic, and the service has ended.
            let _ = tokio::task::spawn_blocking(move || recorder.close()).await;
        }
    }
}

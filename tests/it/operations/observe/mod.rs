//! What is told of what happens inside: metrics and traces.

mod metrics;
#[cfg(feature = "otel")]
mod otel;
mod tracing;

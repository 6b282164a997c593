//! Calls as OpenTelemetry spans, sent by OTLP over HTTP. A call never waits: spans go into a bounded queue, and a
//! thread of the SDK sends them; those without room are counted.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, InstrumentationScope, Key, KeyValue, Value};
use opentelemetry_otlp::{SpanExporter as OtlpExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Config, IdGenerator, SamplingDecision, ShouldSample, SpanData, SpanEvents,
    SpanExporter, SpanLinks, SpanProcessor,
};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::source::drivers;
use portico_actors::trace::TraceParent;
use prometheus_client::metrics::counter::Counter;

use super::tracer::{FinishedCall, Tracer};
use crate::config::Otlp as Settings;
use crate::redaction::redact;

/// How long the last spans may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends spans to a receiver of OTLP.
pub(super) struct Otlp {
    processor: BatchSpanProcessor,
    sampler: Box<dyn ShouldSample>,
    ids: Box<dyn IdGenerator>,
    scope: InstrumentationScope,
    waiting: Arc<Waiting>,
}

/// The spans that are not sent yet.
#[derive(Debug)]
struct Waiting {
    spans: AtomicUsize,
    most: usize,
    dropped: Counter,
}

impl Waiting {
    /// Takes room for so many spans, or counts them as dropped.
    fn take(&self, spans: usize) -> bool {
        let room = |waiting: usize| waiting.checked_add(spans).filter(|waiting| *waiting <= self.most);
        let taken = self.spans.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        if !taken {
            self.dropped.inc_by(spans as u64);
        }
        taken
    }
}

/// Returns the room of sent spans, and reports those that could not be sent.
#[derive(Debug)]
struct Sending {
    exporter: OtlpExporter,
    waiting: Arc<Waiting>,
    failing: AtomicBool,
}

impl SpanExporter for Sending {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        for attribute in batch.iter_mut().flat_map(|span| &mut span.attributes) {
            if let Value::String(text) = &attribute.value
                && let Cow::Owned(clean) = redact(text.as_str())
            {
                attribute.value = clean.into();
            }
        }
        let sent = self.exporter.export(batch).await;
        self.waiting.spans.fetch_sub(spans, Ordering::Relaxed);
        let failed = self.failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Ok(()) if failed => log::info!("traces are sent again"),
            Ok(()) => {}
            Err(error) => {
                self.waiting.dropped.inc_by(spans as u64);
                // Once, until it changes: a receiver may be away for long.
                if !failed {
                    log::warn!("traces cannot be sent: {error}; calls go on, and their spans are lost");
                }
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl Otlp {
    /// Begins to send, as `settings` and the environment say.
    ///
    /// # Errors
    /// When the environment says something about sending that cannot be done.
    pub(super) fn start(settings: &Settings, dropped: Counter) -> Result<Self> {
        let mut exporter = OtlpExporter::builder().with_http();
        if let Some(endpoint) = &settings.endpoint {
            exporter = exporter.with_endpoint(endpoint);
        }
        let exporter = exporter.build().map_err(|error| {
            Error::invalid("telemetry: traces cannot be sent as the environment says")
                .hint("look at the variables OTEL_EXPORTER_OTLP_*; the log has the cause")
                .because(error)
        })?;
        let waiting = Arc::new(Waiting { spans: AtomicUsize::new(0), most: settings.queue, dropped });
        let sending = Sending { exporter, waiting: Arc::clone(&waiting), failing: AtomicBool::new(false) };
        let bounds = BatchConfigBuilder::default().with_max_queue_size(settings.queue).build();
        let mut processor = BatchSpanProcessor::builder(sending).with_batch_config(bounds).build();
        processor.set_resource(&resource());
        // It reads OTEL_TRACES_SAMPLER and its argument.
        let Config { sampler, id_generator: ids, .. } = Config::default();
        let scope = InstrumentationScope::builder("portico").with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Self { processor, sampler, ids, scope, waiting })
    }

    fn span(&self, place: SpanPosition, kind: SpanKind, name: String, times: (SystemTime, SystemTime)) -> SpanData {
        let SpanPosition { trace, id, parent, remote } = place;
        SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: parent,
            parent_span_is_remote: remote,
            span_kind: kind,
            name: name.into(),
            start_time: times.0,
            end_time: times.1,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        }
    }

    /// The span of the whole call, by the conventions for HTTP servers.
    fn server(&self, served: &FinishedCall, place: SpanPosition) -> SpanData {
        let call = &served.call;
        let method = served.method.unwrap_or("_OTHER");
        let verb = served.method.unwrap_or("HTTP");
        let name = served.route.as_ref().map_or_else(|| verb.to_owned(), |route| format!("{verb} {route}"));
        let ended = served.ended.1;
        let mut span = self.span(place, SpanKind::Server, name, (before(ended, call.took), ended));
        let of_mcp = served.route.as_deref().is_some_and(|route| route.starts_with("/mcp/"));
        let called = of_mcp && call.operation.is_some();
        let asked = (of_mcp && served.operation() == call.what).then(|| served.operation());
        span.attributes = attributes([
            ("http.request.method", Some(method.into())),
            ("http.route", served.route.clone().map(Value::from)),
            ("http.response.status_code", served.status.map(|status| i64::from(status).into())),
            ("portico.connection", call.connection.as_ref().map(|name| name.to_string().into())),
            ("portico.operation", Some(served.operation().into())),
            ("portico.request.id", Some(call.id.as_str().to_owned().into())),
            ("portico.rows", Some(i64::try_from(call.rows).unwrap_or(i64::MAX).into())),
            ("mcp.method.name", if called { Some("tools/call") } else { asked }.map(Value::from)),
            ("gen_ai.tool.name", called.then(|| call.what.clone().into())),
            ("error.type", call.failure.map(|failure| failure.as_str().into())),
        ]);
        // A client's error is not an error of the server's span.
        let faults = served.status.is_some_and(|status| (400..500).contains(&status));
        if let Some(failure) = call.failure.filter(|_| !faults) {
            span.status = Status::error(failure.as_str());
        }
        span
    }

    /// Returns the span of the time at the source, by the conventions for database clients. It ends when the answer
    /// could start. `None` if the source was not reached.
    fn source(&self, served: &FinishedCall, place: SpanPosition) -> Option<SpanData> {
        let call = &served.call;
        let asked = call.asked.filter(|_| call.source.is_some() || call.failure != Some(Kind::Busy))?;
        let driver = call.driver?;
        let (ended, end) = served.ended;
        let queued = call.queued.unwrap_or_default();
        let start = before(end, ended.saturating_duration_since(asked).saturating_sub(queued));
        let end = call.source.and_then(|took| start.checked_add(took)).map_or(end, |answered| answered.min(end));
        let system = drivers::named(driver).map_or(driver, |driver| driver.system_name);
        // Of the classes of statements only these are the word that the statement begins with.
        let operation = match call.class {
            Some("select") => Some("SELECT"),
            Some("insert") => Some("INSERT"),
            Some("call") => Some("CALL"),
            _ => None,
        };
        let name = operation.unwrap_or(system).to_owned();
        let mut span = self.span(place, SpanKind::Client, name, (start, end));
        span.attributes = attributes([
            ("db.system.name", Some(system.into())),
            ("db.operation.name", operation.map(Value::from)),
            ("portico.statement.class", call.class.map(Value::from)),
            ("portico.connection", call.connection.as_ref().map(|name| name.to_string().into())),
            ("portico.queue.wait", call.queued.map(|queued| queued.as_secs_f64().into())),
            ("error.type", call.failure.map(|failure| failure.as_str().into())),
        ]);
        if let Some(failure) = call.failure {
            span.status = Status::error(failure.as_str());
        }
        Some(span)
    }
}

/// The attributes that there are.
fn attributes<const N: usize>(said: [(&'static str, Option<Value>); N]) -> Vec<KeyValue> {
    said.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, value?))).collect()
}

impl Tracer for Otlp {
    fn join(&self, caller: Option<TraceParent>) -> Option<TraceParent> {
        let parent = caller.map(remote);
        let trace = parent.as_ref().map_or_else(|| self.ids.new_trace_id(), SpanContext::trace_id);
        let context = parent.map(|parent| Context::new().with_remote_span_context(parent));
        let sampled = self.sampler.should_sample(context.as_ref(), trace, "", &SpanKind::Server, &[], &[]);
        let recorded = sampled.decision == SamplingDecision::RecordAndSample;
        let span = match caller {
            _ if recorded => self.ids.new_span_id(),
            // No span of ours is between the caller's span and the source.
            Some(caller) => SpanId::from_hex(caller.span_id()).unwrap_or(SpanId::INVALID),
            None => return None,
        };
        TraceParent::new(trace.to_bytes(), span.to_bytes(), recorded)
    }

    fn record(&self, served: &FinishedCall) {
        let Some(told) = served.call.trace.map(remote) else { return };
        let trace = told.trace_id();
        let parent = served.call.parent.map(remote);
        let caller = parent.as_ref().map_or(SpanId::INVALID, SpanContext::span_id);
        // The source received the span of its own time; the call's own span id is not known to anyone yet.
        let own = self.ids.new_span_id();
        let within = SpanPosition { trace, id: told.span_id(), parent: own, remote: false };
        let source = self.source(served, within);
        let place = SpanPosition { trace, id: own, parent: caller, remote: parent.is_some() };
        let spans = [Some(self.server(served, place)), source];
        if self.waiting.take(spans.iter().flatten().count()) {
            spans.into_iter().flatten().for_each(|span| self.processor.on_end(span));
        }
    }

    fn close(&self) {
        if let Err(error) = self.processor.shutdown_with_timeout(CLOSE_TIMEOUT) {
            log::warn!("the last traces were not sent: {error}");
        }
    }
}

/// The position of a span in its trace.
struct SpanPosition {
    trace: TraceId,
    id: SpanId,
    parent: SpanId,
    remote: bool,
}

/// Returns the context of a remote span.
fn remote(trace: TraceParent) -> SpanContext {
    let id = TraceId::from_hex(trace.trace_id()).unwrap_or(TraceId::INVALID);
    let span = SpanId::from_hex(trace.span_id()).unwrap_or(SpanId::INVALID);
    let flags = TraceFlags::default().with_sampled(trace.is_sampled());
    SpanContext::new(id, span, flags, true, TraceState::default())
}

fn before(time: SystemTime, took: Duration) -> SystemTime {
    time.checked_sub(took).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the attributes of the service itself: those of the environment (`OTEL_SERVICE_NAME`,
/// `OTEL_RESOURCE_ATTRIBUTES`), or else its name and version.
fn resource() -> Resource {
    let said = Resource::builder().build();
    let text = |name: &'static str| said.get(&Key::from_static_str(name)).map(|value| value.as_str().into_owned());
    let mut resource = Resource::builder();
    if text("service.name").is_none_or(|name| name.starts_with("unknown_service")) {
        resource = resource.with_service_name("portico");
    }
    if text("service.version").is_none() {
        resource = resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    }
    resource.build()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Instant;

    use portico_actors::call::RequestId;
    use portico_actors::event::CallEnded;

    use super::*;

    fn served(trace: Option<TraceParent>) -> FinishedCall {
        let call = CallEnded {
            id: Box::new(RequestId::fresh()),
            client: None,
            subject: String::new(),
            connection: Some("shop".into()),
            connection_id: None,
            workspace: None,
            what: "/api/query".to_owned(),
            operation: None,
            trace,
            parent: None,
            driver: Some("sqlite"),
            asked: Some(Instant::now()),
            class: Some("select"),
            rows: 1,
            queued: Some(Duration::ZERO),
            source: Some(Duration::ZERO),
            took: Duration::from_millis(1),
            failure: None,
            cause: None,
        };
        let ended = (Instant::now(), SystemTime::now());
        FinishedCall { call, ended, method: Some("POST"), route: None, status: Some(200) }
    }

    #[test]
    fn otel_what_finds_no_room_and_what_is_refused_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Some(format!("http://{}/v1/traces", listener.local_addr().unwrap()));
        let dropped = Counter::default();
        let otlp = Otlp::start(&Settings { endpoint, queue: 4 }, dropped.clone()).unwrap();
        for _ in 0..2 {
            otlp.record(&served(otlp.join(None)));
        }
        assert_eq!(dropped.get(), 0);
        otlp.record(&served(otlp.join(None)));
        assert_eq!(dropped.get(), 2, "a call's two spans go together");
        // A refusal that is not to be tried again (OTLP, failures).
        let refusing = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            // Until the other side has read it.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        otlp.close();
        refusing.join().unwrap();
        assert_eq!(dropped.get(), 6);
        assert_eq!(otlp.waiting.spans.load(Ordering::Relaxed), 0);
    }
}

//! Counts events as metrics, in the OpenMetrics text format, which Prometheus reads. Every label is of a closed
//! set: connections are configured, operations and outcomes are listed here.

use std::borrow::Cow;
use std::fmt;
use std::sync::Mutex;

use portico_actors::auth::clock::Timestamp;
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::Kind;
use portico_actors::event::{CallEnded, Event};
use portico_actors::mutex::lock;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use super::operation;
use super::process::Process;
use super::queue;

/// The media type of the output of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the latency histograms, in seconds: from an answer out of memory to the longest timeout.
const LATENCIES: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Every word of [`ConnectionEntry::status`].
const STATES: [&str; 6] = ["idle", "connecting", "up", "down", "restarting", "failed"];

/// The label in place of a connection for statements over several.
const SEVERAL: &str = "several";

/// The labels of a series: each name with its value.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Latencies<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;
type OfConnection<M> = Family<Labels<1>, M>;

/// Every number that is counted or looked up.
pub struct Metrics {
    registry: Registry,
    ready: Gauge,
    calls: Family<Labels<3>, Counter>,
    durations: Latencies<2>,
    waits: Latencies<1>,
    rows: OfConnection<Counter>,
    states: Family<Labels<2>, Gauge>,
    losses: OfConnection<Counter>,
    restarts: OfConnection<Counter>,
    load: [OfConnection<Gauge>; 4],
    sessions: [OfConnection<Gauge>; 3],
    /// Counted by the HTTP side itself.
    pub traffic: Traffic,
    tokens_issued: Counter,
    tokens_refused: Counter,
    auth_restarts: Counter,
    issuer_failures: Counter,
    store_up: Gauge,
    store_failures: Counter,
    audit_up: Gauge,
    audit_failures: Counter,
    audit_lost: Counter,
    reloads: Counter,
    reloads_refused: Counter,
    /// Spans that were not sent: their queue was full, or the receiver refused them.
    pub spans_dropped: Counter,
    /// When the service's certificate ends; without TLS there is no such series.
    certificate_end: Family<Labels<0>, Gauge>,
    /// Held while the gauges are set and written.
    telling: Mutex<()>,
}

/// The counters of the HTTP side.
#[derive(Clone, Debug)]
pub struct Traffic {
    responses: Family<Status, Counter>,
    /// Bytes of bodies that clients sent.
    pub received: Counter,
    /// Bytes of bodies that clients were sent.
    pub sent: Counter,
    running: Gauge,
    /// Requests that were refused because too many were worked on.
    pub refused: Counter,
    tasks: Gauge,
    decoding: Gauge,
    /// Streams of events that are open.
    pub streams: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    code: u16,
}

impl Traffic {
    fn new(names: &mut Registry) -> Self {
        Self {
            responses: metric(names, "http_responses", "Responses begun"),
            received: metric_in(names, "http_received", "Bodies received", Unit::Bytes, Counter::default()),
            sent: metric_in(names, "http_sent", "Bodies sent", Unit::Bytes, Counter::default()),
            running: metric(names, "http_requests_running", "Requests that are worked on"),
            refused: metric(names, "http_requests_refused", "Requests refused for the load"),
            tasks: metric(names, "mcp_tasks_running", "MCP calls that go on as tasks"),
            decoding: metric_in(
                names,
                "decoding",
                "Large rows on their way into an answer",
                Unit::Bytes,
                Gauge::default(),
            ),
            streams: metric(names, "http_streams_open", "Streams of events that are open"),
        }
    }

    /// A response with this status was begun.
    pub fn responded(&self, status: u16) {
        self.responses.get_or_create(&Status { code: status }).inc();
    }
}

/// A metric, under its name.
fn metric<M: Metric + Clone + Default>(names: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    names.register(name, help, metric.clone());
    metric
}

/// Registers a metric with a unit, which ends its name.
fn metric_in<M: Metric + Clone>(names: &mut Registry, name: &str, help: &str, unit: Unit, metric: M) -> M {
    names.register_with_unit(name, help, unit, metric.clone());
    metric
}

/// A gauge that is 1 until something is away, under its name.
fn up(names: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge: Gauge = metric(names, name, help);
    gauge.set(1);
    gauge
}

/// A histogram of latencies, under its name.
fn latencies<const N: usize>(names: &mut Registry, name: &str, help: &str) -> Latencies<N> {
    metric_in(names, name, help, Unit::Seconds, Family::new_with_constructor(|| Histogram::new(LATENCIES)))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        // These have the names that Prometheus uses everywhere.
        registry.register_collector(Box::new(Process));
        let names = registry.sub_registry_with_prefix("portico");
        // A gauge and no `info`, which older readers of the text format do not know.
        let build: Family<Labels<1>, Gauge> = metric(names, "build_info", "1 for the version that runs");
        build.get_or_create(&[("version", env!("CARGO_PKG_VERSION").into())]).set(1);
        names.register("log_lines_dropped", "Lines of the log that nobody took in time", queue::DROPPED.clone());
        Self {
            ready: metric(names, "ready", "Whether the service should be sent requests"),
            calls: metric(names, "calls", "Calls that have ended"),
            durations: latencies(names, "call_duration", "From a request's arrival to its last byte"),
            waits: latencies(names, "queue_wait", "How long calls waited for their turn"),
            rows: metric(names, "rows", "Rows sent"),
            states: metric(names, "connection_state", "1 for the state that a connection is in"),
            losses: metric(names, "connection_losses", "Attempts that found a source away"),
            restarts: metric(names, "connection_restarts", "Actors that died"),
            load: [
                metric(names, "calls_running", "Calls that run"),
                metric(names, "calls_running_limit", "Calls that may run at once"),
                metric(names, "calls_waiting", "Calls that wait for their turn"),
                metric(names, "calls_waiting_limit", "Calls that may wait"),
            ],
            sessions: [
                metric(names, "sessions_open", "Sessions at the source"),
                metric(names, "sessions_idle", "Sessions at the source that nobody uses"),
                metric(names, "sessions_limit", "Sessions at the source that may be open"),
            ],
            traffic: Traffic::new(names),
            tokens_issued: metric(names, "tokens_issued", "Access tokens issued"),
            tokens_refused: metric(names, "tokens_refused", "Requests for a token that were refused"),
            auth_restarts: metric(names, "auth_restarts", "Actors judging credentials that died"),
            issuer_failures: metric(
                names,
                "issuer_failures",
                "Times that a trusted issuer's keys could not be fetched",
            ),
            store_up: up(names, "store_up", "1 while the store can be read"),
            store_failures: metric(names, "store_failures", "Causes why the store could not be read or written"),
            audit_up: up(names, "audit_up", "1 while the audit trail can be written"),
            audit_failures: metric(names, "audit_failures", "Outages of the audit trail"),
            audit_lost: metric(names, "audit_records_lost", "Records of the audit trail that were lost"),
            reloads: metric(names, "reloads", "Configurations that were taken over"),
            reloads_refused: metric(names, "reloads_refused", "Configurations that were refused"),
            spans_dropped: metric(names, "spans_dropped", "Spans that were not sent"),
            certificate_end: metric_in(
                names,
                "tls_certificate_not_after",
                "When the certificate ends that clients are shown, since 1970",
                Unit::Seconds,
                Family::default(),
            ),
            telling: Mutex::default(),
            registry,
        }
    }
}

/// Adds one.
fn one(counter: &Counter) {
    counter.inc();
}

fn of_connection(name: &str) -> Labels<1> {
    [("connection", name.to_owned().into())]
}

/// Returns the configured name that a call is counted under. A client's text is never a label, and neither is the
/// list of connections that a statement names, which has too many combinations.
fn label(call: &CallEnded) -> &str {
    match (&call.workspace, &call.connection, call.connection_id) {
        (Some(workspace), _, _) => workspace,
        (None, Some(_), None) => SEVERAL,
        (None, connection, _) => connection.as_deref().unwrap_or_default(),
    }
}

impl Metrics {
    /// Counts `event`.
    pub fn count(&self, event: &Event) {
        match event {
            Event::CallEnded(call) => self.count_call(call),
            Event::ConnectionDown { name, .. } => one(&self.losses.get_or_create(&of_connection(name))),
            Event::ConnectionDied { name, .. } => one(&self.restarts.get_or_create(&of_connection(name))),
            Event::AuthDied { .. } => one(&self.auth_restarts),
            Event::IssuerFailed { .. } => one(&self.issuer_failures),
            Event::StoreFailed { .. } => {
                self.store_up.set(0);
                one(&self.store_failures);
            }
            Event::StoreWorkFailed { .. } => one(&self.store_failures),
            Event::StoreResumed => {
                self.store_up.set(1);
            }
            Event::AuditFailed { .. } => {
                self.audit_up.set(0);
                one(&self.audit_failures);
            }
            Event::AuditResumed { lost } => {
                self.audit_up.set(1);
                self.audit_lost.inc_by(*lost);
            }
            Event::Reloaded { .. } => one(&self.reloads),
            Event::ReloadRefused { .. } => one(&self.reloads_refused),
            Event::ConnectionUp { .. }
            | Event::ConnectionFinding { .. }
            | Event::CatalogueUnread { .. }
            | Event::CatalogueChanged { .. }
            | Event::ConnectionIdle { .. }
            | Event::Stopped => {}
        }
    }

    /// Takes over when the certificate ends that clients are shown.
    pub fn shown_certificate_ends(&self, end: Timestamp) {
        self.certificate_end.get_or_create(&[]).set(end.seconds());
    }

    fn count_call(&self, call: &CallEnded) {
        let connection = of_connection(label(call));
        let [of_connection] = connection.clone();
        let operation = call.operation.unwrap_or_else(|| operation::classify(&call.what));
        let of_operation = ("operation", operation.into());
        let outcome = ("outcome", call.failure.map_or("ok", Kind::as_str).into());
        self.calls.get_or_create(&[of_connection.clone(), of_operation.clone(), outcome]).inc();
        self.durations.get_or_create(&[of_connection, of_operation]).observe(call.took.as_secs_f64());
        if let Some(queued) = call.queued {
            self.waits.get_or_create(&connection).observe(queued.as_secs_f64());
        }
        if call.rows > 0 {
            self.rows.get_or_create(&connection).inc_by(call.rows);
        }
        if operation == operation::TOKEN {
            one(if call.failure.is_none() { &self.tokens_issued } else { &self.tokens_refused });
        }
    }

    /// Sets the gauges, with the given numbers of active requests and tasks and the memory lent by the budget, and
    /// writes all metrics in the format of [`CONTENT_TYPE`].
    ///
    /// # Errors
    /// The format cannot represent a value; it can represent all of ours.
    pub fn encode(
        &self,
        directory: &Directory,
        ready: bool,
        [running, tasks, lent]: [usize; 3],
    ) -> Result<String, fmt::Error> {
        self.ready.set(i64::from(ready));
        let traffic = &self.traffic;
        for (gauge, value) in [(&traffic.running, running), (&traffic.tasks, tasks), (&traffic.decoding, lent)] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let _alone = lock(&self.telling);
        // What stood at the last look may be idle now, or gone.
        self.states.clear();
        for gauge in self.load.iter().chain(&self.sessions) {
            gauge.clear();
        }
        for entry in directory.list() {
            self.look_at(&entry);
        }
        let mut written = String::with_capacity(16 * 1024);
        text::encode(&mut written, &self.registry)?;
        Ok(written)
    }

    fn look_at(&self, entry: &ConnectionEntry) {
        let status = entry.status();
        let connection = of_connection(&entry.name);
        let [of_connection] = connection.clone();
        // There may be thousands that are idle: one series each.
        for state in STATES.into_iter().filter(|state| !entry.is_idle() || *state == status) {
            let labels = [of_connection.clone(), ("state", state.into())];
            self.states.get_or_create(&labels).set(i64::from(state == status));
        }
        if entry.is_idle() {
            return;
        }
        let set = |gauges: &[OfConnection<Gauge>], values: &[usize]| {
            for (gauge, value) in gauges.iter().zip(values) {
                gauge.get_or_create(&connection).set(i64::try_from(*value).unwrap_or(i64::MAX));
            }
        };
        let load = entry.load();
        set(&self.load, &[load.running, load.permits, load.waiting, load.places]);
        if let Some(pool) = entry.pool() {
            set(&self.sessions, &[pool.open, pool.idle, pool.most]);
        }
        // A counter at 0 is written too: an alert on its growth needs it.
        drop(self.losses.get_or_create(&connection));
        drop(self.restarts.get_or_create(&connection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_word() {
        use portico_actors::connection::ConnectionState;
        assert!(STATES.contains(&ConnectionState::Connecting.as_str()));
        let why = std::sync::Arc::new(portico_actors::error::Error::invalid("away"));
        assert!(STATES.contains(&ConnectionState::Down { until: std::time::Instant::now(), why }.as_str()));
    }

    #[test]
    fn an_outage_is_told_for_as_long_as_it_lasts() {
        let (metrics, cause) = (Metrics::default(), || "away".to_owned());
        let ups = || (metrics.store_up.get(), metrics.audit_up.get());
        assert_eq!(ups(), (1, 1));
        metrics.count(&Event::StoreFailed { cause: cause() });
        metrics.count(&Event::AuditFailed { cause: cause(), refuses: true });
        assert_eq!(ups(), (0, 0));
        metrics.count(&Event::StoreResumed);
        metrics.count(&Event::AuditResumed { lost: 2 });
        assert_eq!((ups(), metrics.audit_lost.get()), ((1, 1), 2));
        metrics.count(&Event::StoreWorkFailed { cause: cause() });
        assert_eq!((ups(), metrics.store_failures.get()), ((1, 1), 2), "work that failed is no outage");
    }

    #[test]
    fn every_metric_is_documented() {
        let documented = include_str!("../../docs/observing.md");
        // A metric without samples is not written: so the names are read from the source text.
        let given = include_str!("metrics.rs").split("mod tests").next().unwrap();
        let names = given.split("names,").filter_map(|piece| piece.trim_start().strip_prefix('"')?.split('"').next());
        let names: Vec<&str> = names.collect();
        assert!(names.len() > 30, "{names:?}");
        for name in names {
            // Of several that differ in their ends, the ends alone stand behind the first.
            let (stem, end) = name.rsplit_once('_').unwrap_or((name, ""));
            let is_end = documented.contains(&format!("`portico_{stem}")) && documented.contains(&format!("`_{end}`"));
            assert!(documented.contains(&format!("portico_{name}")) || is_end, "docs/observing.md lacks {name}");
        }
    }
}

//! What happened becomes numbers, told in the OpenMetrics text format, which Prometheus reads. Every
//! label is of a closed set: connections are configured, operations and outcomes are listed here.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use portico_actors::directory::{Directory, Entry};
use portico_actors::error::Kind;
use portico_actors::event::{CallEnded, Event};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::operation;
use super::process::Process;
use super::queue;

/// The media type of what [`Metrics::tell`] writes.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the latency histograms, in seconds: from an answer out of memory to the longest timeout.
const LATENCIES: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Every word of [`Entry::status`].
const STATES: [&str; 6] = ["idle", "connecting", "up", "down", "restarting", "failed"];

type Latencies<S> = Family<S, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    connection: String,
    operation: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Work {
    connection: String,
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Connection {
    connection: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Standing {
    connection: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    code: u16,
}

/// Every number that is counted or looked up.
pub struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    durations: Latencies<Work>,
    waits: Latencies<Connection>,
    rows: Family<Connection, Counter>,
    states: Family<Standing, Gauge>,
    losses: Family<Connection, Counter>,
    restarts: Family<Connection, Counter>,
    load: [Family<Connection, Gauge>; 4],
    sessions: [Family<Connection, Gauge>; 3],
    tokens_issued: Counter,
    tokens_refused: Counter,
    auth_restarts: Counter,
    issuer_failures: Counter,
    store_failures: Counter,
    audit_failures: Counter,
    audit_lost: Counter,
    reloads: Counter,
    reloads_refused: Counter,
    /// Spans that were not sent: their queue was full, or nobody took them.
    pub spans_dropped: Counter,
    ready: Gauge,
    /// Held while what stands is looked at and written.
    telling: Mutex<()>,
    /// Counted by the HTTP side itself.
    pub traffic: Traffic,
}

/// What the HTTP side counts.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    responses: Family<Status, Counter>,
    /// Bytes of bodies that clients sent.
    pub received: Counter,
    /// Bytes of bodies that clients were sent.
    pub sent: Counter,
    running: Gauge,
    tasks: Gauge,
    decoding: Gauge,
    /// Streams of events that are open.
    pub streams: Gauge,
    /// Requests that were refused because too many were worked on.
    pub refused: Counter,
}

impl Traffic {
    /// A response with this status was begun.
    pub fn responded(&self, status: u16) {
        self.responses.get_or_create(&Status { code: status }).inc();
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn latencies<S: Clone + Eq + std::hash::Hash>() -> Latencies<S> {
    Family::new_with_constructor(|| Histogram::new(LATENCIES))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut whole = Registry::default();
        // These have the names that Prometheus gives them everywhere.
        whole.register_collector(Box::new(Process));
        let registry = whole.sub_registry_with_prefix("portico");
        let mut metrics = Self {
            registry: Registry::default(),
            calls: Family::default(),
            durations: latencies(),
            waits: latencies(),
            rows: Family::default(),
            states: Family::default(),
            losses: Family::default(),
            restarts: Family::default(),
            load: Default::default(),
            sessions: Default::default(),
            tokens_issued: Counter::default(),
            tokens_refused: Counter::default(),
            auth_restarts: Counter::default(),
            issuer_failures: Counter::default(),
            store_failures: Counter::default(),
            audit_failures: Counter::default(),
            audit_lost: Counter::default(),
            reloads: Counter::default(),
            reloads_refused: Counter::default(),
            spans_dropped: Counter::default(),
            ready: Gauge::default(),
            telling: Mutex::default(),
            traffic: Traffic::default(),
        };
        // A gauge and no `info`, which older readers of the text format do not know.
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "1 for the version that runs", build);
        registry.register("ready", "Whether the service should be sent requests", metrics.ready.clone());
        metrics.register_calls(registry);
        metrics.register_connections(registry);
        metrics.register_traffic(registry);
        registry.register("tokens_issued", "Access tokens issued", metrics.tokens_issued.clone());
        registry.register("tokens_refused", "Requests for a token that were refused", metrics.tokens_refused.clone());
        registry.register("auth_restarts", "Actors judging credentials that died", metrics.auth_restarts.clone());
        registry.register(
            "issuer_failures",
            "Times that a trusted issuer's keys could not be fetched",
            metrics.issuer_failures.clone(),
        );
        registry.register(
            "store_failures",
            "Times that the store could not be read or written",
            metrics.store_failures.clone(),
        );
        registry.register(
            "audit_failures",
            "Times that the audit trail could not be written",
            metrics.audit_failures.clone(),
        );
        registry.register(
            "audit_records_lost",
            "Records of the audit trail that were lost",
            metrics.audit_lost.clone(),
        );
        registry.register("reloads", "Configurations that were taken over", metrics.reloads.clone());
        registry.register("reloads_refused", "Configurations that were refused", metrics.reloads_refused.clone());
        registry.register("spans_dropped", "Spans that were not sent", metrics.spans_dropped.clone());
        registry.register("log_lines_dropped", "Lines of the log that nobody took in time", queue::DROPPED.clone());
        metrics.registry = whole;
        metrics
    }
}

impl Metrics {
    fn register_calls(&self, registry: &mut Registry) {
        registry.register("calls", "Calls that have ended", self.calls.clone());
        registry.register_with_unit(
            "call_duration",
            "From a request's arrival to its last byte",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register_with_unit(
            "queue_wait",
            "How long calls waited for their turn",
            Unit::Seconds,
            self.waits.clone(),
        );
        registry.register("rows", "Rows sent", self.rows.clone());
    }

    fn register_connections(&self, registry: &mut Registry) {
        registry.register("connection_state", "1 for the state that a connection is in", self.states.clone());
        registry.register("connection_losses", "Attempts that found a source away", self.losses.clone());
        registry.register("connection_restarts", "Actors that died", self.restarts.clone());
        let load = [
            ("calls_running", "Calls that run"),
            ("calls_running_limit", "Calls that may run at once"),
            ("calls_waiting", "Calls that wait for their turn"),
            ("calls_waiting_limit", "Calls that may wait"),
        ];
        let sessions = [
            ("sessions_open", "Sessions at the source"),
            ("sessions_idle", "Sessions at the source that nobody uses"),
            ("sessions_limit", "Sessions at the source that may be open"),
        ];
        let gauges = self.load.iter().zip(load).chain(self.sessions.iter().zip(sessions));
        for (gauge, (name, help)) in gauges {
            registry.register(name, help, gauge.clone());
        }
    }

    fn register_traffic(&self, registry: &mut Registry) {
        let traffic = &self.traffic;
        registry.register("http_responses", "Responses begun", traffic.responses.clone());
        registry.register_with_unit("http_received", "Bodies received", Unit::Bytes, traffic.received.clone());
        registry.register_with_unit("http_sent", "Bodies sent", Unit::Bytes, traffic.sent.clone());
        registry.register("http_requests_running", "Requests that are worked on", traffic.running.clone());
        registry.register("http_requests_refused", "Requests refused for the load", traffic.refused.clone());
        registry.register("mcp_tasks_running", "MCP calls that go on as tasks", traffic.tasks.clone());
        let decoding = traffic.decoding.clone();
        registry.register_with_unit("decoding", "Large rows on their way into an answer", Unit::Bytes, decoding);
        registry.register("http_streams_open", "Streams of events that are open", traffic.streams.clone());
    }

    /// Counts `event`.
    pub fn count(&self, event: &Event) {
        match event {
            Event::CallEnded(call) => self.count_call(call),
            Event::ConnectionUp { .. }
            | Event::ConnectionFinding { .. }
            | Event::CatalogueChanged { .. }
            | Event::ConnectionIdle { .. }
            | Event::StoreResumed => {}
            Event::ConnectionDown { name, .. } => {
                self.losses.get_or_create(&Connection { connection: name.to_string() }).inc();
            }
            Event::ConnectionDied { name, .. } => {
                self.restarts.get_or_create(&Connection { connection: name.to_string() }).inc();
            }
            Event::AuthDied { .. } => {
                self.auth_restarts.inc();
            }
            Event::IssuerFailed { .. } => {
                self.issuer_failures.inc();
            }
            Event::StoreFailed { .. } | Event::StoreWorkFailed { .. } => {
                self.store_failures.inc();
            }
            Event::AuditFailed { .. } => {
                self.audit_failures.inc();
            }
            Event::AuditResumed { lost } => {
                self.audit_lost.inc_by(*lost);
            }
            Event::Reloaded { .. } => {
                self.reloads.inc();
            }
            Event::ReloadRefused { .. } => {
                self.reloads_refused.inc();
            }
            Event::Stopped => {}
        }
    }

    fn count_call(&self, call: &CallEnded) {
        // Only the name of a connection that was found: what a client asks for is no label.
        let connection = call.connection.as_deref().unwrap_or_default().to_owned();
        let operation = call.operation.unwrap_or_else(|| operation::of(&call.what));
        let outcome = call.failure.map_or("ok", Kind::word);
        self.calls.get_or_create(&Call { connection: connection.clone(), operation, outcome }).inc();
        let work = Work { connection: connection.clone(), operation };
        self.durations.get_or_create(&work).observe(call.took.as_secs_f64());
        if let Some(queued) = call.queued {
            self.waits.get_or_create(&Connection { connection: connection.clone() }).observe(queued.as_secs_f64());
        }
        if call.rows > 0 {
            self.rows.get_or_create(&Connection { connection }).inc_by(call.rows);
        }
        if operation == operation::TOKEN {
            if call.failure.is_none() {
                self.tokens_issued.inc()
            } else {
                self.tokens_refused.inc()
            };
        }
    }

    /// Looks at what stands, with so many requests that are worked on, so many tasks that run and so much lent of the
    /// budget, and writes everything in the form of [`CONTENT_TYPE`].
    ///
    /// # Errors
    /// The format has no place for a value; it has one for each of ours.
    pub fn tell(
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
        let _alone = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn look_at(&self, entry: &Entry) {
        let status = entry.status();
        if entry.is_idle() {
            // There may be thousands: one series each.
            self.states.get_or_create(&Standing { connection: entry.name.to_string(), state: status }).set(1);
            return;
        }
        for state in STATES {
            let standing = Standing { connection: entry.name.to_string(), state };
            self.states.get_or_create(&standing).set(i64::from(state == status));
        }
        let connection = Connection { connection: entry.name.to_string() };
        let set = |gauges: &[Family<Connection, Gauge>], values: &[usize]| {
            for (gauge, value) in gauges.iter().zip(values) {
                gauge.get_or_create(&connection).set(i64::try_from(*value).unwrap_or(i64::MAX));
            }
        };
        let load = entry.load();
        set(&self.load, &[load.running, load.permits, load.waiting, load.places]);
        if let Some(pool) = entry.pool() {
            set(&self.sessions, &[pool.open, pool.idle, pool.most]);
        }
        // A counter that nothing was counted of is told too: an alert on its growth needs the 0.
        drop(self.losses.get_or_create(&connection));
        drop(self.restarts.get_or_create(&connection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_word() {
        use portico_actors::connection::State;
        assert!(STATES.contains(&State::Connecting.as_str()));
        assert!(STATES.contains(&State::Down { until: std::time::Instant::now() }.as_str()));
    }
}

//! Writes events to the log: a line for each call and for each change of a connection. The metrics observe the same
//! events.

pub mod lines;
pub mod metrics;
pub(crate) mod operation;
#[cfg(feature = "otel")]
mod otlp;
mod process;
pub mod queue;
pub mod tracer;
pub mod traces;

use std::fmt::Display;
use std::time::Duration;

use log::kv::{self, Key, Source, Value, VisitSource};
use log::{Level, Metadata, Record};
use portico_actors::error::Kind;
use portico_actors::event::{CallEnded, Event};
use portico_actors::finding::{Finding, FindingSeverity};

pub use metrics::{Metrics, Traffic};

use crate::anonymous_quota::Strangers;

/// The log of a running service: a line for each request of strangers as long as there is room, and a count of the
/// others. At the level debug each has its line.
#[derive(Debug, Default)]
pub struct Log(Strangers);

impl Log {
    /// Writes `event` to the log, unless it is a call of a stranger's and there were too many. Values of parameters and
    /// secrets are in no event.
    pub fn write(&self, event: &Event) {
        match event {
            Event::CallEnded(call) => self.write_call(call),
            Event::ConnectionUp { name, product } => log::info!("connection {name} is up: {product}"),
            Event::ConnectionFinding { name, finding } => write_finding(name, finding),
            Event::CatalogueChanged { name, told, .. } => {
                let how = if *told { ", as another process said" } else { "" };
                log::debug!("the catalogue of connection {name} has changed{how}");
            }
            Event::CatalogueUnread { name, cause, retry_in } => log::warn!(
                "the catalogue of connection {name} cannot be read: {cause}; the known one stays in force; next \
                 attempt in {} ms",
                retry_in.as_millis()
            ),
            Event::ConnectionIdle { name, after } => {
                let seconds = after.as_secs();
                log::info!("connection {name} is idle: it was not used for {seconds} s; its next use connects again");
            }
            Event::ConnectionDown { name, cause, retry_in } => {
                log::warn!("connection {name} is down: {cause}; next attempt in {} ms", retry_in.as_millis());
            }
            Event::ConnectionDied { name, panicked, restart_in } => {
                write_death(format_args!("the actor of connection {name}"), *panicked, *restart_in);
            }
            Event::AuthDied { panicked, restart_in } => {
                write_death("the actor that verifies credentials", *panicked, Some(*restart_in));
            }
            Event::IssuerFailed { issuer, cause } => {
                log::warn!("the keys of {issuer} cannot be fetched: {cause}; those that are known stay in force");
            }
            Event::StoreFailed { cause } => {
                log::error!("the store cannot be read: {cause}; what is in memory stays in force");
            }
            // The line of the call that was refused has the cause too.
            Event::StoreWorkFailed { cause } => log::debug!("an operation on the store failed: {cause}"),
            Event::StoreResumed => log::info!("the store can be read again"),
            Event::AuditFailed { cause, refuses: true } => {
                log::error!("the audit trail cannot be written: {cause}; calls are refused until it can");
            }
            Event::AuditFailed { cause, refuses: false } => {
                log::error!("the audit trail cannot be written: {cause}; calls go on, and their records are lost");
            }
            Event::AuditResumed { lost } => log::warn!("the audit trail is written again; {lost} records were lost"),
            Event::Reloaded { summary } => log::info!("reloaded; {summary}"),
            Event::ReloadRefused { problems } => {
                for problem in problems {
                    log::warn!("the configuration was not taken over: {problem}");
                }
            }
            Event::Stopped => {
                self.sum_up();
                log::info!("stopped");
            }
        }
    }

    /// Writes the line of a call.
    fn write_call(&self, call: &CallEnded) {
        let level = if call.cause.is_some() { Level::Error } else { Level::Info };
        let metadata = Metadata::builder().level(level).target("portico::call").build();
        if level > log::max_level() || !log::logger().enabled(&metadata) {
            return;
        }
        if self.0.takes(call.subject.is_empty() && !log::log_enabled!(Level::Debug)) {
            let members = Members(call);
            let record = Record::builder().metadata(metadata).key_values(&members).args(format_args!("")).build();
            log::logger().log(&record);
        }
    }

    /// Logs the number of requests without a line, if there are any since the last time.
    pub fn sum_up(&self) {
        match self.0.counted() {
            0 => {}
            count => log::warn!("{count} more unauthenticated requests were not logged"),
        }
    }
}

/// Logs a finding about a connection.
fn write_finding(connection: &str, finding: &Finding) {
    // Names of hidden objects must not be in the log.
    let names = if finding.names.is_empty() { "" } else { " (portico check names them)" };
    let remedy = if finding.remedy.is_empty() { String::new() } else { format!("; {}", finding.remedy) };
    let level = if finding.grade == FindingSeverity::Warning { Level::Warn } else { Level::Info };
    log::log!(level, "connection {connection}: {}{names}{remedy}", finding.message);
}

/// Writes that an actor died, and when a new one starts.
fn write_death(actor: impl Display, panicked: bool, restart_in: Option<Duration>) {
    let how = if panicked { "panicked" } else { "ended" };
    match restart_in {
        Some(delay) => log::error!("{actor} {how}; a new one starts in {} ms", delay.as_millis()),
        None => log::error!("{actor} {how} too often; it is not started again"),
    }
}

/// The members of a call's line.
struct Members<'a>(&'a CallEnded);

impl Source for Members<'_> {
    fn visit<'kvs>(&'kvs self, visitor: &mut dyn VisitSource<'kvs>) -> Result<(), kv::Error> {
        let Self(call) = self;
        let milliseconds = |took: Duration| Value::from(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let connection = match (&call.connection, &call.connection_id) {
            (Some(name), _) => Value::from(&**name),
            (None, Some(id)) => Value::from_display(id),
            (None, None) => Value::from(""),
        };
        let members = [
            ("request", Some(Value::from_display(&call.id))),
            ("trace", call.trace.as_ref().map(|trace| Value::from(trace.trace_id()))),
            ("client", call.client.as_ref().map(Value::from_display)),
            ("who", Some(Value::from(call.subject.as_str()))),
            ("connection", Some(connection)),
            ("workspace", call.workspace.as_deref().map(Value::from)),
            ("what", Some(Value::from(call.what.as_str()))),
            ("class", Some(Value::from(call.class.unwrap_or("-")))),
            ("rows", Some(Value::from(call.rows))),
            ("queued_ms", call.queued.map(milliseconds)),
            ("ms", Some(milliseconds(call.took))),
            ("outcome", Some(Value::from(call.failure.map_or("ok", Kind::as_str)))),
            ("cause", call.cause.as_deref().map(Value::from)),
        ];
        let mut members = members.into_iter().filter_map(|(name, value)| Some((Key::from_str(name), value?)));
        members.try_for_each(|(name, value)| visitor.visit_pair(name, value))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use portico_actors::call::RequestId;
    use portico_actors::trace::TraceParent;

    use super::*;

    /// Gathers the members as text.
    #[derive(Default)]
    struct Gathered(Vec<String>);

    impl<'kvs> VisitSource<'kvs> for Gathered {
        fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
            self.0.push(format!("{key}={value}"));
            Ok(())
        }
    }

    #[test]
    fn a_call_s_line_begins_with_its_request_and_its_trace() {
        let trace = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let call = CallEnded {
            id: Box::new(RequestId::from_client("web:7/Kq+w==").unwrap()),
            subject: "ann@example.org".to_owned(),
            connection: Some("shop".into()),
            connection_id: None,
            workspace: None,
            client: None,
            what: "execute_select".to_owned(),
            operation: None,
            trace,
            parent: trace,
            driver: None,
            asked: None,
            class: Some("select"),
            rows: 3,
            queued: Some(Duration::from_millis(2)),
            source: None,
            took: Duration::from_millis(12),
            failure: None,
            cause: None,
        };
        let mut gathered = Gathered::default();
        Members(&call).visit(&mut gathered).unwrap();
        assert_eq!(
            gathered.0.join(" "),
            "request=web:7/Kq+w== trace=4bf92f3577b34da6a3ce929d0e0e4736 who=ann@example.org \
             connection=shop what=execute_select class=select rows=3 queued_ms=2 ms=12 outcome=ok"
        );
    }
}

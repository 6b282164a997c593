//! Traces over OTLP, as a receiver gets them: it decodes what the exporter sends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::{App as WebApp, HttpResponse, HttpResponseBuilder, HttpServer, web};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// What a database sees of the statement that asks.
const ASK: &str = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()";

/// A receiver of OTLP over HTTP.
struct Receiver {
    url: String,
    exports: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    handle: ServerHandle,
}

impl Receiver {
    fn start() -> Self {
        Self::answering(HttpResponse::Ok)
    }

    /// One that keeps what it is sent, and answers so.
    fn answering(answer: fn() -> HttpResponseBuilder) -> Self {
        let exports: Arc<Mutex<Vec<ExportTraceServiceRequest>>> = Arc::default();
        let data = web::Data::from(Arc::clone(&exports));
        let take = move |data: web::Data<Mutex<Vec<ExportTraceServiceRequest>>>, body: web::Bytes| async move {
            data.lock().unwrap().push(ExportTraceServiceRequest::decode(body).unwrap());
            answer().content_type("application/x-protobuf").finish()
        };
        let server =
            HttpServer::new(move || WebApp::new().app_data(data.clone()).route("/v1/traces", web::post().to(take)));
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { url, exports, handle }
    }

    /// The table of the configuration that sends here.
    fn table(&self) -> String {
        format!("[telemetry]\notlp_endpoint = \"{}\"\n", self.url)
    }

    fn spans(&self) -> Vec<Span> {
        let exports = self.exports.lock().unwrap();
        let scopes = exports.iter().flat_map(|export| &export.resource_spans).flat_map(|spans| &spans.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    /// What was sent by a service that has ended: so nothing is waited for but its end.
    async fn after(&self, app: TestApp) -> Vec<Span> {
        web::block(move || drop(app)).await.unwrap();
        self.spans()
    }
}

fn value(value: Option<&AnyValue>) -> Value {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        other => panic!("{other:?}"),
    }
}

fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, Value> {
    attributes.iter().map(|each| (each.key.clone(), value(each.value.as_ref()))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The server's span by its operation, and the one of its source.
fn spans_of(spans: &[Span], operation: &str) -> (Span, Option<Span>) {
    let is = |span: &&Span| attributes(&span.attributes).get("portico.operation") == Some(&json!(operation));
    let mut found = spans.iter().filter(is);
    let server = found.next().unwrap_or_else(|| panic!("no span of {operation}: {spans:#?}")).clone();
    assert!(found.next().is_none(), "one span a call");
    let source = spans.iter().find(|span| span.parent_span_id == server.span_id).cloned();
    (server, source)
}

fn caller(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

#[actix_web::test]
async fn otel_a_call_is_a_span_in_its_caller_s_trace_with_one_for_its_source() {
    let receiver = Receiver::start();
    let url = fixture::postgres().await;
    let service = Configuration::new().with(&receiver.table());
    let app = service.connection("shop", &url, "trace_comments = true").start().await;
    let request = app.post("/api/query").header("traceparent", caller("01"));
    let (status, body) = read(request.json(&json!({"query": ASK})).send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    let seen = body["results"][0]["rows"][0][0].as_str().unwrap().to_owned();
    // By MCP, in a trace that the message names.
    let meta = json!({"traceparent": caller("01").replace("4bf9", "aaaa")});
    let call = json!({"name": "execute_select", "arguments": {"query": ASK}, "_meta": meta});
    let (_, by_mcp) = app.mcp(&app.writer, "tools/call", call).await;
    let seen_by_mcp = by_mcp["result"]["structuredContent"]["rows"][0][0].as_str().unwrap().to_owned();
    let spans = receiver.after(app).await;

    let (server, source) = spans_of(&spans, "query");
    let source = source.expect("the source has a span");
    assert_eq!((hex(&server.trace_id).as_str(), hex(&server.parent_span_id).as_str()), (TRACE, CALLER));
    assert_eq!((server.kind, source.kind), (SpanKind::Server as i32, SpanKind::Client as i32));
    assert_eq!((server.name.as_str(), source.name.as_str()), ("POST /api/query", "SELECT"));
    let told = attributes(&server.attributes);
    for (name, value) in [
        ("http.request.method", json!("POST")),
        ("http.route", json!("/api/query")),
        ("http.response.status_code", json!(200)),
        ("portico.connection", json!("shop")),
        ("portico.rows", json!(1)),
    ] {
        assert_eq!(told.get(name), Some(&value), "{name}: {told:?}");
    }
    let told = attributes(&source.attributes);
    assert_eq!((&told["db.system.name"], &told["db.operation.name"]), (&json!("postgresql"), &json!("SELECT")));
    assert!(told["portico.queue.wait"].as_f64().unwrap() >= 0.0, "{told:?}");
    assert!(server.start_time_unix_nano <= source.start_time_unix_nano, "{server:?} {source:?}");
    assert!(source.start_time_unix_nano <= source.end_time_unix_nano, "{source:?}");
    assert!(source.end_time_unix_nano <= server.end_time_unix_nano, "{server:?} {source:?}");
    // The database was told of the span of its own time.
    assert_eq!(seen, format!("{ASK} /*traceparent='00-{TRACE}-{}-01'*/", hex(&source.span_id)));

    let (server, source) = spans_of(&spans, "execute_select");
    let theirs = TRACE.replace("4bf9", "aaaa");
    assert_eq!((hex(&server.trace_id), hex(&server.parent_span_id).as_str()), (theirs.clone(), CALLER));
    assert_eq!(server.name, "POST /mcp/connections/{connectionId}", "no id is in a name");
    let told = attributes(&server.attributes);
    assert_eq!((&told["mcp.method.name"], &told["gen_ai.tool.name"]), (&json!("tools/call"), &json!("execute_select")));
    let id = hex(&source.unwrap().span_id);
    assert_eq!(seen_by_mcp, format!("{ASK} /*traceparent='00-{theirs}-{id}-01'*/"));

    let exports = receiver.exports.lock().unwrap().clone();
    let resource = exports[0].resource_spans[0].resource.clone().unwrap();
    assert_eq!(attributes(&resource.attributes)["service.name"], json!("portico"));
    receiver.handle.stop(false).await;
}

#[actix_web::test]
async fn otel_failures_are_told_and_values_are_not() {
    let receiver = Receiver::start();
    let app = sqlite(&receiver.table()).await;
    let secret = "value-that-nobody-is-told";
    let body = json!({"query": "SELECT nonsense FROM orders WHERE id = @id", "parameters": {"id": secret}});
    let (status, _) = app.query(body).await;
    assert_eq!(status, 400);
    let (_, body) = app.mcp(&app.writer, "tools/call", json!({"name": secret, "arguments": {}})).await;
    assert!(body.get("error").is_some(), "{body}");
    let spans = receiver.after(app).await;
    let (server, _) = spans_of(&spans, "query");
    assert_eq!(hex(&server.parent_span_id), "", "it begins a trace of its own");
    let told = attributes(&server.attributes);
    assert_eq!(told["http.response.status_code"], json!(400));
    assert!(told.contains_key("error.type"), "{told:?}");
    assert_eq!(server.status.unwrap_or_default().code, StatusCode::Unset as i32, "the client's fault is none of ours");
    // A name that a client made up is in no attribute.
    let (server, source) = spans_of(&spans, "other");
    assert_eq!((source, attributes(&server.attributes)["error.type"].clone()), (None, json!("not-found")));
    assert_eq!(server.status.unwrap().code, StatusCode::Error as i32, "the response itself was well");
    assert!(!format!("{spans:?}").contains(secret), "{spans:?}");
    receiver.handle.stop(false).await;
}

#[actix_web::test]
async fn otel_what_the_caller_does_not_record_is_not_recorded() {
    let receiver = Receiver::start();
    let app = sqlite(&receiver.table()).await;
    for flags in ["00", "01"] {
        let request = app.post("/api/query").header("traceparent", caller(flags));
        assert_eq!(read(request.json(&json!({"query": "SELECT 1"})).send().await.unwrap()).await.0, 200);
    }
    let spans = receiver.after(app).await;
    let (server, source) = spans_of(&spans, "query");
    assert_eq!(hex(&server.parent_span_id), CALLER);
    assert_eq!(attributes(&source.unwrap().attributes)["db.system.name"], json!("sqlite"));
    receiver.handle.stop(false).await;
}

#[actix_web::test]
async fn otel_a_receiver_that_refuses_fails_no_call() {
    let receiver = Receiver::answering(HttpResponse::BadRequest);
    let app = sqlite(&receiver.table()).await;
    assert_eq!(app.query(json!({"query": "SELECT 1"})).await.0, 200);
    let metrics = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("\nportico_spans_dropped_total "), "{metrics}");
    let spans = receiver.after(app).await;
    assert!(spans_of(&spans, "query").1.is_some(), "it was asked: {spans:?}");
    receiver.handle.stop(false).await;
}

/// A service on SQLite, with this table in its configuration.
async fn sqlite(table: &str) -> TestApp {
    let service = Configuration::new().server("metrics = \"open\"").with(table);
    service.sqlite("shop", "access = \"read-write\"").start().await
}

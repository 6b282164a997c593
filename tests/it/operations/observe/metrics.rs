//! `/metrics`: who may read it, that it is well-formed, and that it tells what happened.

// What is compared are counts, which are whole.
#![allow(clippy::float_cmp)]

use std::collections::{BTreeMap, BTreeSet};

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::Rights;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::support::app::{Caller, TestApp, awaited, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::modern;
use crate::support::stream::Events;
use crate::support::tls::{Authority, TLS};

/// Every sample by its name and labels, as they are written.
type Samples = BTreeMap<String, f64>;

/// A user who may administer.
fn admin(app: &TestApp) -> Caller {
    let email = "root@example.com".to_owned();
    let mut store = app.store();
    store.add_user(NewUser { email: email.clone(), rights: Rights::ALL }).unwrap();
    let (_, pat) = store.create_pat(&email, NewPat::default()).unwrap();
    Caller { name: email, secret: pat.expose_secret().to_owned() }
}

async fn text(app: &TestApp) -> String {
    let response = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.text().await.unwrap()
}

async fn samples(app: &TestApp) -> Samples {
    parse(&text(app).await)
}

/// Reads the format as a scraper does; whatever is not well-formed fails.
fn parse(text: &str) -> Samples {
    let (mut samples, mut types) = (Samples::new(), BTreeMap::new());
    let body = text.strip_suffix("# EOF\n").expect("the end is marked");
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let pieces: Vec<&str> = comment.splitn(3, ' ').collect();
            assert_eq!(pieces.len(), 3, "{line}");
            match pieces[0] {
                "HELP" | "UNIT" => {}
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&pieces[2]), "{line}");
                    assert!(types.insert(pieces[1].to_owned(), pieces[2].to_owned()).is_none(), "twice: {line}");
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let name = series.split('{').next().unwrap();
        assert!(name.bytes().all(|each| each.is_ascii_alphanumeric() || each == b'_'), "{line}");
        if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
            let labels = labels.strip_prefix('{').and_then(|labels| labels.strip_suffix('}')).expect(line);
            for label in labels.split("\",") {
                let (key, value) = label.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
                assert!(!key.is_empty() && !value.trim_end_matches('"').contains(['"', '\n']), "{line}");
            }
        }
        let families = ["_total", "_bucket", "_sum", "_count", ""];
        let family = families.iter().find_map(|suffix| types.get(name.strip_suffix(suffix)?));
        assert!(family.is_some(), "no type stands in front of {line}");
        assert!(samples.insert(series.to_owned(), value.parse().expect(line)).is_none(), "twice: {line}");
    }
    samples
}

#[actix_web::test]
async fn administrators_alone_may_read_them_unless_configured() {
    let app = fixture::on_sqlite().await;
    let get = async |caller: Option<&Caller>| {
        let mut request = app.http.get(format!("{}/metrics", app.url));
        if let Some(Caller { name, secret }) = caller {
            request = request.basic_auth(name, Some(secret));
        }
        request.send().await.unwrap()
    };
    let nobody = get(None).await;
    assert!(nobody.headers().contains_key("www-authenticate"));
    assert_eq!(read(nobody).await.0, 401);
    let (status, body) = read(get(Some(&app.writer)).await).await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!(1200)));
    let admin = admin(&app);
    assert_eq!(get(Some(&admin)).await.status(), 200);
    let off = fixture::with_server("metrics = \"off\"", "").await;
    assert_eq!(read(off.http.get(format!("{}/metrics", off.url)).send().await.unwrap()).await.0, 404);
}

#[actix_web::test]
async fn calls_are_counted_by_connection_operation_and_outcome() {
    let app = fixture::with_server("metrics = \"open\"", "access = \"read-write\"").await;
    assert_eq!(app.rows("SELECT id FROM orders").await, json!([[1], [2], [3]]));
    let (status, _) = app.query(json!({"query": "SELECT nonsense FROM orders"})).await;
    assert_eq!(status, 400);
    app.tool("execute_select", json!({"query": "SELECT 1"})).await;
    app.tool("get_tables", json!({})).await;
    let (_, unknown) = app.mcp(&app.writer, "tools/call", json!({"name": "no such tool\n", "arguments": {}})).await;
    assert!(unknown["error"].is_object());
    app.token().await;
    let wrong = [("grant_type", "client_credentials"), ("client_id", "x"), ("client_secret", "y")];
    assert_eq!(app.http.post(format!("{}/oauth/token", app.url)).form(&wrong).send().await.unwrap().status(), 401);
    // The event of a streamed answer is told after its last byte.
    let query = "portico_calls_total{connection=\"shop\",operation=\"query\",outcome=\"ok\"}";
    let samples =
        awaited("the event of the query", async || Some(samples(&app).await).filter(|all| all.contains_key(query)))
            .await;
    let calls = |connection: &str, operation: &str, outcome: &str| {
        let labels = format!("connection=\"{connection}\",operation=\"{operation}\",outcome=\"{outcome}\"");
        samples.get(&format!("portico_calls_total{{{labels}}}")).copied()
    };
    assert_eq!(calls("shop", "query", "ok"), Some(1.0));
    assert_eq!(calls("shop", "query", "rejected"), Some(1.0));
    assert_eq!(calls("shop", "execute_select", "ok"), Some(1.0));
    assert_eq!(calls("shop", "get_tables", "ok"), Some(1.0));
    assert_eq!(calls("shop", "other", "not-found"), Some(1.0), "a name of the client's own makes no label");
    let bucket = "portico_call_duration_seconds_bucket{le=\"+Inf\",connection=\"shop\",operation=\"query\"}";
    assert_eq!(samples.get(bucket), Some(&2.0));
    assert_eq!(samples["portico_queue_wait_seconds_count{connection=\"shop\"}"], 3.0);
    assert!(samples["portico_rows_total{connection=\"shop\"}"] >= 4.0);
    assert_eq!((samples["portico_tokens_issued_total"], samples["portico_tokens_refused_total"]), (1.0, 1.0));
    assert_eq!(samples["portico_connection_state{connection=\"shop\",state=\"up\"}"], 1.0);
    assert_eq!(samples["portico_connection_state{connection=\"shop\",state=\"down\"}"], 0.0);
    assert_eq!(samples["portico_connection_restarts_total{connection=\"shop\"}"], 0.0);
    assert_eq!(samples["portico_calls_running_limit{connection=\"shop\"}"], 10.0);
    assert_eq!(samples["portico_calls_waiting_limit{connection=\"shop\"}"], 100.0);
    assert_eq!(samples["portico_calls_running{connection=\"shop\"}"], 0.0);
    assert!(samples["portico_http_sent_bytes_total"] > 0.0 && samples["portico_http_received_bytes_total"] > 0.0);
    assert!(samples["portico_http_responses_total{code=\"200\"}"] >= 3.0);
    assert_eq!(samples["portico_ready"], 1.0);
    assert!(samples.keys().any(|series| series.starts_with("portico_build_info{version=\"")));
    for name in ["process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_start_time_seconds"] {
        assert!(samples[name] > 0.0, "{name}");
    }
    // No label but these, and so no series that a client could make.
    let labels: BTreeSet<&str> = samples
        .keys()
        .filter_map(|series| series.split_once('{'))
        .flat_map(|(_, labels)| labels.split(['{', ',']).filter_map(|label| label.split_once("=\"")))
        .map(|(label, _)| label)
        .collect();
    assert_eq!(labels, BTreeSet::from(["code", "connection", "le", "operation", "outcome", "state", "version"]));
}

#[actix_web::test]
async fn sessions_at_the_source_and_open_streams_are_told() {
    let url = fixture::postgres().await;
    let app = Configuration::new().server("metrics = \"open\"").connection("shop", &url, "pool = 3").start().await;
    app.rows("SELECT 1").await;
    let found = samples(&app).await;
    assert_eq!(found["portico_sessions_limit{connection=\"shop\"}"], 3.0);
    assert!(found["portico_sessions_open{connection=\"shop\"}"] >= 1.0);
    assert_eq!(found["portico_http_streams_open"], 0.0);
    let asked = modern(&app, &app.writer, &json!(1), "subscriptions/listen", json!({"notifications": {}}));
    let listening = Events::new(asked.send().await.unwrap());
    eventually("one open stream", async || samples(&app).await["portico_http_streams_open"] == 1.0).await;
    drop(listening);
}

/// The names in a text that look like ours.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|each: char| !each.is_ascii_lowercase() && each != '_');
    words.filter(|word| word.starts_with("portico_") || word.starts_with("process_")).map(str::to_owned).collect()
}

/// The metrics of a service that shows a certificate.
async fn over_tls() -> String {
    let service = Configuration::new().server(&format!("metrics = \"open\"\n{TLS}")).sqlite("shop", "");
    let authority = Authority::new("own");
    authority.sign(service.path(), "server");
    let service = service.serve().await;
    let answer = authority.client(None).get(format!("https://localhost:{}/metrics", service.port())).send().await;
    answer.unwrap().text().await.unwrap()
}

#[actix_web::test]
async fn dashboard_alerts_and_manual_name_metrics_that_there_are() {
    let url = fixture::postgres().await;
    let app = Configuration::new().server("metrics = \"open\"").connection("shop", &url, "pool = 1").start().await;
    app.rows("SELECT 1").await;
    let samples = awaited("the event of the query", async || {
        let counted = |all: &BTreeMap<String, f64>| all.keys().any(|series| series.starts_with("portico_rows_total"));
        Some(samples(&app).await).filter(counted)
    })
    .await;
    let mut known = named(&samples.keys().cloned().collect::<Vec<_>>().join("\n"));
    known.extend(named(&over_tls().await));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["packaging/grafana/portico.json", "packaging/prometheus/alerts.yml", "docs/observing.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let names = named(&text);
        assert!(names.len() > 8, "{file} names too few: {names:?}");
        for name in names {
            // A histogram is named as a whole in prose; "process_*" stands for several, and a package's file begins so.
            let whole = name == "process_" || name == "portico_";
            let there = known.contains(&name) || known.contains(&format!("{name}_bucket")) || whole;
            assert!(there, "{file} names {name}, which there is not: {known:?}");
        }
    }
    // And every alert has its line in the manual.
    let manual = std::fs::read_to_string(root.join("docs/observing.md")).unwrap();
    let rules = std::fs::read_to_string(root.join("packaging/prometheus/alerts.yml")).unwrap();
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 8);
    for alert in alerts {
        assert!(manual.contains(&format!("| `{alert}` | ")), "the manual does not say what to do about {alert}");
    }
}

/// There are more combinations of connections than anybody wants series of.
#[actix_web::test]
async fn statements_over_several_connections_are_counted_under_a_configured_name() {
    let workspace = "[[workspaces]]\nname = \"turnover\"\nassets = [{ table = \"shop.main.orders\" }]\n";
    let configuration = Configuration::new().server("metrics = \"open\"").sqlite("shop", "").sqlite("archive", "");
    let app = configuration.with(workspace).start().await;
    for joined in ["shop.main.orders a JOIN archive.main.orders b", "archive.main.orders a JOIN shop.main.orders b"] {
        let (status, answer) =
            app.query(json!({"query": format!("SELECT count(*) FROM {joined} ON a.id = b.id")})).await;
        assert_eq!(status, 200, "{answer}");
    }
    let request = app.http.post(format!("{}/api/query?workspace=turnover", app.url));
    let request = request.basic_auth(&app.writer.name, Some(&app.writer.secret));
    let sent = request.json(&json!({"query": "SELECT count(*) FROM orders"})).send().await.unwrap();
    assert_eq!(read(sent).await.0, 200);
    let calls = |connection: &str| {
        format!("portico_calls_total{{connection=\"{connection}\",operation=\"query\",outcome=\"ok\"}}")
    };
    let samples = awaited("the events of the calls", async || {
        let counted = |all: &Samples| (all.get(&calls("several")).copied(), all.get(&calls("turnover")).copied());
        Some(samples(&app).await).filter(|all| counted(all) == (Some(2.0), Some(1.0)))
    })
    .await;
    assert!(!samples.keys().any(|key| key.contains("shop, archive") || key.contains("archive, shop")));
}

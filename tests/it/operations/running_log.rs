//! The log of a running service: whoever reads it, or does not, neither stops nor fills anything.

use serde_json::json;
use tempfile::TempDir;

use crate::support::app::{CONNECTION, connection, pace};
use crate::support::fixture;
use crate::support::mcp::ENDLESS;
use crate::support::process::Service;

/// A service that writes much for each request.
async fn talkative() -> Service {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    Service::start_in(
        folder,
        "metrics = \"open\"\nshutdown_timeout = 3600",
        &table,
        &[("RUST_LOG", "trace".to_owned())],
    )
    .await
}

/// Asks until lines had to be dropped: the pipe is full, and so is the queue.
async fn until_full(service: &Service) {
    let mut pace = pace();
    while dropped(service).await == 0 {
        pace.tick().await;
        let asked = (0..8).map(|_| service.query("SELECT count(*) FROM orders"));
        for (status, answer) in futures_util::future::join_all(asked).await {
            assert_eq!(status, 200, "{answer}");
        }
    }
}

/// How many lines were dropped, as the metrics tell it.
async fn dropped(service: &Service) -> u64 {
    text(service, "portico_log_lines_dropped_total").await.parse().unwrap()
}

/// What the metrics have behind `series`.
async fn text(service: &Service, series: &str) -> String {
    let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap_or_else(|| panic!("{series} is in no line of {text}")).trim().to_owned()
}

#[actix_web::test]
async fn a_log_that_nobody_reads_stops_nothing_and_tells_what_it_lacks() {
    let mut service = talkative().await;
    let unread = service.leave_unread().await;
    until_full(&service).await;
    drop(unread);
    service.line("lines of the log were dropped").await;
    assert_eq!(service.query("SELECT count(*) FROM orders").await.0, 200);
    service.signal("TERM");
    assert!(service.ended().await.success());
}

#[actix_web::test]
async fn a_log_that_nobody_reads_does_not_keep_the_process() {
    let mut service = talkative().await;
    let unread = service.leave_unread().await;
    until_full(&service).await;
    service.signal("TERM");
    assert_eq!(service.over().await.code(), Some(0));
    drop(unread);
}

#[actix_web::test]
async fn a_log_that_nobody_reads_does_not_keep_the_second_signal() {
    let mut service = talkative().await;
    let unread = service.leave_unread().await;
    until_full(&service).await;
    let endless = tokio::spawn(service.post("/api/query").json(&json!({"query": ENDLESS, "timeout": 300})).send());
    let mut pace = pace();
    while !text(&service, "portico_calls_running{connection=\"shop\"}").await.starts_with('1') {
        pace.tick().await;
    }
    service.signal("INT");
    while service.get("/readyz").send().await.unwrap().status() != 503 {
        pace.tick().await;
    }
    service.signal("TERM");
    assert_eq!(service.over().await.code(), Some(143));
    drop((unread, endless));
}

#[actix_web::test]
async fn what_strangers_are_refused_is_summed_up_and_cut() {
    const REQUESTS: usize = 2_000;
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let mut service = Service::start(folder, "", &table).await;
    let long = format!("{}/nothing/{}", service.url, "x%22".repeat(7_500));
    assert_eq!(service.http.get(&long).send().await.unwrap().status(), 404);
    for _ in 1..REQUESTS {
        assert_eq!(service.http.get(format!("{}/nothing", service.url)).send().await.unwrap().status(), 404);
    }
    service.signal("TERM");
    let log = service.rest().await;
    let lines: Vec<&String> = log.iter().filter(|line| line.contains("/nothing")).collect();
    let longest = lines.iter().map(|line| line.len()).max().unwrap();
    assert!(longest < 1_500, "{longest}");
    let sums = log.iter().filter(|line| line.contains("have no line of their own"));
    let summed: usize =
        sums.map(|line| line.split("] ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap()).sum();
    assert_eq!(lines.len() + summed, REQUESTS, "each is told of, one way or the other");
    assert!(lines.len() <= 1_000, "{} lines", lines.len());
}

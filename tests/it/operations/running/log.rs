//! The log of a running service: whoever reads it, or does not, neither stops nor fills anything.

use serde_json::json;

use crate::support::app::eventually;
use crate::support::configuration::Configuration;
use crate::support::mcp::ENDLESS;
use crate::support::service::Service;

/// A service that writes much for each request.
async fn talkative() -> Service {
    let service = Configuration::new().server("metrics = \"open\"\nshutdown_timeout = 3600").sqlite("shop", "");
    service.serve_with(&[("RUST_LOG", "trace")]).await
}

/// Asks until lines had to be dropped: the pipe is full, and so is the queue.
async fn until_full(service: &Service) {
    eventually("lines to be dropped", async || {
        let asked = (0..8).map(|_| service.query("SELECT count(*) FROM orders"));
        for (status, answer) in futures_util::future::join_all(asked).await {
            assert_eq!(status, 200, "{answer}");
        }
        dropped(service).await != 0
    })
    .await;
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
    let running = "portico_calls_running{connection=\"shop\"}";
    eventually("the call to run", async || text(&service, running).await.starts_with('1')).await;
    service.signal("INT");
    eventually("the service to be ending", async || service.get("/readyz").send().await.unwrap().status() == 503).await;
    service.signal("TERM");
    assert_eq!(service.over().await.code(), Some(143));
    drop((unread, endless));
}

#[actix_web::test]
async fn what_strangers_are_refused_is_summed_up_and_cut() {
    const REQUESTS: usize = 2_000;
    let mut service = Configuration::new().sqlite("shop", "").serve().await;
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
    let sums = log.iter().filter(|line| line.contains("more unauthenticated requests were not logged"));
    let summed: usize =
        sums.map(|line| line.split("] ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap()).sum();
    assert_eq!(lines.len() + summed, REQUESTS, "each is told of, one way or the other");
    assert!(lines.len() <= 1_000, "{} lines", lines.len());
}

//! The end of the service: nothing new, the deadline of what runs, and the exit.

use serde_json::json;

use crate::support::app::{CONNECTION, awaited, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::service::Service;
use crate::support::stream::Events;

/// A service on PostgreSQL at `url`.
async fn on_postgres(url: &str, server: &str) -> Service {
    Configuration::new().server(server).connection("shop", url, "access = \"read-write\"").serve().await
}

/// Waits until `count` statements with `marker` run at the source.
async fn until_running(url: &str, marker: &str, count: i64) {
    let client = connect(url).await;
    let query =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1";
    eventually(&format!("{count} statements with {marker} at the server"), async || {
        client.query_one(query, &[&format!("%{marker}%")]).await.unwrap().get::<_, i64>(0) == count
    })
    .await;
}

#[actix_web::test]
async fn calls_that_run_may_end_and_new_ones_are_refused() {
    let url = fixture::postgres().await;
    let lock = connect(&url).await;
    lock.batch_execute("SELECT pg_advisory_lock(78)").await.unwrap();
    let mut service = on_postgres(&url, "shutdown_timeout = 600").await;
    let waiting = json!({"query": "SELECT pg_advisory_xact_lock(78), 'may_end_marker'"});
    let call = tokio::spawn(service.post("/api/query").json(&waiting).send());
    until_running(&url, "may_end_marker", 1).await;
    service.signal("TERM");
    service.line("stopping").await;
    let (_, body) = awaited("the service to be draining", async || {
        Some(read(service.get("/readyz").send().await.unwrap()).await).filter(|(status, _)| *status == 503)
    })
    .await;
    assert_eq!(body["status"], "draining");
    assert_eq!(service.get("/healthz").send().await.unwrap().status(), 200);
    for path in ["/api/query".to_owned(), format!("/mcp/connections/{CONNECTION}")] {
        let refused = service.post(&path).json(&json!({"query": "SELECT 1"})).send().await.unwrap();
        assert_eq!((refused.status().as_u16(), &refused.headers()["connection"]), (503, &"close".parse().unwrap()));
        assert!(refused.headers().contains_key("retry-after") && refused.headers().contains_key("x-request-id"));
    }
    let token = service.post("/oauth/token").form(&[("grant_type", "client_credentials")]).send().await.unwrap();
    let (status, told) = read(token).await;
    assert_eq!((status, &told["error"]), (503, &json!("service_unavailable")), "as RFC 6749 has errors: {told}");
    assert!(!call.is_finished());
    lock.batch_execute("SELECT pg_advisory_unlock(78)").await.unwrap();
    let (status, document) = read(call.await.unwrap().unwrap()).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    assert_eq!(service.ended().await.code(), Some(0));
}

#[actix_web::test]
async fn what_passes_the_deadline_is_cancelled_at_the_source() {
    let url = fixture::postgres().await;
    let mut service = on_postgres(&url, "shutdown_timeout = 0").await;
    let silent = json!({"query": "SELECT pg_sleep(280) AS deadline_marker"});
    let silent = tokio::spawn(service.post("/api/query").json(&silent).send());
    let flowing = json!({"query": "SELECT generate_series(1, 1000000000) AS deadline_marker"});
    let mut flowing = service.post("/api/query").json(&flowing).send().await.unwrap();
    flowing.chunk().await.unwrap();
    until_running(&url, "deadline_marker", 2).await;
    service.signal("TERM");
    let (status, answer) = read(silent.await.unwrap().unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (503, &json!(1700)), "{answer}");
    let rest = flowing.text().await.unwrap();
    assert!(rest.ends_with('}') && rest.contains("\"error\":{\"code\":1700"), "{}", &rest[rest.len() - 200..]);
    assert_eq!(service.ended().await.code(), Some(0));
    until_running(&url, "deadline_marker", 0).await;
}

#[actix_web::test]
async fn a_second_signal_ends_at_once() {
    let url = fixture::postgres().await;
    let mut service = on_postgres(&url, "shutdown_timeout = 3600").await;
    let silent = json!({"query": "SELECT pg_sleep(280) AS second_marker"});
    let call = tokio::spawn(service.post("/api/query").json(&silent).send());
    until_running(&url, "second_marker", 1).await;
    service.signal("INT");
    service.line("stopping").await;
    service.signal("TERM");
    assert_eq!(service.ended().await.code(), Some(143));
    assert!(call.await.unwrap().is_err());
}

#[actix_web::test]
async fn streams_end_as_their_protocol_says() {
    let mut service = Configuration::new().server("shutdown_timeout = 3600").sqlite("shop", "").serve().await;
    let subscription = service.listen().await;
    let get = service.get(&format!("/mcp/connections/{CONNECTION}")).header("accept", "text/event-stream");
    let get = Events::new(get.send().await.unwrap());
    service.signal("TERM");
    let rest = subscription.rest().await;
    assert_eq!((rest.len(), &rest[0]["id"], &rest[0]["result"]["resultType"]), (1, &json!(7), &json!("complete")));
    assert!(get.rest().await.is_empty());
    let log = service.rest().await;
    assert!(log.last().is_some_and(|line| line.ends_with("stopped")), "observers hear of the end last: {log:?}");
    assert_eq!(service.ended().await.code(), Some(0));
}

//! Everything that can go wrong with a database, and what its callers and everybody else see of it.
//! `docs/troubleshooting.md` tells the same to administrators.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portico_actors::event::Event;
use serde_json::{Value, json};

use crate::support::app::{PACE, TestApp, eventually, read};
use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::proxy::ChaosProxy;

const READ_WRITE: &str = "access = \"read-write\"\nconnect_timeout = 2";

/// A service with `shop` at `url`, and `beside`, which nothing happens to.
async fn started(url: &str) -> TestApp {
    Configuration::new().connection("shop", url, READ_WRITE).sqlite("beside", "").start().await
}

async fn ask(app: &TestApp, query: &str) -> (u16, Option<u64>, Value) {
    let body = json!({"query": query, "defaultCatalog": "shop", "timeout": 1});
    let response = app.post("/api/query").json(&body).send().await.unwrap();
    let delay = response.headers().get("retry-after").map(|delay| delay.to_str().unwrap().parse().unwrap());
    let (status, answer) = read(response).await;
    assert!(!answer.to_string().contains("127.0.0.1"), "a host name leaked: {answer}");
    (status, delay, answer)
}

/// The others neither fail nor wait.
async fn nobody_else_notices(app: &TestApp) {
    assert_eq!(app.rows("SELECT count(*) FROM beside.main.orders").await, json!([[3]]));
}

/// Callers are told at once, with the delay of the next attempt.
async fn is_down(app: &TestApp) {
    let listed = || app.told(|event| matches!(event, Event::ConnectionDown { .. }));
    eventually("the loss of the connection", async || listed()).await;
    let (status, delay, answer) = ask(app, "SELECT 1").await;
    assert_eq!((status, &answer["error"]["code"]), (503, &json!(1700)), "{answer}");
    assert!((1..=30).contains(&delay.unwrap()), "{delay:?}");
    nobody_else_notices(app).await;
}

async fn until_up(app: &TestApp) {
    eventually("an answer of the connection", async || match ask(app, "SELECT 1").await {
        (200, ..) => true,
        (503, Some(1..=30), _) => false,
        other => panic!("{other:?}"),
    })
    .await;
}

#[actix_web::test]
async fn a_reset_amid_a_result_ends_the_document_with_an_error() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, true).await;
    let app = started(&proxy.url(&url)).await;
    proxy.break_after(200_000);
    let (status, _, document) = ask(&app, "SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i").await;
    assert_eq!((status, &document["error"]["code"]), (200, &json!(1700)), "the document is whole, and says so");
    let rows = document["results"][0]["rows"].as_array().unwrap();
    assert!(rows.len() > 100 && rows.iter().zip(1..).all(|(row, number)| row[0] == number), "whole rows, in order");
    is_down(&app).await;
    proxy.restore();
    until_up(&app).await;
    assert_eq!(app.rows("SELECT count(*) FROM shop.public.orders").await, json!([[3]]));
}

#[actix_web::test]
async fn a_black_hole_is_found_out_by_our_own_clocks() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, true).await;
    let app = started(&proxy.url(&url)).await;
    assert_eq!(ask(&app, "SELECT 1").await.0, 200, "a session is open");
    proxy.swallow();
    // The statement's own limit and some patience; then the source is asked for a sign of life.
    let (status, _, answer) = ask(&app, "SELECT 1").await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(1500)), "{answer}");
    is_down(&app).await;
    proxy.restore();
    until_up(&app).await;
    assert_eq!(app.rows("SELECT count(*) FROM shop.public.orders").await, json!([[3]]));
}

#[actix_web::test]
async fn a_slow_network_changes_nothing_but_the_time() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, true).await;
    let app = started(&proxy.url(&url)).await;
    proxy.slow_down();
    let body = json!({"query": "SELECT i, repeat('x', 100) FROM generate_series(1, 5000) i", "defaultCatalog": "shop"});
    let (slow, ()) = tokio::join!(app.query(body), nobody_else_notices(&app));
    let rows = slow.1["results"][0]["rows"].as_array().unwrap();
    assert!(rows.len() == 5000 && rows.iter().zip(1..).all(|(row, number)| row[0] == number));
}

#[actix_web::test]
async fn a_password_that_no_longer_fits_is_a_source_that_is_away() {
    let cluster = Cluster::new();
    cluster.write("pg_hba.conf", "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n");
    cluster.obey("start");
    let admin = connect(&cluster.url("postgres", "postgres")).await;
    admin.batch_execute("CREATE USER app PASSWORD 'other'").await.unwrap();
    let app = started(&cluster.url("app:hunter2", "postgres")).await;
    is_down(&app).await;
    let causes: Vec<String> = app
        .events
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            Event::ConnectionDown { cause, .. } => Some(cause.clone()),
            _ => None,
        })
        .collect();
    assert!(causes[0].contains("password authentication failed") && !causes[0].contains("hunter2"), "{causes:?}");
    admin.batch_execute("ALTER USER app PASSWORD 'hunter2'").await.unwrap();
    until_up(&app).await;
}

#[actix_web::test]
async fn a_source_without_room_says_when_to_come_back() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    // One session for what the service itself wants to know, none for callers.
    admin.batch_execute("CREATE USER narrow CONNECTION LIMIT 1").await.unwrap();
    let app = started(&url.replace("postgres@", "narrow@")).await;
    let (status, delay, answer) = ask(&app, "SELECT 1").await;
    assert_eq!((status, delay, &answer["error"]["sqlState"]), (503, Some(1), &json!("53300")), "{answer}");
    nobody_else_notices(&app).await;
    admin.batch_execute("ALTER USER narrow CONNECTION LIMIT 5").await.unwrap();
    let (status, _, answer) = ask(&app, "SELECT 1").await;
    assert_eq!(status, 200, "{answer}");
}

#[actix_web::test]
async fn a_statement_too_large_for_the_source_fails_alone() {
    let url = fixture::postgres().await;
    let function = "CREATE FUNCTION large() RETURNS int LANGUAGE plpgsql AS
        $$BEGIN RAISE SQLSTATE '53200' USING MESSAGE = 'out of memory'; END$$";
    connect(&url).await.batch_execute(function).await.unwrap();
    let app = started(&url).await;
    let (status, _, answer) = ask(&app, "SELECT large()").await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("53200")), "{answer}");
    assert!(answer["error"]["hint"].as_str().unwrap().contains("narrow it"), "{answer}");
    let (status, ..) = ask(&app, "SELECT 1").await;
    assert_eq!(status, 200);
}

#[actix_web::test]
async fn what_a_routine_raises_has_no_hint_of_ours() {
    let url = fixture::postgres().await;
    let function = "CREATE FUNCTION raised(state text) RETURNS int LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'the author''s words'; END$$";
    connect(&url).await.batch_execute(function).await.unwrap();
    let app = started(&url).await;
    for state in ["25006", "42501", "2D000", "22012", "22P02", "P0001"] {
        let (_, _, answer) = ask(&app, &format!("SELECT raised('{state}')")).await;
        let error = &answer["error"];
        assert_eq!((&error["sqlState"], &error["message"]), (&json!(state), &json!("the author's words")), "{answer}");
        assert_eq!(error["hint"], json!(null), "{answer}");
    }
    // What the server itself refuses within a routine keeps its hint.
    let (_, _, answer) = ask(&app, "SELECT 1 / 0").await;
    assert!(answer["error"]["hint"].as_str().unwrap().contains("NULLIF"), "{answer}");
}

/// One caller: counts up, and reads what there is.
async fn work(app: &TestApp, caller: usize, over: &AtomicBool) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut done, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    let mut pace = tokio::time::interval(PACE);
    for number in 0.. {
        pace.tick().await;
        if over.load(Ordering::SeqCst) {
            break;
        }
        let key = number * 10 + caller;
        let (status, _, answer) = ask(app, &format!("INSERT INTO tally VALUES ({key}) RETURNING id")).await;
        match status {
            200 if answer.get("error").is_none() => {
                assert_eq!(answer["results"][0]["rows"], json!([[key]]), "another's answer");
                done.insert(key);
            }
            // Whether COMMIT came through before the end is not known to anybody.
            200 | 503 => drop(unknown.insert(key)),
            other => panic!("{other}: {answer}"),
        }
        let (status, _, answer) = ask(app, &format!("SELECT {key}, i FROM generate_series(1, 500) i")).await;
        assert!(status == 200 || status == 503, "{status}: {answer}");
        let rows = answer["results"][0]["rows"].as_array().cloned().unwrap_or_default();
        assert!(rows.iter().zip(1..).all(|(row, i)| *row == json!([key, i])), "wrong, mixed or doubled rows");
        assert!(
            status == 503 || answer.get("error").is_some() || rows.len() == 500,
            "a result that is cut off says so"
        );
        nobody_else_notices(app).await;
    }
    (done, unknown)
}

#[actix_web::test]
async fn a_restart_under_load_loses_and_doubles_nothing() {
    let cluster = Arc::new(Cluster::new());
    cluster.obey("start");
    let url = cluster.url("postgres", "postgres");
    connect(&url).await.batch_execute("CREATE TABLE tally (id int)").await.unwrap();
    let app = started(&url).await;
    let over = AtomicBool::new(false);
    let restarts = async {
        for _ in 0..3 {
            let cluster = Arc::clone(&cluster);
            tokio::task::spawn_blocking(move || cluster.obey("restart")).await.unwrap();
            until_up(&app).await;
        }
        over.store(true, Ordering::SeqCst);
    };
    let callers = futures_util::future::join_all((0..6).map(|caller| work(&app, caller, &over)));
    let (callers, ()) = tokio::join!(callers, restarts);
    let rows = connect(&url).await.query("SELECT id FROM tally ORDER BY id", &[]).await.unwrap();
    let kept: Vec<usize> = rows.iter().map(|row| usize::try_from(row.get::<_, i32>(0)).unwrap()).collect();
    let once: BTreeSet<usize> = kept.iter().copied().collect();
    assert_eq!(kept.len(), once.len(), "nothing was done twice");
    let done: BTreeSet<usize> = callers.iter().flat_map(|(done, _)| done).copied().collect();
    let unknown: BTreeSet<usize> = callers.iter().flat_map(|(_, unknown)| unknown).copied().collect();
    assert!(done.is_subset(&once), "what was said to be done is done");
    assert!(once.iter().all(|key| done.contains(key) || unknown.contains(key)), "and nothing else");
}

#[actix_web::test]
async fn a_store_that_is_away_keeps_nobody_from_working() {
    let url = fixture::postgres().await;
    let app = started(&url).await;
    let token = app.token().await;
    let (here, away) = (app.config.with_file_name("portico.db"), app.config.with_file_name("away.db"));
    std::fs::rename(&here, &away).unwrap();
    let (status, ..) = ask(&app, "SELECT 1").await;
    assert_eq!(status, 200, "who is known is known from memory");
    let request = app.http.post(format!("{}/api/query", app.url)).bearer_auth(&token);
    let (status, answer) = read(request.json(&json!({"query": "SELECT 1"})).send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    std::fs::rename(&away, &here).unwrap();
    app.token().await;
}

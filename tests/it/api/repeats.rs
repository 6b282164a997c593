//! `Idempotency-Key`: what runs once, what may run again, and who may have whose answer.

use portico_actors::auth::records::NewUser;
use portico_actors::principal::{Rights, Scope};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::support::app::{OTHER, TestApp, awaited, eventually, read};
use crate::support::configuration::{Configuration, connection, shop};
use crate::support::fixture;
use crate::support::postgres::connect;

const ADD: &str = "UPDATE orders SET total = total + 1 WHERE id = 2 RETURNING total";

fn keyed(app: &TestApp, key: &str, query: &str) -> RequestBuilder {
    app.post("/api/query").header("idempotency-key", key).json(&json!({"query": query}))
}

async fn send(request: RequestBuilder) -> (u16, bool, Value) {
    let response: Response = request.send().await.unwrap();
    let replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
    let (status, body) = read(response).await;
    (status, replayed, body)
}

async fn a_repeated_request_runs_once(app: &TestApp) {
    let (status, replayed, first) = send(keyed(app, "one", ADD)).await;
    assert_eq!((status, replayed, first["results"][0]["rows"][0][0].as_f64()), (200, false, Some(1.1)), "{first}");
    let (status, replayed, again) = send(keyed(app, "one", ADD)).await;
    assert_eq!((status, replayed, &again), (200, true, &first));
    assert_eq!(app.rows("SELECT count(*) FROM orders WHERE total = 1.1").await, json!([[1]]));
    // Another key is another request; another request under the same key is none.
    assert_eq!(send(keyed(app, "two", ADD)).await.2["results"][0]["rows"][0][0].as_f64(), Some(2.1));
    let (status, _, answer) = send(keyed(app, "one", "DELETE FROM orders")).await;
    assert_eq!((status, &answer["error"]["code"]), (422, &json!(1000)), "{answer}");
    let (status, _, _) = send(keyed(app, "one", ADD).header("accept", "application/json;q=0.5")).await;
    assert_eq!(status, 422, "the answer's form is a part of the request");
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
    // A reader's equal key does not open the writer's answer.
    let reader = app.http.post(format!("{}/api/query", app.url)).basic_auth(&app.reader.name, Some(&app.reader.secret));
    let (status, replayed, _) = send(reader.header("idempotency-key", "one").json(&json!({"query": ADD}))).await;
    assert_eq!((status, replayed), (403, false));
    let stranger = app.http.post(format!("{}/api/query", app.url)).header("idempotency-key", "one");
    assert_eq!(send(stranger.json(&json!({"query": ADD}))).await.0, 401);
}

async fn what_failed_may_be_tried_again(app: &TestApp) {
    let insert = "INSERT INTO customers VALUES (1, 'again', NULL)";
    for _ in 0..2 {
        let (status, replayed, _) = send(keyed(app, "three", insert)).await;
        assert_eq!((status, replayed), (409, false));
    }
    app.rows("DELETE FROM orders").await;
    app.rows("DELETE FROM customers WHERE id = 1").await;
    assert_eq!(send(keyed(app, "three", insert)).await.0, 200);
    assert!(send(keyed(app, "three", insert)).await.1);
    for key in ["", "é", &"k".repeat(256)] {
        let (status, _, answer) = send(keyed(app, key, insert)).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{key:?}");
    }
}

#[actix_web::test]
async fn on_sqlite() {
    let app = fixture::on_sqlite().await;
    a_repeated_request_runs_once(&app).await;
    what_failed_may_be_tried_again(&app).await;
}

#[actix_web::test]
async fn on_postgres() {
    let app = fixture::on_postgres().await;
    a_repeated_request_runs_once(&app).await;
    what_failed_may_be_tried_again(&app).await;
}

#[actix_web::test]
async fn a_failure_behind_the_first_row_is_not_kept() {
    let app = fixture::on_sqlite().await;
    let failing = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
        SELECT CASE WHEN i = 2000 THEN abs(-9223372036854775808) ELSE i END FROM n";
    for accept in ["application/json", "application/x-ndjson"] {
        for _ in 0..2 {
            let response = keyed(&app, accept, failing).header("accept", accept).send().await.unwrap();
            assert_eq!((response.status().as_u16(), response.headers().get("idempotency-replayed")), (200, None));
            assert!(response.text().await.unwrap().contains("\"error\""));
        }
    }
}

#[actix_web::test]
async fn an_answer_that_is_too_large_is_not_kept_and_says_so() {
    let app = fixture::on_sqlite().await;
    let large = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT i FROM n";
    let (status, _, document) = send(keyed(&app, "large", large)).await;
    assert_eq!((status, document["results"][0]["rows"].as_array().unwrap().len()), (200, 300_000));
    let (status, _, answer) = send(keyed(&app, "large", large)).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!(1000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("was not kept"), "{answer}");
}

#[actix_web::test]
async fn a_client_that_left_finds_its_answer() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let other = connect(&url).await;
    other.batch_execute("BEGIN; LOCK TABLE orders").await.unwrap();
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass";
    {
        let first = keyed(&app, "left", ADD).send();
        tokio::pin!(first);
        // The client stays until its statement waits for the lock, then leaves.
        let waits = async || other.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0;
        tokio::select! {
            _ = &mut first => panic!("the table is locked"),
            () = eventually("the statement to wait for the lock", waits) => {}
        }
        let (status, _, answer) = send(keyed(&app, "left", ADD)).await;
        assert_eq!((status, &answer["error"]["code"]), (409, &json!(1000)), "{answer}");
    }
    other.batch_execute("COMMIT").await.unwrap();
    let (status, replayed, document) = awaited("the end of the first run", async || {
        Some(send(keyed(&app, "left", ADD)).await).filter(|(status, ..)| *status != 409)
    })
    .await;
    assert_eq!((status, replayed), (200, true), "{document}");
    assert_eq!(document["results"][0]["rows"][0][0].as_f64(), Some(1.1));
    assert_eq!(app.rows("SELECT count(*) FROM orders WHERE total = 1.1").await, json!([[1]]));
}

/// Procedures that commit by themselves, and constraints that are checked with the commit.
const COMMITTING: &str = "
    CREATE TABLE log (entry text);
    CREATE TABLE late (id integer PRIMARY KEY, parent integer REFERENCES late DEFERRABLE INITIALLY DEFERRED);
    CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO log VALUES ('called'); COMMIT; RAISE EXCEPTION 'boom'; END $$;";

#[actix_web::test]
async fn what_failed_and_may_stand_is_not_done_again() {
    let url = fixture::postgres().await;
    let other = connect(&url).await;
    other.batch_execute(COMMITTING).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let entries = async |entry: &str| {
        other.query_one("SELECT count(*) FROM log WHERE entry = $1", &[&entry]).await.unwrap().get::<_, i64>(0)
    };
    let refused = |(status, replayed, answer): (u16, bool, Value)| {
        assert_eq!((status, replayed, &answer["error"]["code"]), (409, false, &json!(1000)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("may stand"), "{answer}");
    };
    let block = "DO $$ BEGIN INSERT INTO log VALUES ('called'); COMMIT; RAISE EXCEPTION 'boom'; END $$";
    let failing = [
        ("/api/exec", json!({"procedure": "commits"})),
        ("/api/query", json!({"query": "CALL commits()"})),
        ("/api/query", json!({"query": block})),
    ];
    for (number, (path, body)) in (1..).zip(&failing) {
        let ask = || send(app.post(path).header("idempotency-key", format!("call {number}")).json(body));
        let (status, _, answer) = ask().await;
        assert_eq!((status, entries("called").await), (400, number), "{body}: {answer}");
        refused(ask().await);
        assert_eq!(entries("called").await, number, "{body}: it was done twice");
    }
    // What the source has rolled back may be tried again: also where its commit was sent behind it.
    let slow = json!({"query": "INSERT INTO log SELECT 'slow' FROM pg_sleep(30)", "timeout": 1});
    let late = json!({"query": "INSERT INTO late VALUES (1, 99)"});
    for (key, body, code) in [("slow", slow, 1500), ("late", late, 1401)] {
        for _ in 0..2 {
            let (_, _, answer) = send(app.post("/api/query").header("idempotency-key", key).json(&body)).await;
            assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        }
    }
    // A connection that is lost meanwhile tells nothing of the commit.
    let lost = "INSERT INTO log SELECT 'lost' FROM pg_sleep(60)";
    let lose = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
        WHERE state = 'active' AND query LIKE 'INSERT INTO log SELECT ''lost''%'";
    let ends =
        eventually("the statement to run", async || other.query_one(lose, &[]).await.unwrap().get::<_, i64>(0) > 0);
    let ((status, _, answer), ()) = tokio::join!(send(keyed(&app, "lost", lost)), ends);
    assert_eq!(status, 503, "{answer}");
    refused(send(keyed(&app, "lost", lost)).await);
}

/// What a connection is configured with besides its address, before and after, and the statement that is sent
/// under one key.
const CHANGES: [(&str, &str, &str); 3] = [
    ("access = \"read-write\"\n", "access = \"read-only\"\n", ADD),
    ("access = \"read-write\"\n", "access = \"read-write\"\nqueue_timeout = 9\n", ADD),
    ("", "[connections.hidden]\ntables = [\"orders\"]\n", "SELECT total FROM orders"),
];

#[actix_web::test]
async fn an_answer_is_not_for_whoever_would_get_another_one_today() {
    let service = Configuration::new().sqlite("shop", CHANGES[0].0).serve().await;
    let ask = |key: String, query: &str| {
        send(service.post("/api/query").header("idempotency-key", key).json(&json!({"query": query})))
    };
    for (number, (before, after, query)) in CHANGES.into_iter().enumerate() {
        let configure = async |more: &str| {
            service.configure("", &shop(more));
            let (done, said) = service.reload().await;
            assert!(done, "{said}");
        };
        configure(before).await;
        let key = format!("change {number}");
        let (status, replayed, first) = ask(key.clone(), query).await;
        assert_eq!((status, replayed), (200, false), "{query}: {first}");
        assert!(ask(key.clone(), query).await.1, "{query}");
        configure(after).await;
        let total = async || {
            let query = json!({"query": "SELECT sum(total) FROM orders"});
            read(service.post("/api/query").json(&query).send().await.unwrap()).await.1["results"].clone()
        };
        let (total_before, again) = (total().await, ask(key.clone(), query).await);
        assert_eq!((again.0, again.1), (409, false), "{query} under {after}: {}", again.2);
        assert_eq!(total().await, total_before, "{query} under {after}: it was done twice");
        configure(before).await;
        assert_eq!(ask(key, query).await, (200, true, first), "{query}: it is as it was");
    }
    // How much of an answer is told at most has nothing to do with the one that was given.
    for (more, replayed) in [("", false), ("max_rows = 7\n", true)] {
        service.configure("", &shop(&format!("access = \"read-write\"\n{more}")));
        assert!(service.reload().await.0);
        let answer = ask("bounds".to_owned(), ADD).await;
        assert_eq!((answer.0, answer.1), (200, replayed), "{}", answer.2);
    }
    // A connection that is gone has no answers.
    let (_, _, first) = ask("gone".to_owned(), "SELECT 1").await;
    assert!(ask("gone".to_owned(), "SELECT 1").await.1, "{first}");
    service.configure("", &connection(OTHER, "archive", "sqlite:shop.db", ""));
    assert!(service.reload().await.0);
    assert!(!ask("gone".to_owned(), "SELECT 1").await.1);
}

#[actix_web::test]
async fn an_answer_is_not_for_a_caller_who_may_do_less_or_asks_too_often() {
    let service = Configuration::new().sqlite("shop", "access = \"read-write\"");
    let app = service.with("[limits]\nrequests_per_principal = 4").start().await;
    let (status, _, first) = send(keyed(&app, "one", ADD)).await;
    assert_eq!(status, 200, "{first}");
    assert!(send(keyed(&app, "one", ADD)).await.1);
    let now_may = async |scope| {
        let email = app.writer.name.clone();
        app.store().change_user(NewUser { email, rights: Rights::all(scope) }).unwrap();
        app.look().await;
    };
    now_may(Scope::Read).await;
    let (status, replayed, answer) = send(keyed(&app, "one", ADD)).await;
    assert_eq!((status, replayed), (409, false), "{answer}");
    now_may(Scope::Write).await;
    assert_eq!(send(keyed(&app, "one", ADD)).await, (200, true, first.clone()));
    // One is earned back in fifteen seconds.
    eventually("one request too many", async || {
        let (status, replayed, answer) = send(keyed(&app, "one", ADD)).await;
        assert!((status, replayed) == (200, true) || (status, replayed) == (429, false), "{status}: {answer}");
        !replayed
    })
    .await;
}

//! Streams, and statements that do not reach their own end: timeouts, callers who leave, servers
//! that go away.

use std::time::Duration;

use futures_util::StreamExt;
use portico_actors::error::Kind;
use portico_actors::reply::Part;
use portico_actors::source::Access;
use tokio_postgres::Client;

use super::subject;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::results::{Subject, plan, read};

/// Waits until no backend of this database runs anything but the question itself.
async fn until_idle(admin: &Client) {
    let question = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()";
    for _ in 0..500 {
        let busy: i64 = admin.query_one(question, &[]).await.unwrap().get(0);
        if busy == 0 {
            return;
        }
        admin.batch_execute("SELECT pg_sleep(0.01)").await.unwrap();
    }
    panic!("something still runs at the source");
}

/// Waits until somebody sleeps at the source.
async fn until_asleep(admin: &Client) {
    let question = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event = 'PgSleep' AND pid <> pg_backend_pid()";
    for _ in 0..500 {
        let asleep: i64 = admin.query_one(question, &[]).await.unwrap().get(0);
        if asleep > 0 {
            return;
        }
        admin.batch_execute("SELECT 1 FROM generate_series(1, 10000)").await.unwrap();
    }
    panic!("the statement never began");
}

#[tokio::test]
async fn many_rows_come_in_batches() {
    let (subject, _admin) = subject("").await;
    let sql = "SELECT g, repeat('x', 50) FROM generate_series(1, 100000) g";
    let mut results = subject.source.run(plan(sql, Access::ReadOnly)).await.unwrap();
    let (mut rows, mut largest) = (0, 0);
    while let Some(part) = results.next().await {
        if let Part::Rows(batch) = part.unwrap() {
            rows += batch.rows();
            largest = largest.max(batch.rows());
        }
    }
    assert_eq!(rows, 100_000);
    assert!(largest <= 256, "{largest}");
}

#[tokio::test]
async fn unknown_types_do_not_stop_a_large_answer() {
    let setup = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (id int4, mood mood);
        INSERT INTO person SELECT g, 'sad' FROM generate_series(1, 200000) g";
    let (subject, _admin) = subject(setup).await;
    // Known from the ping.
    subject.source.ping().await.unwrap();
    assert_eq!(subject.read("SELECT id, mood FROM person").await.unwrap().rows.len(), 200_000);
    // Known because the statement that made it was ours.
    subject.write("CREATE TYPE size AS ENUM ('s', 'm')").await.unwrap();
    let sized = subject.read("SELECT 's'::size, repeat('x', 100) FROM person").await.unwrap();
    assert_eq!(sized.rows.len(), 200_000);
    // A row type, which is never told beforehand.
    let whole = subject.read("SELECT person, repeat('x', 100) FROM person").await.unwrap();
    assert_eq!((whole.rows.len(), whole.rows[0][0].as_str()), (200_000, "\"(1,sad)\""));
}

#[tokio::test]
async fn a_timeout_cancels_at_the_source() {
    let (subject, admin) = subject("").await;
    for (sql, access) in [
        ("SELECT pg_sleep(60)", Access::ReadOnly),
        ("SELECT pg_sleep(60)", Access::ReadWrite),
        ("DO $$ BEGIN PERFORM pg_sleep(60); END $$", Access::ReadWrite),
    ] {
        let mut plan = plan(sql, access);
        plan.limits.timeout = Duration::from_millis(200);
        let failure = subject.source.run(plan).await.unwrap_err();
        assert_eq!((failure.kind, failure.get_sqlstate()), (Kind::TimedOut, Some("57014")), "{sql}");
    }
    until_idle(&admin).await;
}

#[tokio::test]
async fn whoever_leaves_takes_the_statement_along() {
    let url = TestPostgres::shared().database("leave").await;
    let admin = connect(&url).await;
    let subject = Subject::open(&url, 1);
    let process = subject.read("SELECT pg_backend_pid()").await.unwrap().rows;

    // Dropped while silent.
    let run = subject.source.run(plan("SELECT pg_sleep(60)", Access::ReadOnly));
    tokio::select! {
        _ = run => panic!("it sleeps"),
        () = until_asleep(&admin) => {}
    }
    until_idle(&admin).await;
    assert_eq!(subject.read("SELECT pg_backend_pid()").await.unwrap().rows, process, "the session is kept");

    // Dropped in the middle of its rows.
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";
    let mut results = subject.source.run(plan(sql, Access::ReadOnly)).await.unwrap();
    assert!(matches!(results.next().await, Some(Ok(Part::Columns(_)))));
    assert!(matches!(results.next().await, Some(Ok(Part::Rows(_)))));
    drop(results);
    until_idle(&admin).await;
    assert_eq!(subject.read("SELECT pg_backend_pid()").await.unwrap().rows, process, "the session is kept");

    // Told that nobody waits any more.
    let silent = plan("SELECT pg_sleep(60)", Access::ReadOnly);
    let abandoned = silent.abandoned.clone();
    let (failure, ()) = tokio::join!(subject.source.run(silent), async {
        until_asleep(&admin).await;
        abandoned.cancel();
    });
    assert_eq!(failure.unwrap_err().kind, Kind::Abandoned);
    until_idle(&admin).await;
}

#[tokio::test]
async fn an_unfinished_writer_is_undone() {
    let (subject, admin) = subject("CREATE TABLE item (id int4, note text)").await;
    let sql = "INSERT INTO item SELECT g, repeat('x', 1000) FROM generate_series(1, 100000) g RETURNING id, note";
    let mut results = subject.source.run(plan(sql, Access::ReadWrite)).await.unwrap();
    assert!(matches!(results.next().await, Some(Ok(Part::Columns(_)))));
    drop(results);
    until_idle(&admin).await;
    let left: i64 = admin.query_one("SELECT count(*) FROM item", &[]).await.unwrap().get(0);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_full_pool_is_busy() {
    let url = TestPostgres::shared().database("busy").await;
    let subject = Subject::open(&url, 1);
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";
    let held = subject.source.run(plan(sql, Access::ReadOnly)).await.unwrap();
    let mut waiting = plan("SELECT 1", Access::ReadOnly);
    waiting.limits.timeout = Duration::from_millis(50);
    let failure = subject.source.run(waiting).await.unwrap_err();
    assert_eq!((failure.kind, failure.get_retry_after()), (Kind::Busy, Some(Duration::from_secs(1))));
    drop(held);
    assert_eq!(subject.read("SELECT 1").await.unwrap().rows, [["1"]]);
}

#[tokio::test]
async fn a_reader_outlives_its_dead_session() {
    let (subject, admin) = subject("CREATE TABLE item (id int4)").await;
    subject.read("SELECT 1").await.unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    admin.batch_execute(kill).await.unwrap();
    assert_eq!(subject.read("SELECT 1").await.unwrap().rows, [["1"]]);

    // In the middle of its rows nothing can be repeated.
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";
    let results = subject.source.run(plan(sql, Access::ReadOnly)).await.unwrap();
    admin.batch_execute(kill).await.unwrap();
    let failure = read(results).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Unavailable);
    assert!(!failure.message.contains("127.0.0.1"), "{}", failure.message);
}

#[tokio::test]
async fn a_source_that_is_away_is_unavailable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let subject = Subject::open(&format!("postgres://someone:secret@127.0.0.1:{port}/nowhere"), 1);
    for failure in [subject.source.ping().await.unwrap_err(), subject.read("SELECT 1").await.unwrap_err()] {
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (Kind::Unavailable, "nothing listens at the database's address")
        );
        assert!(failure.cause().is_some_and(|cause| !cause.contains("secret")));
    }
}

#[tokio::test]
async fn closing_ends_what_runs() {
    let url = TestPostgres::shared().database("close").await;
    let admin = connect(&url).await;
    let subject = Subject::open(&url, 2);
    let (failure, ()) = tokio::join!(subject.read("SELECT pg_sleep(60)"), async {
        until_asleep(&admin).await;
        subject.source.close().await;
    });
    assert_eq!(failure.unwrap_err().kind, Kind::Unavailable);
    until_idle(&admin).await;
    assert_eq!(subject.read("SELECT 1").await.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn a_socket_in_the_file_system_serves_as_well() {
    let server = TestPostgres::shared();
    let url = server.socket_url(&server.database("socket").await);
    assert_eq!(Subject::open(&url, 1).read("SELECT inet_server_addr() IS NULL").await.unwrap().rows, [["true"]]);
}

#[tokio::test]
async fn tls_is_used_where_it_is_offered() {
    let url = TestPostgres::shared().database("tls").await;
    let admin = connect(&url).await;
    let offered: String = admin.query_one("SELECT current_setting('ssl')", &[]).await.unwrap().get(0);
    let question = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let used = Subject::open(&url, 1).read(question).await.unwrap().rows;
    assert_eq!(used, [[(offered == "on").to_string()]]);
    let plain = Subject::open(&format!("{url}?sslmode=disable"), 1);
    assert_eq!(plain.read(question).await.unwrap().rows, [["false"]]);
    // Nobody trusts the certificate, and without one there is no TLS at all.
    let strict = Subject::open(&format!("{url}?sslmode=verify-full"), 1);
    assert_eq!(strict.read(question).await.unwrap_err().kind, Kind::Unavailable);
}

//! Timeouts, cancellation and back-pressure.

use std::time::Duration;

use futures_util::StreamExt as _;

use crate::sqlite::source::Sqlite;
use crate::sqlite::tests::{Options, fixture, plan, whole};
use crate::{Access, Source as _};
use portico_core::error::Kind;
use portico_core::reply::Part;

/// Runs for hours without a row.
const SILENT: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";
/// Returns rows without end.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
const SILENT_WRITE: &str =
    "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

fn one_seat() -> Options {
    Options { pool: 1, ..Options::default() }
}

#[tokio::test]
async fn a_silent_statement_runs_into_its_timeout() {
    let fixture = fixture("CREATE TABLE t (a)", one_seat());
    for (text, access) in [(SILENT, Access::ReadOnly), (SILENT_WRITE, Access::ReadWrite)] {
        let mut plan = plan(text, access);
        plan.limits.timeout = Duration::from_millis(100);
        let error = fixture.source.run(plan).await.unwrap_err();
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::TimedOut, Some("57014")));
    }
    // The only sessions are free again, and nothing was committed.
    assert_eq!(fixture.value("SELECT count(*) FROM t").await, "0");
    fixture.write("INSERT INTO t VALUES (1)").await.unwrap();
}

#[tokio::test]
async fn an_abandoned_statement_stops_at_the_source() {
    let fixture = fixture("CREATE TABLE t (a)", one_seat());
    for (text, access) in [(SILENT, Access::ReadOnly), (SILENT_WRITE, Access::ReadWrite)] {
        let plan = plan(text, access);
        let abandoned = plan.abandoned.clone();
        let running = tokio::spawn(fixture.source.run(plan));
        tokio::task::yield_now().await;
        abandoned.cancel();
        assert_eq!(running.await.unwrap().unwrap_err().kind, Kind::Abandoned);
        assert_eq!(fixture.value("SELECT count(*) FROM t").await, "0");
    }
    fixture.write("INSERT INTO t VALUES (1)").await.unwrap();
}

#[tokio::test]
async fn a_dropped_future_or_stream_frees_its_session() {
    let fixture = fixture("CREATE TABLE t (a)", one_seat());
    let running = tokio::spawn(fixture.source.run(plan(SILENT, Access::ReadOnly)));
    tokio::task::yield_now().await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let mut results = fixture.source.run(plan(ENDLESS, Access::ReadOnly)).await.unwrap();
    for _ in 0..5 {
        results.next().await.unwrap().unwrap();
    }
    drop(results);
    // With one seat, this waits until the others have really stopped.
    assert_eq!(fixture.value("SELECT 1").await, "1");
}

#[tokio::test]
async fn a_slow_reader_cannot_hold_a_session_beyond_its_timeout() {
    let fixture = fixture("", one_seat());
    let mut plan = plan(ENDLESS, Access::ReadOnly);
    plan.limits.timeout = Duration::from_millis(200);
    let mut results = fixture.source.run(plan).await.unwrap();
    assert!(matches!(results.next().await.unwrap().unwrap(), Part::Columns(_)));
    // The reader stops; another call gets the seat after the timeout.
    assert_eq!(fixture.value("SELECT 1").await, "1");
    let mut rows = 0;
    let error = loop {
        match results.next().await.unwrap() {
            Ok(Part::Rows(batch)) => rows += batch.rows(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, Kind::TimedOut);
    assert!(rows > 0 && rows <= 4 * 256, "{rows}");
    assert!(results.next().await.is_none());
}

#[tokio::test]
async fn an_interrupt_never_hits_the_next_statement() {
    let fixture = fixture("CREATE TABLE t (a); INSERT INTO t VALUES (7)", one_seat());
    for round in 0..300_u32 {
        let plan = plan(if round % 2 == 0 { SILENT } else { ENDLESS }, Access::ReadOnly);
        let abandoned = plan.abandoned.clone();
        let running = tokio::spawn(fixture.source.run(plan));
        for _ in 0..round % 7 {
            tokio::task::yield_now().await;
        }
        // A finished task keeps its answer as long as its handle lives.
        if round % 3 == 0 {
            running.abort();
            drop(running);
        } else {
            abandoned.cancel();
        }
        assert_eq!(fixture.value("SELECT a FROM t").await, "7", "round {round}");
    }
}

#[tokio::test]
async fn whoever_waits_too_long_for_a_session_is_told_to_come_back() {
    let fixture = fixture("", one_seat());
    let holding = fixture.source.run(plan(ENDLESS, Access::ReadOnly)).await.unwrap();
    let mut late = plan("SELECT 1", Access::ReadOnly);
    late.limits.timeout = Duration::from_millis(50);
    let error = fixture.source.run(late).await.unwrap_err();
    assert_eq!((error.kind, error.get_retry_after()), (Kind::Busy, Some(Duration::from_secs(1))));
    let gone = plan("SELECT 1", Access::ReadOnly);
    gone.abandoned.cancel();
    assert_eq!(fixture.source.run(gone).await.unwrap_err().kind, Kind::Abandoned);
    drop(holding);
    assert_eq!(fixture.value("SELECT 1").await, "1");
}

#[tokio::test]
async fn a_million_rows_read_slowly_are_never_in_memory_together() {
    let fixture = fixture("", one_seat());
    let text =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i, i * 2 FROM n";
    let mut results = fixture.source.run(plan(text, Access::ReadOnly)).await.unwrap();
    let (mut rows, mut batches, mut last) = (0_u64, 0_u64, 0_i64);
    while let Some(part) = results.next().await {
        if let Part::Rows(batch) = part.unwrap() {
            assert!(batch.rows() <= 256);
            if batches == 0 {
                assert_eq!(batch.rows(), 1, "the first row waits for nobody");
            }
            batches += 1;
            rows += batch.rows() as u64;
            let portico_core::reply::Cell::Integer(number) = batch.cell(batch.rows() - 1, 0).unwrap() else { panic!() };
            assert_eq!(number, last + i64::try_from(batch.rows()).unwrap(), "rows in order, none lost");
            last = number;
            if batches.is_multiple_of(100) {
                tokio::task::yield_now().await;
            }
        }
    }
    assert_eq!((rows, last), (1_000_000, 1_000_000));
}

#[tokio::test]
async fn an_unread_answer_stands_still() {
    // The thread can be at most three parts and one batch ahead of a reader that stopped.
    let fixture = fixture("", one_seat());
    let mut results = fixture.source.run(plan(ENDLESS, Access::ReadOnly)).await.unwrap();
    let mut taken = 0;
    while taken < 10_000 {
        if let Part::Rows(batch) = results.next().await.unwrap().unwrap() {
            taken += batch.rows();
        }
    }
    let mut waiting = plan("SELECT 1", Access::ReadOnly);
    waiting.limits.timeout = Duration::from_millis(300);
    // The seat stays taken although the answer is not read: the thread waits with its rows.
    assert_eq!(fixture.source.run(waiting).await.unwrap_err().kind, Kind::Busy);
    fixture.source.close().await;
    let mut left = 0;
    let error = loop {
        match results.next().await.unwrap() {
            Ok(Part::Rows(batch)) => left += batch.rows(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, Kind::Unavailable);
    assert!(left <= 3 * 256, "{left} rows were waiting");
}

#[tokio::test]
async fn heavy_rows_do_not_pile_up() {
    let fixture = fixture("", one_seat());
    let text =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT zeroblob(8388608) FROM n";
    let all = whole(fixture.source.run(plan(text, Access::ReadOnly)).await.unwrap()).await.unwrap();
    assert_eq!(all.rows.len(), 40);
    let mut unread = plan(text, Access::ReadOnly);
    unread.limits.timeout = Duration::from_millis(300);
    let mut results = fixture.source.run(unread).await.unwrap();
    // Gets the seat when the time of the other is over.
    assert_eq!(fixture.value("SELECT 1").await, "1");
    let mut waiting = 0;
    while let Some(Ok(part)) = results.next().await {
        waiting += usize::from(matches!(part, Part::Rows(_)));
    }
    assert!(waiting <= 1, "{waiting} batches of 8 MiB were waiting");
}

#[tokio::test]
async fn a_dropped_source_ends_its_threads_and_lets_answers_finish() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let settings = crate::Settings {
        name: "shop".into(),
        access: Access::ReadWrite,
        pool: 2,
        connect_timeout: Duration::from_secs(10),
        declared: [].into(),
        has_roles: false,
        exposure: std::sync::Arc::default(),
        budget: portico_core::budget::Budget::default(),
    };
    let source = Sqlite::open(settings, path).unwrap();
    let text = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n";
    let answer = source.run(plan(text, Access::ReadOnly)).await.unwrap();
    whole(source.run(plan("SELECT 1", Access::ReadOnly)).await.unwrap()).await.unwrap();
    let threads = source.inner.readers.threads.clone();
    assert_eq!(threads.len(), 2);
    drop(source);
    assert_eq!(whole(answer).await.unwrap().rows.len(), 5000);
    // Resolves only when no thread is left.
    threads.wait().await;
}

#[tokio::test]
async fn a_busy_source_still_answers_a_ping() {
    let mut fixture = fixture("", one_seat());
    fixture.source = crate::sqlite::tests::source(
        &fixture.path,
        Options { connect_timeout: Duration::from_millis(50), ..one_seat() },
    );
    let holding = fixture.source.run(plan(ENDLESS, Access::ReadOnly)).await.unwrap();
    fixture.source.ping().await.unwrap();
    drop(holding);
}

#[tokio::test]
async fn closing_stops_what_runs_and_ends_the_threads() {
    let fixture = fixture("CREATE TABLE t (a)", Options::default());
    let reading = tokio::spawn(fixture.source.run(plan(SILENT, Access::ReadOnly)));
    let writing = tokio::spawn(fixture.source.run(plan(SILENT_WRITE, Access::ReadWrite)));
    tokio::task::yield_now().await;
    fixture.source.close().await;
    assert_eq!(reading.await.unwrap().unwrap_err().kind, Kind::Unavailable);
    assert_eq!(writing.await.unwrap().unwrap_err().kind, Kind::Unavailable);
    assert_eq!(fixture.source.run(plan("SELECT 1", Access::ReadOnly)).await.unwrap_err().kind, Kind::Unavailable);
    // No session holds the file any more: it can be locked exclusively.
    let other = rusqlite::Connection::open(&fixture.path).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT count(*) FROM t; COMMIT").unwrap();
}

//! Tests of the limits on one statement's memory and time.

use std::time::{Duration, Instant};

use crate::Access;
use crate::sqlite::tests::{Options, fixture, plan};
use portico_core::error::Kind;

#[tokio::test]
async fn what_is_too_large_for_a_row_is_refused_and_what_is_stored_is_read() {
    let fixture = fixture("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(67108864))", Options::default());
    for text in [
        "SELECT zeroblob(150000000)",
        "SELECT printf('%.*c', 150000000, 'a')",
        "SELECT hex(zeroblob(100000000))",
        "SELECT zeroblob(40000000), zeroblob(40000000)",
        "SELECT a, a FROM t",
    ] {
        let error = fixture.error(text, Access::ReadOnly).await;
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::TooLarge, Some("54000")), "{text}: {error:?}");
    }
    let found = fixture.read("SELECT a FROM t").await.unwrap();
    let portico_core::reply::Cell::Bytes(octets) = &found.rows[0][0] else { panic!() };
    assert_eq!(octets.len(), 64 << 20);
}

#[tokio::test]
async fn what_a_query_keeps_in_temporary_files_is_bounded() {
    let fixture = fixture("CREATE TABLE t (a)", Options { pool: 1, ..Options::default() });
    let rows = "WITH RECURSIVE n (i, wide) AS (SELECT 1, hex(randomblob(500)) UNION ALL SELECT i + 1, hex(randomblob(500)) \
        FROM n WHERE i < 1000000)";
    for query in [
        "SELECT count(*) FROM (SELECT DISTINCT wide FROM n)",
        "SELECT wide, count(*) FROM n GROUP BY wide",
        "SELECT wide FROM n ORDER BY wide",
        "SELECT count(*) OVER (PARTITION BY wide) FROM n",
        "SELECT wide FROM n UNION SELECT wide FROM n",
        "SELECT count(DISTINCT wide) FROM n",
        "SELECT zeroblob(5000000) FROM n ORDER BY random()",
    ] {
        let error = fixture.error(&format!("{rows} {query}"), Access::ReadOnly).await;
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::TooLarge, Some("53400")), "{query}: {error:?}");
    }
    // The count is a statement's own, and its session serves on.
    let few = rows.replace("1000000", "5000");
    for _ in 0..8 {
        assert_eq!(fixture.value(&format!("{few} SELECT count(*) FROM (SELECT DISTINCT wide FROM n)")).await, "5000");
    }
}

#[tokio::test]
async fn twelve_calls_that_take_minutes_stop_nobody() {
    let fixture = fixture("", Options { pool: 2, ..Options::default() });
    let long = "replace(hex(zeroblob(5000000)), '00', 'aa')";
    let calls = [
        format!("SELECT trim({long}, {long} || 'b')"),
        format!("SELECT {long} LIKE '%' || substr({long}, 1, 900) || 'b'"),
        format!("SELECT {long} GLOB '*' || substr({long}, 1, 900) || 'b'"),
    ];
    let mut running = Vec::new();
    for number in 0..12 {
        let mut plan = plan(&calls[number % calls.len()], Access::ReadOnly);
        plan.limits.timeout = Duration::from_millis(300);
        running.push(tokio::spawn(fixture.source.run(plan)));
    }
    for call in running {
        if let Err(error) = call.await.unwrap() {
            assert!(matches!(error.kind, Kind::TimedOut | Kind::Busy), "{error:?}");
        }
    }
    // Both sessions are free soon after the last timeout; the bug that this test is for took minutes.
    let began = Instant::now();
    assert_eq!(fixture.value("SELECT 1").await, "1");
    fixture.source.close().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn like_uses_an_index_where_there_is_one_for_it() {
    let script = "CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT); CREATE INDEX i ON t (a);
        INSERT INTO t VALUES ('Abc', 'Abc'), ('xyz', 'xyz')";
    let fixture = fixture(script, Options::default());
    for (text, words) in [
        ("EXPLAIN QUERY PLAN SELECT b FROM t WHERE a LIKE 'ab%'", "SEARCH t USING INDEX i"),
        ("EXPLAIN QUERY PLAN SELECT b FROM t WHERE b LIKE 'ab%'", "SCAN t"),
    ] {
        assert!(fixture.value(text).await.contains(words), "{text}: {}", fixture.value(text).await);
    }
    for _ in 0..3 {
        assert_eq!(fixture.value("SELECT b FROM t WHERE a LIKE 'ab%'").await, "Abc");
        assert_eq!(fixture.value("SELECT b FROM t WHERE b LIKE 'XY_'").await, "xyz");
        assert_eq!(fixture.value("SELECT b FROM t WHERE a LIKE 'ab%' AND b GLOB 'A*'").await, "Abc");
    }
}

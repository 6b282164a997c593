//! How much memory a statement takes that would need ten times its bound: what the process grows by, as the kernel counts
//! it.

use serde_json::{Value, json};

use super::another_postgres;
use crate::support::app::read;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::service::Service;
use crate::walls::server::say;

/// Rows of about half a kilobyte each, 80 MB of them in either database.
const ROWS: u64 = 160_000;
/// Rows of which each has one of a few keys of two columns.
const MARKS: u64 = 300_000;
/// `statement_memory`, in KiB.
const BOUND: u64 = 16 * 1024;
/// What it may take beyond: batches on their way, sessions, the allocator's own.
const ROOM: u64 = 32 * 1024;

/// The first row, or the code of the failure.
async fn first(service: &Service, query: &str) -> Value {
    let asked = service.post("/api/query").json(&json!({"query": query, "timeout": 300}));
    let (_, answer) = read(asked.send().await.unwrap()).await;
    match answer.get("error") {
        Some(error) => error["code"].clone(),
        None => answer["results"][0]["rows"][0].clone(),
    }
}

/// How many KiB a service grows by over `query`, at its highest.
async fn grown_by(databases: &[String; 2], settings: &str, query: &str, expected: &Value) -> u64 {
    // A process of its own: the kernel tells of the highest alone.
    let configuration = Configuration::new().connection("shop", &databases[0], "").connection("crm", &databases[1], "");
    let service = configuration.with(settings).serve().await;
    // Threads, sessions and what is kept of statements are there before.
    let warm = first(&service, &query.replace("public.wide", "public.narrow")).await;
    assert!(warm.is_array(), "{query}: {warm}");
    let before = service.resident_peak();
    assert_eq!(first(&service, query).await, *expected, "{query}");
    service.resident_peak().saturating_sub(before)
}

#[actix_web::test]
async fn a_statement_that_needs_ten_times_its_memory_stays_within_32_mib_of_it() {
    let databases = [fixture::postgres().await, another_postgres().await];
    for url in &databases {
        let tables = format!(
            "CREATE UNLOGGED TABLE wide (id int PRIMARY KEY, filler text); INSERT INTO wide \
             SELECT i, repeat(md5(i::text), 16) FROM generate_series(1, {ROWS}) i; ANALYZE wide; \
             CREATE TABLE narrow AS SELECT * FROM wide WHERE id < 100; \
             CREATE UNLOGGED TABLE wide_marks AS SELECT i % 2000 AS a, i % 2000 % 7 AS b FROM generate_series(1, {MARKS}) i; \
             CREATE UNLOGGED TABLE wide_pairs AS SELECT i AS a, i % 7 AS b FROM generate_series(0, 400000) i; \
             CREATE TABLE narrow_marks AS SELECT * FROM wide_marks LIMIT 9; \
             CREATE TABLE narrow_pairs AS SELECT * FROM wide_pairs LIMIT 99; ANALYZE"
        );
        connect(url).await.batch_execute(&tables).await.unwrap();
    }
    let settings = format!("[federation]\nstatement_memory = {}\nmemory = {}", BOUND * 1024, BOUND * 2048);
    let all = "SELECT id, filler FROM shop.public.wide UNION ALL SELECT id, filler FROM crm.public.wide";
    let rest = 2 * ROWS - 1;
    for (what, query, expected) in [
        (
            "sort",
            format!(
                "SELECT count(*) AS n, min(id) AS low FROM (SELECT * FROM ({all}) AS x ORDER BY filler, id LIMIT {rest}) AS y"
            ),
            json!([rest, 1]),
        ),
        (
            "group",
            format!("SELECT count(*) AS n, max(times) AS high FROM (SELECT filler, count(*) AS times FROM ({all}) AS x GROUP BY filler) AS y"),
            json!([ROWS, 2]),
        ),
        (
            "join",
            "SELECT count(*) AS n, max(id) AS high FROM (SELECT w.id, w.filler, o.filler AS again FROM shop.public.wide w \
             JOIN crm.public.wide o ON o.id = w.id) AS x WHERE filler = again"
                .to_owned(),
            json!([ROWS, ROWS]),
        ),
        (
            "rows that are numbered",
            format!("SELECT count(*) AS n, max(length(filler) + number) AS high FROM (SELECT filler, row_number() OVER (ORDER BY id) AS number FROM ({all}) AS x) AS y"),
            json!([2 * ROWS, 512 + 2 * ROWS]),
        ),
        // What needs all rows at once, and cannot be written down, is refused.
        (
            "window",
            format!("SELECT count(*) AS n, max(length(filler) + number) AS high FROM (SELECT filler, count(*) OVER () AS number FROM ({all}) AS x) AS y"),
            json!(1800),
        ),
        (
            "rows that may find none",
            "SELECT count(filler) AS n, count(id) AS high FROM (SELECT w.filler, o.id FROM shop.public.wide w LEFT JOIN crm.public.wide o \
             ON o.filler = w.filler AND w.id < o.id) AS x"
                .to_owned(),
            json!([ROWS, 0]),
        ),
        (
            "rows of both sides that may find none",
            "SELECT count(filler) AS n, count(id) AS high FROM (SELECT w.filler, o.id FROM shop.public.wide w FULL JOIN crm.public.wide o \
             ON o.filler = w.filler AND w.id < o.id) AS x"
                .to_owned(),
            json!(1800),
        ),
        (
            "texts that become one",
            format!("SELECT length(string_agg(filler, ',')) AS n, max(id) AS high FROM ({all}) AS x"),
            json!(1800),
        ),
        (
            "texts of some groups",
            format!("SELECT sum(length(texts)) AS n FROM (SELECT string_agg(filler, ',') AS texts FROM ({all}) AS x GROUP BY id % 3) AS y"),
            json!(1800),
        ),
        (
            "values in order",
            format!("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY filler) AS n, mode() WITHIN GROUP (ORDER BY id) AS high FROM ({all}) AS x"),
            json!(1800),
        ),
        (
            "keys",
            "SELECT count(*) AS n, max(p.a) AS high FROM shop.public.wide_marks m \
             JOIN crm.public.wide_pairs p ON p.a = m.a AND p.b = m.b"
                .to_owned(),
            json!([MARKS, 1999]),
        ),
    ] {
        let mut grown = grown_by(&databases, &settings, &query, &expected).await;
        if grown > BOUND + ROOM {
            // What the allocator keeps of freed pages is chance: twice in a row it is none.
            grown = grown.min(grown_by(&databases, &settings, &query, &expected).await);
        }
        // Half a kilobyte each, of two databases.
        say(&format!("{what}: {grown} KiB for {ROWS} KiB of rows, with a bound of {BOUND} KiB"));
        assert!(grown <= BOUND + ROOM, "{what}: {grown} KiB");
    }
}

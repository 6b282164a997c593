//! Large rows of all calls share a budget of memory: they wait for room, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use portico_actors::budget::Budget;
use portico_actors::error::{Error, Kind};
use portico_actors::reply::{Part, Results};
use portico_actors::source::postgres::Address;
use portico_actors::source::sqlite::DatabaseFile;
use portico_actors::source::{Access, Location, Plan, Settings, Source};
use tempfile::TempDir;

use crate::support::app::{eventually, within};
use crate::support::fixture::sqlite;
use crate::support::postgres::TestPostgres;
use crate::support::results::{plan, settings};

const MIB: usize = 1024 * 1024;
/// What there is for all of them.
const ROOM: usize = 8 * MIB;
/// Rows of 3 MiB.
const LARGE: [&str; 2] = [
    "SELECT repeat('x', 3145728) FROM generate_series(1, 4)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT zeroblob(3145728) FROM n",
];
const SMALL: [&str; 2] = [
    "SELECT repeat('x', 1000) FROM generate_series(1, 4000)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT zeroblob(1000) FROM n",
];
const TOO_LARGE: [&str; 2] = ["SELECT repeat('x', 9000000)", "SELECT zeroblob(9000000)"];

/// A source whose rows share `budget`, with so many sessions.
fn source(location: Arc<dyn Location>, pool: usize, budget: &Budget) -> Arc<dyn Source> {
    location.open(Settings { budget: budget.clone(), ..settings(pool) }).unwrap()
}

/// PostgreSQL and SQLite.
async fn locations(folder: &TempDir) -> [Arc<dyn Location>; 2] {
    let url = TestPostgres::shared().database("decoding").await;
    sqlite(folder, "decoding.db");
    [Arc::new(Address::from(url.as_str())), Arc::new(DatabaseFile(folder.path().join("decoding.db")))]
}

fn reading(sql: &str) -> Plan {
    plan(sql, Access::ReadOnly)
}

/// What is in memory of rows that were handed out: by what they say of themselves, and by what `budget` lent.
#[derive(Default)]
struct Alive {
    now: AtomicUsize,
    most: AtomicUsize,
    budget: Budget,
    lent: AtomicUsize,
}

/// Reads to the end; the number of rows.
async fn read(mut results: Results, alive: &Alive) -> Result<usize, Error> {
    let mut rows = 0;
    while let Some(part) = results.next().await {
        if let Part::Rows(batch) = part? {
            let octets = batch.octets();
            alive.most.fetch_max(alive.now.fetch_add(octets, Ordering::SeqCst) + octets, Ordering::SeqCst);
            alive.lent.fetch_max(alive.budget.lent(), Ordering::SeqCst);
            // Others have their turn while these rows are here.
            tokio::task::yield_now().await;
            rows += batch.rows();
            alive.now.fetch_sub(octets, Ordering::SeqCst);
            drop(batch);
        }
    }
    Ok(rows)
}

#[tokio::test]
async fn large_rows_of_many_calls_are_in_memory_one_after_the_other() {
    let folder = TempDir::new().unwrap();
    for (number, location) in locations(&folder).await.into_iter().enumerate() {
        let budget = Budget::new(ROOM);
        let alive = Arc::new(Alive { budget: budget.clone(), ..Alive::default() });
        // Two connections share it.
        let sources = [source(location.clone(), 3, &budget), source(location, 3, &budget)];
        let calls = (0..12).map(|call| {
            let (source, alive) = (Arc::clone(&sources[call % 2]), Arc::clone(&alive));
            tokio::spawn(async move { read(source.run(reading(LARGE[number])).await?, &alive).await })
        });
        for answer in within("all to be read", join_all(calls)).await {
            assert_eq!(answer.unwrap().unwrap(), 4);
        }
        let (most, lent) = (alive.most.load(Ordering::SeqCst), alive.lent.load(Ordering::SeqCst));
        assert!((3 * MIB..=ROOM).contains(&most), "{most} octets at one time");
        assert!((3 * MIB..=ROOM).contains(&lent), "{lent} were lent at one time");
        eventually("all memory to be given back", async || budget.lent() == 0).await;
    }
}

#[tokio::test]
async fn who_waits_for_room_is_bounded_by_its_timeout_and_small_rows_do_not_wait() {
    let folder = TempDir::new().unwrap();
    for (number, location) in locations(&folder).await.into_iter().enumerate() {
        let budget = Budget::new(ROOM);
        let source = source(location, 1, &budget);
        let alive = Alive::default();
        let all = budget.reserve(ROOM).await;
        assert_eq!(read(source.run(reading(SMALL[number])).await.unwrap(), &alive).await.unwrap(), 4000);
        let mut bounded = reading(LARGE[number]);
        bounded.limits.timeout = Duration::from_millis(300);
        let error = match within("the timeout", source.run(bounded)).await {
            Ok(results) => within("the timeout", read(results, &alive)).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.kind, Kind::TimedOut, "{error:?}");
        // The only session, and the room, are the next one's.
        drop(all);
        let results = within("the session", source.run(reading(LARGE[number]))).await.unwrap();
        assert_eq!(within("the rows", read(results, &alive)).await.unwrap(), 4);
        // What is dropped half read is given back.
        let mut results = source.run(reading(LARGE[number])).await.unwrap();
        assert!(matches!(results.next().await, Some(Ok(Part::Columns(_)))));
        assert!(matches!(results.next().await, Some(Ok(Part::Rows(_)))));
        drop(results);
        eventually("all memory to be given back", async || budget.lent() == 0).await;
    }
}

#[tokio::test]
async fn a_row_that_is_larger_than_all_of_it_is_refused() {
    let folder = TempDir::new().unwrap();
    for (number, location) in locations(&folder).await.into_iter().enumerate() {
        let budget = Budget::new(ROOM);
        let source = source(location, 1, &budget);
        let error = match source.run(reading(TOO_LARGE[number])).await {
            Ok(results) => read(results, &Alive::default()).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::TooLarge, Some("54000")), "{error:?}");
        assert!(error.message.contains("8 MiB"), "{error:?}");
        eventually("all memory to be given back", async || budget.lent() == 0).await;
    }
}

//! Tests of writing: each statement is a transaction of its own.

use futures_util::StreamExt as _;

use crate::sqlite::tests::{Options, fixture, plan, whole};
use crate::{Access, Plan};
use portico_core::effects::Effects;
use portico_core::error::Kind;
use portico_core::reply::Part;

const SCRIPT: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, age INTEGER CHECK (age > 0));
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
        later INTEGER REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE strict_one (n INTEGER) STRICT;
    CREATE TABLE audit (n INTEGER);
    CREATE TRIGGER no_deletes BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
    INSERT INTO audit VALUES (1);
    INSERT INTO customers VALUES (1, 'a@example.org', 30), (2, 'b@example.org', NULL);";

#[tokio::test]
async fn counts_tell_the_rows_changed() {
    let fixture = fixture(SCRIPT, Options::default());
    for (text, affected) in [
        ("INSERT INTO orders (customer_id) VALUES (1), (1), (2)", 3),
        ("UPDATE orders SET customer_id = 2", 3),
        ("DELETE FROM orders WHERE id = 99", 0),
        ("CREATE TABLE more (a)", 0),
        ("ALTER TABLE more RENAME TO other", 0),
        ("ALTER TABLE other RENAME COLUMN a TO b", 0),
        ("CREATE TRIGGER other_insert AFTER INSERT ON other BEGIN DELETE FROM orders; SELECT 1; END", 0),
        ("INSERT INTO other VALUES (1)", 1),
        ("DROP TABLE other", 0),
    ] {
        let result = fixture.write(text).await.unwrap();
        assert_eq!((result.affected, result.rows.len(), result.columns.len()), (Some(affected), 0, 0), "{text}");
    }
    assert_eq!(fixture.value("SELECT count(*) FROM orders").await, "0");
}

#[tokio::test]
async fn returning_gives_rows_and_a_count() {
    let fixture = fixture(SCRIPT, Options::default());
    let result = fixture
        .write(
            "INSERT INTO customers (email) VALUES ('c@example.org'), ('d@example.org') RETURNING id, upper(email) AS e",
        )
        .await
        .unwrap();
    assert_eq!(result.words(), ["3|C@EXAMPLE.ORG", "4|D@EXAMPLE.ORG"]);
    assert_eq!(result.affected, Some(2));
    let none = fixture.write("UPDATE customers SET age = 5 WHERE id = 77 RETURNING id").await.unwrap();
    assert_eq!((none.affected, none.columns.len(), none.rows.len()), (Some(0), 1, 0));
}

#[tokio::test]
async fn broken_constraints_are_conflicts_with_their_sqlstate() {
    let fixture = fixture(SCRIPT, Options::default());
    for (text, sqlstate) in [
        ("INSERT INTO customers VALUES (1, 'z@example.org', 1)", "23505"),
        ("INSERT INTO customers (email) VALUES ('a@example.org')", "23505"),
        ("INSERT INTO customers (email) VALUES (NULL)", "23502"),
        ("INSERT INTO customers (email, age) VALUES ('z@example.org', -1)", "23514"),
        ("INSERT INTO orders (customer_id) VALUES (99)", "23503"),
        ("INSERT INTO orders (customer_id, later) VALUES (1, 99)", "23503"),
        ("INSERT INTO strict_one VALUES ('text')", "42804"),
        ("DELETE FROM audit", "P0001"),
        (
            "INSERT INTO customers SELECT 10 + value, 'same@example.org', 1 FROM json_each('[1,2]') RETURNING id",
            "23505",
        ),
    ] {
        let error = fixture.error(text, Access::ReadWrite).await;
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::Conflict, Some(sqlstate)), "{text}: {error:?}");
    }
    let state = "SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders), (SELECT count(*) FROM audit)";
    assert_eq!(fixture.value(state).await, "2|0|1");
}

#[tokio::test]
async fn only_what_was_committed_may_stand() {
    let fixture = fixture(SCRIPT, Options::default());
    for (text, dry_run, stands) in [
        ("INSERT INTO customers VALUES (1, 'z@example.org', 1)", false, false),
        ("INSERT INTO orders (customer_id, later) VALUES (1, 99)", false, false),
        ("INSERT INTO audit VALUES (2)", true, false),
        ("SELECT count(*) FROM audit", false, false),
        ("INSERT INTO audit VALUES (2)", false, true),
    ] {
        let effects = Effects::noted();
        let plan = Plan { dry_run, effects: effects.clone(), ..plan(text, Access::ReadWrite) };
        if let Ok(results) = fixture.source.run(plan).await {
            whole(results).await.unwrap();
        }
        assert_eq!(effects.may_stand(), stands, "{text}");
    }
}

#[tokio::test]
async fn a_writer_that_is_not_read_to_its_end_is_undone() {
    let fixture = fixture(SCRIPT, Options::default());
    let text = "INSERT INTO audit WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                SELECT i FROM n RETURNING n";
    let mut results = fixture.source.run(plan(text, Access::ReadWrite)).await.unwrap();
    assert!(results.writes);
    assert!(matches!(results.next().await.unwrap().unwrap(), Part::Columns(_)));
    assert!(matches!(results.next().await.unwrap().unwrap(), Part::Rows(_)));
    drop(results);
    // The only writer is free only after its rollback.
    fixture.write("INSERT INTO audit VALUES (2)").await.unwrap();
    assert_eq!(fixture.value("SELECT count(*) FROM audit").await, "2");
    let whole = fixture.write(text).await.unwrap();
    assert_eq!((whole.rows.len(), whole.affected), (5000, Some(5000)));
}

#[tokio::test]
async fn readers_go_on_while_a_statement_writes() {
    let fixture = fixture(SCRIPT, Options::default());
    let text = "INSERT INTO audit WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                SELECT i FROM n RETURNING n";
    let mut writing = fixture.source.run(plan(text, Access::ReadWrite)).await.unwrap();
    assert!(matches!(writing.next().await.unwrap().unwrap(), Part::Columns(_)));
    // The transaction is open, with rows still to be read; it is invisible to others and does not block them.
    let slow = fixture.source.run(plan("SELECT * FROM customers, audit", Access::ReadOnly)).await.unwrap();
    for _ in 0..20 {
        assert_eq!(fixture.value("SELECT count(*) FROM audit").await, "1");
        assert_eq!(fixture.write("SELECT count(*) FROM audit").await.unwrap().words(), ["1"]);
    }
    while let Some(part) = writing.next().await {
        part.unwrap();
    }
    assert_eq!(fixture.value("SELECT count(*) FROM audit").await, "5001");
    drop(slow);
}

#[tokio::test]
async fn a_lock_that_another_process_holds_is_busy_not_broken() {
    let fixture = fixture(SCRIPT, Options::default());
    fixture.write("INSERT INTO audit VALUES (3)").await.unwrap();
    let other = rusqlite::Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waiting = plan("INSERT INTO audit VALUES (4)", Access::ReadWrite);
    waiting.limits.timeout = std::time::Duration::from_millis(100);
    let error = fixture.source.run(waiting).await.unwrap_err();
    assert!(matches!(error.kind, Kind::TimedOut | Kind::Busy), "{error:?}");
    let error = fixture.error("INSERT INTO audit VALUES (5)", Access::ReadWrite).await;
    assert_eq!(error.kind, Kind::Busy, "{error:?}");
    other.execute_batch("COMMIT").unwrap();
    fixture.write("INSERT INTO audit VALUES (6)").await.unwrap();
    assert_eq!(fixture.value("SELECT group_concat(n) FROM audit").await, "1,3,6");
}

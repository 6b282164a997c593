//! Statements, what they may do, and what is left behind for the next caller: nothing.

use portico_actors::error::Kind;
use portico_actors::source::{Access, Task};

use super::subject;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::results::{Subject, plan, read};

const SETUP: &str = "
CREATE TABLE item (id int4 PRIMARY KEY, price money, parent int4 REFERENCES item DEFERRABLE INITIALLY DEFERRED);
CREATE SCHEMA other; CREATE TABLE other.item (id text); INSERT INTO other.item VALUES ('theirs');
CREATE FUNCTION sneak() RETURNS int4 LANGUAGE sql AS 'INSERT INTO item VALUES (666) RETURNING id';
CREATE FUNCTION leave_statement() RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'PREPARE left_behind AS SELECT 1'; END $$;
CREATE FUNCTION leave_seed() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM setseed(0.5); END $$;";

#[tokio::test]
async fn writers_report_what_they_changed() {
    let (subject, _admin) = subject(SETUP).await;
    let inserted = subject.write("INSERT INTO item SELECT g FROM generate_series(1, 5) g").await.unwrap();
    assert_eq!((inserted.affected, inserted.columns.len()), (5, 0));
    let updated = subject.write("UPDATE item SET price = 2.5 WHERE id < 3 RETURNING id, price").await.unwrap();
    assert_eq!(updated.affected, 2);
    assert_eq!(updated.rows, [["1", "\"$2.50\""], ["2", "\"$2.50\""]], "a type only the source prints");
    assert_eq!(subject.write("DELETE FROM item WHERE id > 100").await.unwrap().affected, 0);
    let chosen = subject.write("SELECT count(*) FROM item").await.unwrap();
    assert_eq!((chosen.affected, chosen.rows), (-1, vec![vec!["5".to_owned()]]));
    assert_eq!(subject.write("CREATE TABLE made (x int4)").await.unwrap().affected, 0);
    assert_eq!(subject.read("SELECT * FROM made").await.unwrap().columns.len(), 1);
}

#[tokio::test]
async fn a_commit_that_fails_is_told() {
    let (subject, admin) = subject(SETUP).await;
    for statement in ["INSERT INTO item VALUES (1, 0, 99)", "INSERT INTO item VALUES (1, 0, 99) RETURNING id"] {
        let failure = subject.write(statement).await.unwrap_err();
        assert_eq!((failure.kind, failure.get_sqlstate()), (Kind::Conflict, Some("23503")), "{statement}");
    }
    // Where rows have gone out before, the stream ends with the failure instead of an end.
    let many = "INSERT INTO item SELECT g, 0, -1 FROM generate_series(1, 5000) g RETURNING id, repeat('x', 100)";
    assert_eq!(subject.write(many).await.unwrap_err().kind, Kind::Conflict);
    let left: i64 = admin.query_one("SELECT count(*) FROM item", &[]).await.unwrap().get(0);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn readers_cannot_write() {
    let (subject, admin) = subject(SETUP).await;
    for statement in
        ["INSERT INTO item VALUES (1)", "SELECT sneak()", "CREATE TABLE made ()", "DO 'BEGIN DELETE FROM item; END'"]
    {
        let failure = subject.read(statement).await.unwrap_err();
        assert_eq!((failure.kind, failure.get_sqlstate()), (Kind::Forbidden, Some("25006")), "{statement}");
    }
    let left: i64 = admin.query_one("SELECT count(*) FROM item", &[]).await.unwrap().get(0);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn nothing_is_left_for_the_next_caller() {
    let url = TestPostgres::shared().database("hygiene").await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    let subject = Subject::open(&url, 1);
    let state = "SELECT current_setting('work_mem'), current_setting('default_transaction_read_only'), \
        current_setting('transaction_read_only'), current_user, \
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()), \
        (SELECT count(*) FROM pg_prepared_statements WHERE from_sql), \
        (SELECT count(*) FROM pg_cursors WHERE is_holdable), to_regclass('pg_temp.mine')";
    let before = subject.read(state).await.unwrap().rows;
    let leavings = [
        "SELECT set_config('work_mem', '77MB', false), set_config('default_transaction_read_only', 'off', false)",
        "SELECT pg_advisory_lock(1)",
        "SELECT set_config('role', 'pg_monitor', false)",
        "SELECT leave_statement()",
    ];
    for statement in leavings {
        // What acts is no reader's, but for a function of the database's own.
        let read = subject.read(statement).await;
        assert_eq!(read.is_ok(), statement.contains("leave_statement"), "{statement}");
        assert_eq!(subject.read(state).await.unwrap().rows, before, "after reading {statement}");
        subject.write(statement).await.unwrap();
        assert_eq!(subject.read(state).await.unwrap().rows, before, "after writing {statement}");
    }
    // What was prepared for a caller is closed before the session goes on; what the driver looks types up with
    // is its own.
    let prepared = "SELECT statement FROM pg_prepared_statements WHERE statement NOT LIKE 'SELECT t.typname%'
        AND statement NOT LIKE '%pg\\_prepared%'";
    for (text, values) in [
        ("SELECT @v::int4 AS theirs", &[("v", "1")][..]),
        ("SELECT @v::int4 / 0 AS theirs", &[("v", "1")]),
        ("SELECT @v::money AS theirs", &[("v", "\"1\"")]),
        ("SELECT @v::nothing AS theirs", &[("v", "1")]),
        ("SELECT generate_series(1, @v::int4) AS theirs", &[("v", "100000")]),
    ] {
        drop(subject.bind(text, values).await);
        assert_eq!(
            subject.bind(&format!("{prepared} AND @v"), &[("v", "true")]).await.unwrap().rows.len(),
            0,
            "{text}"
        );
        assert_eq!(subject.read(prepared).await.unwrap().rows.len(), 0, "{text}");
    }
    // A seed that a caller chose says what the next one gets.
    let chance = async || subject.read("SELECT random()").await.unwrap().rows;
    let mut seen = Vec::new();
    for _ in 0..3 {
        subject.read("SELECT leave_seed()").await.unwrap();
        seen.push(chance().await);
        subject.write("SELECT setseed(0.5)").await.unwrap();
        seen.push(chance().await);
        subject.write("SELECT leave_seed() FROM item FOR UPDATE").await.unwrap();
        seen.push(chance().await);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 9, "{seen:?}");
    subject.write("CREATE TEMP TABLE mine (x int4)").await.unwrap();
    assert_eq!(subject.read(state).await.unwrap().rows, before);
}

#[tokio::test]
async fn what_no_caller_may_run_is_refused() {
    let (subject, _admin) = subject(SETUP).await;
    for statement in ["BEGIN", "COMMIT", "SET work_mem = '1MB'", "/* c */ COPY item TO STDOUT", "LISTEN x"] {
        let failure = subject.write(statement).await.unwrap_err();
        assert_eq!(failure.kind, Kind::Invalid, "{statement}: {}", failure.message);
    }
    let vacuum = subject.write("VACUUM").await.unwrap_err();
    assert_eq!((vacuum.kind, vacuum.get_sqlstate()), (Kind::Rejected, Some("25001")));
}

#[tokio::test]
async fn failures_say_what_and_where() {
    let (subject, _admin) = subject(SETUP).await;
    let cases = [
        ("SELECT * FROM no_such", Kind::NotFound, "42P01", Some(15)),
        ("SELECT other.id FROM item", Kind::Rejected, "42P01", Some(8)),
        ("SELECT item.id FROM item AS i", Kind::Rejected, "42P01", Some(8)),
        ("SELECT 'é', nothing FROM item", Kind::Rejected, "42703", Some(13)),
        ("SELEC 1", Kind::Rejected, "42601", Some(1)),
        ("SELECT 1/0", Kind::Rejected, "22012", None),
        ("SELECT no_such_function(1)", Kind::Rejected, "42883", Some(8)),
        ("SELECT 1 = 'a'::text", Kind::Rejected, "42883", Some(10)),
        ("SELECT -'a'::text", Kind::Rejected, "42883", Some(8)),
        ("SELECT upper(1)", Kind::Rejected, "42883", Some(8)),
        ("SELECT 1.0::money, 1/(g-300) FROM generate_series(1, 400) g", Kind::Rejected, "22012", None),
    ];
    for (statement, kind, sqlstate, position) in cases {
        let failure = subject.read(statement).await.unwrap_err();
        let told = (failure.kind, failure.get_sqlstate(), failure.get_position());
        assert_eq!(told, (kind, Some(sqlstate), position), "{statement}: {}", failure.message);
    }
    let conflict = subject.write("INSERT INTO item VALUES (1), (1)").await.unwrap_err();
    assert_eq!((conflict.kind, conflict.get_sqlstate()), (Kind::Conflict, Some("23505")));
}

#[tokio::test]
async fn a_default_schema_goes_in_front_for_one_statement() {
    let (subject, _admin) = subject(SETUP).await;
    let in_schema = async |schema: &str, sql: &str, access| {
        let mut plan = plan(sql, access);
        if let Task::Statement(prepared) = &mut plan.task {
            prepared.default_schema = Some(schema.to_owned());
        }
        read(subject.source.run(plan).await?).await
    };
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let found = in_schema("other", "SELECT id FROM item", access).await.unwrap();
        assert_eq!(found.rows, [["\"theirs\""]]);
        assert_eq!(found.columns[0].schema.as_deref(), Some("other"));
        assert!(subject.read("SELECT id FROM item").await.unwrap().rows.is_empty());
        let missing = in_schema("no\"where", "SELECT 1", access).await.unwrap_err();
        assert_eq!((missing.kind, missing.get_sqlstate()), (Kind::NotFound, Some("3F000")));
    }
}

#[tokio::test]
async fn odd_statements_are_read_too() {
    let (subject, _admin) = subject(SETUP).await;
    assert_eq!(subject.read("SHOW server_encoding").await.unwrap().rows, [["\"UTF8\""]]);
    assert!(!subject.read("EXPLAIN SELECT 1").await.unwrap().rows.is_empty());
    assert_eq!(subject.read("VALUES (1, 2.5::money) -- the end").await.unwrap().rows, [["1", "\"$2.50\""]]);
    assert_eq!(subject.read("TABLE other.item;").await.unwrap().rows, [["\"theirs\""]]);
    let same = subject.read("SELECT 1 AS a, 2::money AS a, 3 AS a").await.unwrap();
    assert_eq!(same.rows, [["1", "\"$2.00\"", "3"]]);
    assert_eq!(subject.read("SELECT FROM item").await.unwrap().rows.len(), 0);
}

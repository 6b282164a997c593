//! What the driver says to the server: a read that leaves nothing behind has nothing around it, a text that
//! comes again is prepared once, and neither shows.

use std::time::Duration;

use portico_actors::error::{Error, Kind};
use portico_actors::source::{Access, Exposure, Task};
use serde_json::value::RawValue;

use crate::support::app::within;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::results::{Read, Subject, plan, read};
use crate::support::wire::Listener;

const SETUP: &str = "
CREATE TABLE item (id int4 PRIMARY KEY, name text);
INSERT INTO item SELECT g, 'n' || g FROM generate_series(1, 100) g;
CREATE VIEW items AS SELECT * FROM item;
CREATE TABLE guarded (id int4); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE parent (id int4); CREATE TABLE child () INHERITS (parent); ALTER TABLE child ENABLE ROW LEVEL SECURITY;
CREATE DOMAIN positive AS int4 CHECK (value > 0);
CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE TABLE people (name text, mood mood); INSERT INTO people VALUES ('ann', 'happy');
CREATE FUNCTION own(int4) RETURNS int4 IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE TABLE prices (id int4, v int4); CREATE INDEX ON prices (id) WHERE own(1) = 1;
CREATE TABLE checked (id int4 CHECK (own(id) > 0));
CREATE TABLE ranged (id int4) PARTITION BY RANGE (own(id));
CREATE TABLE counted (id int4, v int4); CREATE STATISTICS counted_own ON own(id), v FROM counted;
CREATE TYPE level AS ENUM ('low'); CREATE FUNCTION as_json(level) RETURNS json LANGUAGE sql AS $$ SELECT '1'::json $$;
CREATE CAST (level AS json) WITH FUNCTION as_json(level); CREATE TABLE levels (level level);";

/// A connection with one session, whose words are heard.
struct Overheard {
    subject: Subject,
    listener: Listener,
    admin: tokio_postgres::Client,
    /// Whether what is read is a tool of an administrator's.
    by_administrator: bool,
}

impl Overheard {
    async fn open() -> Self {
        Self::showing(Exposure::default()).await
    }

    async fn showing(exposure: Exposure) -> Self {
        let url = TestPostgres::shared().database("trips").await;
        let admin = connect(&url).await;
        admin.batch_execute(SETUP).await.unwrap();
        let listener = Listener::start(&url).await;
        let address = format!("{}?sslmode=disable", listener.url(&url));
        let subject = Subject::showing(address.as_str().into(), 1, exposure).unwrap();
        // The session is opened, and what it was greeted with is forgotten.
        subject.read("SELECT 1").await.unwrap();
        listener.said(1);
        Self { subject, listener, admin, by_administrator: false }
    }

    /// Reads as a tool does, whose results tell nothing of tables.
    async fn read(&self, sql: &str, values: &[(&str, &str)]) -> Result<Read, Error> {
        let mut plan = plan(sql, Access::ReadOnly);
        plan.describes = false;
        if let Task::Statement(prepared) = &mut plan.task {
            prepared.by_administrator = self.by_administrator;
            prepared.values = values
                .iter()
                .map(|(name, json)| portico_actors::call::Argument {
                    name: (*name).to_owned(),
                    value: RawValue::from_string((*json).to_owned()).unwrap(),
                    data_type: None,
                })
                .collect();
        }
        read(self.subject.source.run(plan).await?).await
    }

    /// Reads until what is said meanwhile is this; each session is cleaned about once a second all the same.
    async fn reads_with(&self, sql: impl Fn(usize) -> String, values: &[(&str, &str)], expected: &str) {
        within(&format!("{} is read with {expected} alone", sql(0)), async {
            for number in 0.. {
                self.read(&sql(number), values).await.unwrap();
                let (tags, _) = self.listener.said(1);
                if tags == expected {
                    return;
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_read_that_leaves_nothing_behind_has_nothing_around_it() {
    let heard = Overheard::open().await;
    // Parse, Bind, Execute, Sync: one round trip.
    heard.reads_with(|n| format!("SELECT id, name FROM item WHERE id = {}", n % 100 + 1), &[], "PBDES").await;
    heard.reads_with(|n| format!("SELECT lower(name) FROM item WHERE id IN ({n}, 1)"), &[], "PBDES").await;
    heard.reads_with(|n| format!("SELECT count(*) FROM people WHERE mood = 'happy' AND {n} >= 0"), &[], "PBDES").await;
}

#[tokio::test]
async fn where_something_is_hidden_the_server_is_asked_once_for_a_shape() {
    let mut exposure = Exposure::default();
    exposure.tables.hidden.push("guarded".to_owned());
    let heard = Overheard::showing(exposure).await;
    heard.reads_with(|n| format!("SELECT id, name FROM item WHERE id = {}", n % 100 + 1), &[], "PBDES").await;
    heard.reads_with(|_| "SELECT name FROM item WHERE id = @id".to_owned(), &[("id", "8")], "BES").await;
    assert!(heard.read("SELECT id FROM guarded", &[]).await.is_err());
}

#[tokio::test]
async fn a_plan_is_told_without_judging_its_shape_again() {
    let parsed = async |heard: &Overheard, sql: &str| {
        heard.read(sql, &[]).await.unwrap();
        heard.listener.said(1).0.matches('P').count()
    };
    let heard = Overheard::open().await;
    let explain = |number| format!("EXPLAIN (FORMAT JSON) SELECT id FROM item WHERE id = {number}");
    assert!(parsed(&heard, &explain(1)).await > 1);
    assert_eq!(parsed(&heard, &explain(2)).await, 1);
    // Another literal may be another option, and what is hidden decides what is told of the plan.
    for analyze in [0, 1, 0] {
        assert!(parsed(&heard, &format!("EXPLAIN (ANALYZE {analyze}) SELECT id FROM item")).await > 1);
    }
    let mut exposure = Exposure::default();
    exposure.tables.hidden.push("guarded".to_owned());
    let heard = Overheard::showing(exposure).await;
    assert!(parsed(&heard, &explain(1)).await > 1 && parsed(&heard, &explain(2)).await > 1);
}

#[tokio::test]
async fn a_text_that_comes_again_is_prepared_once() {
    let heard = Overheard::open().await;
    let text = "SELECT name FROM item WHERE id = 7";
    heard.reads_with(|_| text.to_owned(), &[], "BES").await;
    assert_eq!(heard.read(text, &[]).await.unwrap().rows, [["\"n7\""]]);
    let bound = "SELECT name FROM item WHERE id = @id";
    heard.reads_with(|_| bound.to_owned(), &[("id", "8")], "BES").await;
    assert_eq!(heard.read(bound, &[("id", "9")]).await.unwrap().rows, [["\"n9\""]]);
    // Where nothing is found, the columns are known all the same.
    let empty = heard.read(bound, &[("id", "-1")]).await.unwrap();
    assert_eq!((empty.rows.len(), empty.columns.len()), (0, 1));
}

#[tokio::test]
async fn a_tool_of_an_administrator_s_may_do_without_what_others_may_and_is_refused_nothing() {
    let heard = Overheard { by_administrator: true, ..Overheard::open().await };
    let text = "SELECT name FROM item WHERE id = @id";
    heard.reads_with(|_| text.to_owned(), &[("id", "8")], "BES").await;
    for (statement, answer) in [
        ("SELECT own(1)", "1"),
        ("SELECT count(*) FROM items WHERE id = 1", "1"),
        ("SELECT length(pg_catalog.pg_notify('a', 'b')::text)", "0"),
    ] {
        for _ in 0..3 {
            let read = heard.read(statement, &[]).await.unwrap();
            assert_eq!(read.rows, [[answer]], "{statement}");
            let (_, queries) = heard.listener.said(1);
            assert!(queries.contains("READ ONLY") && queries.contains("ROLLBACK"), "{statement}: {queries}");
        }
    }
    // What was found out for the tool admits nobody else.
    let callers = Overheard { by_administrator: false, ..heard };
    let refused = callers.read("SELECT length(pg_catalog.pg_notify('a', 'b')::text)", &[]).await;
    assert_eq!(refused.unwrap_err().kind, Kind::Forbidden);
}

#[tokio::test]
async fn whatever_may_leave_something_behind_has_its_transaction() {
    let heard = Overheard::open().await;
    let statements = [
        "SELECT count(*) FROM items WHERE id = 1",
        "SELECT count(*) FROM guarded WHERE id = 1",
        "SELECT count(*) FROM parent WHERE id = 1",
        "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE pid = 1",
        "SELECT own(1)",
        "SELECT 1::positive",
        "SELECT pg_catalog.pg_table_size('item')",
        "SELECT pg_catalog.current_setting('work_mem')",
        // What is planned or cast runs functions that stand nowhere in the statement.
        "SELECT id FROM prices",
        "SELECT id FROM checked",
        "SELECT id FROM ranged",
        "SELECT id FROM counted",
        "SELECT to_json(level) FROM levels",
        "SELECT row_to_json(item)::text FROM item WHERE id = 1",
        // Who has seen some of these would know the next caller's.
        "SELECT random() >= 0",
        "SELECT id FROM item TABLESAMPLE BERNOULLI (100) WHERE random() >= 0 AND id = 1",
    ];
    for statement in statements {
        for _ in 0..4 {
            heard.read(statement, &[]).await.unwrap();
            let (_, queries) = heard.listener.said(1);
            assert!(queries.contains("BEGIN READ ONLY") && queries.contains("ROLLBACK"), "{statement}: {queries}");
        }
    }
}

#[tokio::test]
async fn nothing_is_written_where_a_definition_opens_a_session_for_writing() {
    let heard = Overheard::open().await;
    let (opens, writes) = ("SELECT id FROM item WHERE id = 1", "SELECT name FROM people");
    for text in [opens, writes] {
        heard.reads_with(|_| text.to_owned(), &[], "BES").await;
    }
    // Somebody makes something else of both tables, while it is remembered that they are plain.
    heard
        .admin
        .batch_execute(
            "CREATE TABLE written (a int4);
             CREATE FUNCTION open() RETURNS int4 LANGUAGE sql
                 AS $$ SELECT length(set_config('default_transaction_read_only', 'off', false)) $$;
             CREATE FUNCTION write() RETURNS text LANGUAGE sql
                 AS $$ INSERT INTO written VALUES (1) RETURNING 'written'::text $$;
             ALTER TABLE item RENAME TO old_item; CREATE VIEW item AS SELECT open() AS id;
             ALTER TABLE people RENAME TO old_people; CREATE VIEW people AS SELECT write() AS name",
        )
        .await
        .unwrap();
    for _ in 0..20 {
        // What is refused, and when, is the server's to say.
        let _ = heard.read(opens, &[]).await;
        let _ = heard.read(writes, &[]).await;
    }
    let written: i64 = heard.admin.query_one("SELECT count(*) FROM written", &[]).await.unwrap().get(0);
    assert_eq!(written, 0);
}

#[tokio::test]
async fn what_ran_without_a_transaction_leaves_no_lock_in_a_session_that_nobody_uses() {
    let heard = Overheard::open().await;
    let text = "SELECT id FROM item WHERE id = 1";
    heard.reads_with(|_| text.to_owned(), &[], "BES").await;
    // Somebody makes something else of the table meanwhile.
    heard
        .admin
        .batch_execute(
            "CREATE FUNCTION hold() RETURNS int4 LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(4711)';
             ALTER TABLE item RENAME TO items_of_old; CREATE VIEW item AS SELECT hold() AS id, 'n1' AS name",
        )
        .await
        .unwrap();
    heard.read(text, &[]).await.unwrap();
    within("the lock is given back", async {
        let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
        while heard.admin.query_one(held, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_value_that_cannot_be_bound_keeps_the_session() {
    let heard = Overheard::open().await;
    let text = "SELECT name FROM item WHERE convert_to(name, 'UTF8') = @octets";
    heard.reads_with(|_| text.to_owned(), &[("octets", "\"bjc=\"")], "BES").await;
    for _ in 0..3 {
        let error = heard.read(text, &[("octets", "\"***\"")]).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{error:?}");
    }
    assert_eq!(heard.subject.source.pool().map(|pool| (pool.open, pool.idle)), Some((1, 1)));
    heard.reads_with(|_| text.to_owned(), &[("octets", "\"bjc=\"")], "BES").await;
}

#[tokio::test]
async fn what_was_prepared_for_one_is_seen_by_nobody() {
    let heard = Overheard::open().await;
    let text = "SELECT name FROM item WHERE id = 7";
    let seen = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%FROM ' || 'item%'";
    let ways: [(&str, Access); 4] = [
        (seen, Access::ReadOnly),
        (seen, Access::ReadWrite),
        ("EXECUTE s1", Access::ReadWrite),
        ("CREATE TEMP TABLE taken AS EXECUTE s1", Access::ReadWrite),
    ];
    for (statement, access) in ways {
        heard.reads_with(|_| text.to_owned(), &[], "BES").await;
        match read_as(&heard.subject, statement, access).await {
            Ok(read) => assert_eq!(read.rows.len(), 0, "{statement}: {read:?}"),
            Err(error) => assert!(
                ["does not exist", "changes the session"].iter().any(|why| error.message.contains(why)),
                "{statement}: {error:?}"
            ),
        }
    }
    let left = read_as(
        &heard.subject,
        "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%FROM ' || 'item%'",
        Access::ReadOnly,
    );
    assert_eq!(left.await.unwrap().rows.len(), 0);
}

async fn read_as(subject: &Subject, sql: &str, access: Access) -> Result<Read, Error> {
    read(subject.source.run(plan(sql, access)).await?).await
}

#[tokio::test]
async fn a_schema_that_changes_under_a_prepared_statement_is_not_noticed() {
    let heard = Overheard::open().await;
    heard.admin.batch_execute("DROP VIEW items").await.unwrap();
    let all = "SELECT * FROM item WHERE id = 7";
    let width = "SELECT name FROM item WHERE id = 7";
    let changes = [
        ("ALTER TABLE item ADD COLUMN more int4 DEFAULT 5", vec!["7", "\"n7\"", "5"], "\"n7\""),
        ("ALTER TABLE item ALTER COLUMN name TYPE varchar(10)", vec!["7", "\"n7\"", "5"], "\"n7\""),
        ("ALTER TABLE item ALTER COLUMN more TYPE text", vec!["7", "\"n7\"", "\"5\""], "\"n7\""),
        (
            "DROP TABLE item CASCADE; CREATE TABLE item (id int8, name text); INSERT INTO item VALUES (7, 'new')",
            vec!["7", "\"new\""],
            "\"new\"",
        ),
        (
            "CREATE SCHEMA first; CREATE TABLE first.item (id int4, name text); INSERT INTO first.item VALUES (7, 'first'); \
             DROP TABLE item; ALTER TABLE first.item SET SCHEMA public",
            vec!["7", "\"first\""],
            "\"first\"",
        ),
    ];
    for (change, row, name) in changes {
        heard.reads_with(|_| all.to_owned(), &[], "BES").await;
        heard.reads_with(|_| width.to_owned(), &[], "BES").await;
        heard.admin.batch_execute(change).await.unwrap();
        let read = heard.read(all, &[]).await.unwrap();
        assert_eq!(
            (read.rows, read.columns.len()),
            (vec![row.iter().map(|cell| (*cell).to_owned()).collect()], row.len()),
            "{change}"
        );
        assert_eq!(heard.read(width, &[]).await.unwrap().rows, [[name]], "{change}");
    }
    heard.reads_with(|_| width.to_owned(), &[], "BES").await;
    heard.admin.batch_execute("DROP TABLE item").await.unwrap();
    let gone = heard.read(width, &[]).await.unwrap_err();
    assert_eq!((gone.kind, gone.get_sqlstate()), (Kind::NotFound, Some("42P01")), "{gone:?}");
}

#[tokio::test]
async fn literals_that_mean_something_else_tomorrow_are_read_anew() {
    let heard = Overheard::open().await;
    let happy = "SELECT name FROM people WHERE mood = 'happy'";
    for text in [happy, "SELECT count(*) FROM item WHERE now() > 'yesterday'", "SELECT 'today'::date"] {
        heard.reads_with(|_| text.to_owned(), &[], "PBDES").await;
        for _ in 0..8 {
            heard.read(text, &[]).await.unwrap();
            let (tags, _) = heard.listener.said(1);
            assert!(tags.contains('P'), "{text}: {tags}");
        }
    }
    heard.admin.batch_execute("ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'").await.unwrap();
    assert_eq!(heard.read(happy, &[]).await.unwrap_err().get_sqlstate(), Some("22P02"));
}

#[tokio::test]
async fn the_time_limit_is_the_call_s_own() {
    let heard = Overheard::open().await;
    let text = |rows: u64| format!("SELECT count(*) FROM pg_catalog.generate_series(1, {rows})");
    heard.reads_with(|_| text(10), &[], "BES").await;
    for limit in [200, 100] {
        let mut plan = plan(&text(2_000_000_000), Access::ReadOnly);
        plan.limits.timeout = Duration::from_millis(limit);
        let results = heard.subject.source.run(plan).await;
        let error = match results {
            Err(error) => error,
            Ok(results) => read(results).await.unwrap_err(),
        };
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::TimedOut, Some("57014")), "{error:?}");
    }
    assert_eq!(heard.read(&text(10), &[]).await.unwrap().rows, [["10"]]);
}

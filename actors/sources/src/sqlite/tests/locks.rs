//! Tests of what no caller can do, whatever the statement.

use crate::Access;
use crate::sqlite::tests::{Options, fixture};
use portico_core::error::Kind;

const SCRIPT: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
    INSERT INTO t VALUES (1, 'one');
    CREATE VIEW v AS SELECT id, a FROM t;
    CREATE TRIGGER v_insert INSTEAD OF INSERT ON v BEGIN INSERT INTO t (a) VALUES (new.a); END;
    CREATE VIRTUAL TABLE words USING fts5(body);
    INSERT INTO words VALUES ('hello world');
    CREATE VIRTUAL TABLE boxes USING rtree(id, low, high);
    INSERT INTO boxes VALUES (1, 2, 3);";

/// Statements that write in some way.
const WRITES: &[&str] = &[
    "INSERT INTO t (a) VALUES ('x')",
    "insert or replace into main.t values (1, 'x')",
    "REPLACE INTO t VALUES (1, 'x')",
    "UPDATE t SET a = 'x'",
    "DELETE FROM t",
    "WITH gone AS (SELECT 1) DELETE FROM t",
    "WITH q(x) AS (SELECT 'x') INSERT INTO t (a) SELECT x FROM q RETURNING id",
    "INSERT INTO v (a) VALUES ('x')",
    "INSERT INTO words VALUES ('x')",
    "INSERT INTO words (words) VALUES ('optimize')",
    "INSERT INTO boxes VALUES (2, 3, 4)",
    "CREATE TABLE x (a)",
    "CREATE TABLE x AS SELECT * FROM t",
    "CREATE INDEX x ON t (a)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "ALTER TABLE t ADD COLUMN b",
    "ALTER TABLE t RENAME TO u",
    "DROP TABLE t",
    "DROP VIEW v",
    "REINDEX",
    "ANALYZE",
];

/// The schema's own table, and tables behind virtual ones: out of reach even for a writer.
const BEHIND: &[&str] = &[
    "UPDATE sqlite_schema SET sql = ''",
    "DELETE FROM sqlite_master",
    "INSERT INTO sqlite_temp_schema VALUES ('table', 'x', 'x', 0, '')",
    "UPDATE sqlite_temp_master SET sql = ''",
    "UPDATE words_data SET block = x'00'",
    "DELETE FROM boxes_node",
    "INSERT INTO boxes_rowid VALUES (9, 9)",
    "DROP TABLE boxes_node",
];

/// Statements that are always refused, because of the session or because they reach outside of the database.
const OUTSIDE: &[&str] = &[
    "VACUUM",
    "VACUUM INTO '/tmp/portico-stolen.db'",
    "ATTACH ':memory:' AS other",
    "ATTACH DATABASE 'file:/tmp/portico-attached.db?mode=rwc' AS other",
    "DETACH main",
    "CREATE TEMP TABLE x (a)",
    "CREATE TEMPORARY VIEW x AS SELECT 1",
    "CREATE TABLE temp.x (a)",
    "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT s",
    "RELEASE s",
    "PRAGMA query_only = OFF",
    "PRAGMA query_only(0)",
    "PRAGMA writable_schema = ON",
    "PRAGMA writable_schema",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA main.journal_mode(memory)",
    "PRAGMA user_version = 5",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA cache_size = -1000000",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA wal_checkpoint",
    "PRAGMA optimize",
    "PRAGMA incremental_vacuum",
    "PRAGMA database_list",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA trusted_schema = ON",
    "SELECT file FROM pragma_database_list",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT fts3_tokenizer('simple')",
];

async fn contents(fixture: &crate::sqlite::tests::Fixture) -> String {
    let tables = fixture.value("SELECT count(*), (SELECT group_concat(a) FROM t) FROM sqlite_schema").await;
    let spatial = fixture.value("SELECT count(*) FROM boxes WHERE low >= 2").await;
    let text = fixture.value("SELECT body FROM words WHERE words MATCH 'hello'").await;
    format!("{tables} {spatial} {text}")
}

#[tokio::test]
async fn a_reader_writes_nothing() {
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let fixture = fixture(SCRIPT, Options { access, ..Options::default() });
        let before = contents(&fixture).await;
        for text in WRITES {
            let error = fixture.error(text, Access::ReadOnly).await;
            assert_eq!((error.kind, error.get_sqlstate()), (Kind::Forbidden, Some("25006")), "{text}: {error:?}");
            let error = fixture.error(&format!("EXPLAIN {text}"), Access::ReadOnly).await;
            assert_eq!(error.kind, Kind::Forbidden, "EXPLAIN {text}: {error:?}");
        }
        for text in OUTSIDE.iter().chain(BEHIND) {
            let error = fixture.error(text, Access::ReadOnly).await;
            assert!(matches!(error.kind, Kind::Forbidden | Kind::Invalid | Kind::Rejected), "{text}: {error:?}");
            assert!(!error.message.contains('/'), "{text}: {error:?}");
        }
        assert_eq!(contents(&fixture).await, before);
    }
}

#[tokio::test]
async fn a_statement_dressed_as_a_query_still_cannot_write() {
    let fixture = fixture(SCRIPT, Options::default());
    let before = contents(&fixture).await;
    for text in WRITES {
        let mut disguised = crate::sqlite::tests::plan(text, Access::ReadWrite);
        if let crate::Task::Statement(prepared) = &mut disguised.task {
            prepared.statement.class = portico_sql::Class::Select;
        }
        let error = fixture.source.run(disguised).await.unwrap_err();
        assert_eq!(error.kind, Kind::Forbidden, "{text}: {error:?}");
    }
    assert_eq!(contents(&fixture).await, before);
}

#[tokio::test]
async fn a_writer_leaves_nothing_in_the_session_and_reaches_nothing_outside() {
    let fixture = fixture(SCRIPT, Options::default());
    for text in OUTSIDE.iter().chain(BEHIND) {
        let error = fixture.error(text, Access::ReadWrite).await;
        assert!(matches!(error.kind, Kind::Forbidden | Kind::Invalid | Kind::Rejected), "{text}: {error:?}");
    }
    for text in ["VACUUM", "vacuum main", "/* x */ VACUUM INTO '/tmp/portico-stolen.db'"] {
        let error = fixture.error(text, Access::ReadWrite).await;
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::Forbidden, Some("42501")), "{text}: {error:?}");
    }
    fixture.write("INSERT INTO t (a) VALUES ('still works')").await.unwrap();
    assert_eq!(fixture.value("SELECT count(*) FROM temp.sqlite_schema").await, "0");
    assert!(!std::path::Path::new("/tmp/portico-stolen.db").exists());
    assert!(!std::path::Path::new("/tmp/portico-attached.db").exists());
}

#[tokio::test]
async fn reading_pragmas_work_everywhere() {
    let fixture = fixture(SCRIPT, Options::default());
    for access in [Access::ReadOnly, Access::ReadWrite] {
        for (text, least) in [
            ("PRAGMA table_info(t)", 2),
            ("PRAGMA table_xinfo('v')", 2),
            ("PRAGMA user_version", 1),
            ("PRAGMA encoding", 1),
            ("PRAGMA compile_options", 1),
            ("PRAGMA quick_check", 1),
            ("PRAGMA index_list(t)", 0),
            ("PRAGMA foreign_keys", 1),
            ("PRAGMA journal_mode", 1),
            ("PRAGMA main.journal_mode", 1),
        ] {
            let result = fixture.run(text, access).await.unwrap();
            assert!(result.rows.len() >= least, "{text}");
            assert_eq!(result.affected, Some(-1), "{text}");
        }
    }
    assert_eq!(fixture.value("SELECT name FROM pragma_table_info('t') ORDER BY cid").await, "id;a");
}

#[tokio::test]
async fn plans_of_writers_are_told_to_those_who_may_write() {
    let fixture = fixture(SCRIPT, Options::default());
    let before = contents(&fixture).await;
    for text in ["EXPLAIN QUERY PLAN DELETE FROM t WHERE a = 1", "explain insert into t (a) values ('x')"] {
        let result = fixture.write(text).await.unwrap();
        assert!(!result.rows.is_empty() && result.affected == Some(-1), "{text}");
    }
    assert!(!fixture.read("EXPLAIN QUERY PLAN SELECT * FROM t").await.unwrap().rows.is_empty());
    assert_eq!(contents(&fixture).await, before);
}

#[tokio::test]
async fn a_writing_plan_on_a_read_only_connection_is_refused() {
    let fixture = fixture(SCRIPT, Options { access: Access::ReadOnly, ..Options::default() });
    for text in WRITES {
        let error = fixture.error(text, Access::ReadWrite).await;
        assert_eq!((error.kind, error.get_sqlstate()), (Kind::Forbidden, Some("25006")), "{text}: {error:?}");
    }
    assert_eq!(fixture.write("SELECT count(*) FROM t").await.unwrap().words(), ["1"]);
}

/// A caller's table would shadow the engine's own table of that name: our own statements would read it.
#[tokio::test]
async fn nothing_is_named_as_the_engine_s_own_tables() {
    let fixture = fixture(SCRIPT, Options::default());
    let before = contents(&fixture).await;
    for statement in [
        "CREATE TABLE pragma_table_list (schema, name, type, ncol, wr, strict)",
        "create table if not exists main.\"PRAGMA_foreign_key_list\" (a)",
        "CREATE VIEW pragma_module_list AS SELECT 1 AS name",
        "CREATE TABLE [json_each] (a)",
        "CREATE TABLE dbstat AS SELECT 1 AS a",
        "CREATE VIRTUAL TABLE pragma_a USING fts5(x)",
        "ALTER TABLE t RENAME TO pragma_index_xinfo",
        "alter /* to t2 */ table main.t rename to 'JSON_TREE'",
        "ALTER TABLE t RENAME TO \"Pragma_b\"",
    ] {
        let error = fixture.error(statement, Access::ReadWrite).await;
        assert_eq!(error.kind, Kind::Forbidden, "{statement}: {error:?}");
        assert_eq!(contents(&fixture).await, before, "{statement}");
    }
    for statement in ["CREATE TABLE pragmatic (a)", "ALTER TABLE t RENAME TO pragma", "ALTER TABLE pragma ADD COLUMN b"]
    {
        fixture.write(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}

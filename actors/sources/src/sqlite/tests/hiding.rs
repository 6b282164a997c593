//! Tests of what a connection exposes: the schema that these tests share, ordinary statements, and individual
//! refusals. Spellings are generated in `hiding_generated`.

use rusqlite::Connection;

use crate::sqlite::tests::{Fixture, Options, fixture, plan, whole};
use crate::{Access, Exposure, Names, Plan, Prepared, Task};
use portico_core::error::{Error, Kind};

/// In every row of every hidden table.
pub(crate) const CANARY: &str = "canary";

/// `twin` is like `hidden_people`, and exposed.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE hidden_people (id INTEGER PRIMARY KEY, secret TEXT, email TEXT UNIQUE, CHECK (secret <> 'mark'));
    CREATE TABLE twin (id INTEGER PRIMARY KEY, secret TEXT, email TEXT UNIQUE);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER REFERENCES hidden_people (id),
        total NUMERIC(10, 2) CHECK (total >= 0), note TEXT COLLATE NOCASE);
    CREATE INDEX orders_note ON orders (note);
    CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id) ON DELETE CASCADE, qty);
    CREATE TABLE hidden_child (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id) ON DELETE CASCADE);
    CREATE TABLE hidden_log (what TEXT, CONSTRAINT mark CHECK (what <> 'mark'));
    CREATE UNIQUE INDEX hidden_taken ON hidden_log (what) WHERE what = 'taken';
    INSERT INTO hidden_log VALUES ('taken');
    CREATE TABLE counters (id INTEGER PRIMARY KEY AUTOINCREMENT, label);
    CREATE INDEX hidden_index ON hidden_people (secret);
    CREATE TRIGGER hidden_trigger AFTER UPDATE ON hidden_people BEGIN SELECT 1; END;
    CREATE TRIGGER log_orders AFTER INSERT ON orders WHEN new.note IS NOT NULL BEGIN
        INSERT INTO hidden_log VALUES (new.note);
    END;
    CREATE VIEW totals AS SELECT person, sum(total) AS total FROM orders GROUP BY person;
    CREATE VIEW names AS SELECT id, length(secret) AS n FROM hidden_people WHERE id < 2;
    CREATE VIEW writable AS SELECT id, total FROM orders;
    CREATE TRIGGER writable_insert INSTEAD OF INSERT ON writable BEGIN
        INSERT INTO orders (id, total) VALUES (new.id, new.total);
    END;
    CREATE VIEW lines_ids AS SELECT id FROM lines;
    CREATE VIEW hidden_view AS SELECT * FROM hidden_people;
    CREATE VIRTUAL TABLE docs USING fts5 (body);
    CREATE VIRTUAL TABLE about USING fts5 (secret, content = 'hidden_people', content_rowid = 'id');
    CREATE VIRTUAL TABLE sealed USING fts5 (secret);
    CREATE VIRTUAL TABLE places USING rtree (id, a, b);
    INSERT INTO hidden_people VALUES (1, 'canary', 'canary@example.org'), (2, 'canary2', NULL);
    INSERT INTO twin VALUES (1, 'seen', 'seen@example.org');
    INSERT INTO sealed VALUES ('canary');
    INSERT INTO docs VALUES ('the quick brown fox');
    INSERT INTO orders VALUES (1, 1, 10.5, 'first'), (2, 1, 20, 'second');
    INSERT INTO lines VALUES (1, 1, 3);
    INSERT INTO hidden_child VALUES (1, 1);
    INSERT INTO places VALUES (1, 0, 5);";

pub(crate) fn hiding() -> Fixture {
    let hidden = ["hidden%", "sealed"].map(str::to_owned).to_vec();
    let exposure = Exposure { tables: Names { shown: None, hidden }, ..Exposure::default() };
    fixture(SCHEMA, Options { exposure, ..Options::default() })
}

/// Everything that an error says.
pub(crate) fn all_words(error: &Error) -> String {
    format!("{} {} {}", error.message, error.get_hint().unwrap_or_default(), error.get_detail().unwrap_or_default())
}

/// Returns the content of the hidden tables, and the schema.
pub(crate) fn content(fixture: &Fixture) -> String {
    let file = Connection::open(&fixture.path).unwrap();
    let read = |query: &str| {
        let mut statement = file.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join(";")
    };
    [
        read("SELECT id || secret || coalesce(email, '') FROM hidden_people"),
        read("SELECT what FROM hidden_log"),
        read("SELECT secret FROM sealed"),
        read("SELECT coalesce(sql, name) FROM sqlite_schema WHERE name LIKE 'hidden%' OR name LIKE 'sealed%'"),
    ]
    .join("|")
}

#[tokio::test]
async fn an_ordinary_day_is_possible_where_something_is_hidden() {
    let fixture = hiding();
    let statements: Vec<&str> =
        include_str!("ordinary.sql").split(";\n").filter(|text| !text.trim().is_empty()).collect();
    assert!(statements.len() >= 100, "{}", statements.len());
    for statement in statements {
        if let Err(error) = fixture.write(statement).await {
            panic!("{statement}: {} {:?}", all_words(&error), error.cause());
        }
    }
}

#[tokio::test]
async fn what_would_tell_of_the_hidden_is_refused_in_clear_words() {
    let fixture = hiding();
    let before = content(&fixture);
    for (statement, sqlstate, words) in [
        ("SELECT * FROM hidden_people", "42P01", "no such table: hidden_people"),
        ("SELECT count(*) FROM main.hidden_people", "42P01", "no such table: main.hidden_people"),
        ("SELECT (SELECT count(*) FROM names), (SELECT count(*) FROM main.hidden_people)", "42P01", "no such table"),
        ("WITH names AS (SELECT secret FROM hidden_people) SELECT * FROM names", "42P01", "no such table"),
        ("SELECT 1 WHERE 1 OR EXISTS (SELECT 1 FROM hidden_view)", "42P01", "no such table"),
        ("SELECT block FROM sealed_data", "42P01", "no such table: sealed_data"),
        ("SELECT c0 FROM sealed_content", "42P01", "no such table: sealed_content"),
        ("SELECT sql FROM sqlite_schema", "42P01", "no such table: sqlite_schema"),
        ("SELECT count(*) FROM sqlite_master", "42P01", "no such table: sqlite_"),
        ("SELECT * FROM temp.sqlite_master", "42P01", "no such table: sqlite_"),
        ("CREATE TABLE x AS SELECT rowid FROM sqlite_schema", "42P01", "no such table: sqlite_"),
        ("CREATE TABLE x AS SELECT count(*) AS n FROM sqlite_schema", "42P01", "no such table: sqlite_"),
        ("DELETE FROM sqlite_sequence", "42P01", "no such table: sqlite_sequence"),
        ("SELECT name FROM dbstat", "42501", "dbstat is not available"),
        ("SELECT count(*) FROM dbstat", "42501", "dbstat is not available"),
        ("PRAGMA table_info(hidden_people)", "42501", "PRAGMA is not available"),
        ("PRAGMA schema_version", "42501", "PRAGMA is not available"),
        ("SELECT * FROM pragma_table_list", "42501", "PRAGMA is not available"),
        ("SELECT count(*) FROM pragma_table_info('hidden_people')", "42501", "PRAGMA is not available"),
        ("CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END", "42501", "CREATE TRIGGER is not available"),
        ("CREATE VIRTUAL TABLE t USING fts5vocab(sealed, row)", "42501", "CREATE VIRTUAL TABLE is not available"),
        ("EXPLAIN QUERY PLAN SELECT * FROM names", "42501", "EXPLAIN of a statement that uses"),
        ("EXPLAIN INSERT INTO orders (person) VALUES (1)", "42501", "EXPLAIN of a statement that uses"),
        ("CREATE VIEW peek AS SELECT secret FROM hidden_people", "42P01", "no such table"),
        ("CREATE VIEW peek AS SELECT 1 WHERE 1 OR EXISTS (SELECT 1 FROM hidden_people)", "42P01", "no such table"),
        ("CREATE VIEW peek AS SELECT * FROM pragma_table_list", "42601", "unsafe use of virtual table"),
        ("CREATE VIEW peek AS SELECT count(*) FROM sqlite_schema", "42P01", "no such table"),
        ("CREATE TABLE oracle (a REFERENCES hidden_people (id))", "42P01", "no such table: hidden_people"),
        ("CREATE TABLE oracle (a, FOREIGN KEY (a) REFERENCES \"Hidden_People\")", "42P01", "no such table"),
        ("ALTER TABLE lines ADD COLUMN a REFERENCES hidden_people (id)", "42P01", "no such table: hidden_people"),
        ("ALTER TABLE lines ADD CHECK ((SELECT count(*) FROM hidden_people) > 9)", "42601", "subqueries"),
        ("CREATE TABLE hidden_people (a)", "42501", "the name hidden_people is not available"),
        ("CREATE TABLE IF NOT EXISTS Hidden_Anything (a)", "42501", "the name Hidden_Anything is not available"),
        ("CREATE TABLE hidden_people AS SELECT 1 AS a", "42501", "the name hidden_people is not available"),
        ("CREATE VIEW hidden_people AS SELECT 1 AS a", "42501", "the name hidden_people is not available"),
        ("ALTER TABLE twin RENAME TO hidden_people", "42501", "the name hidden_people is not available"),
        ("ALTER TABLE twin RENAME TO hidden_anything", "42501", "the name hidden_anything is not available"),
        ("CREATE INDEX hidden_index ON twin (id)", "42501", "the name is not available"),
        ("ALTER TABLE docs RENAME TO open_docs", "42501", "ALTER TABLE of a virtual table is not available"),
        ("INSERT INTO orders (total, note) VALUES (1, 'mark') -- hidden_log", "23514", "not exposed"),
        ("INSERT INTO orders (total, note) VALUES (2, 'taken') -- hidden_log", "23505", "not exposed"),
        ("ANALYZE", "42501", "ANALYZE of all tables is not available"),
        ("REINDEX", "42501", "REINDEX of all tables is not available"),
        ("REINDEX hidden_index", "42P01", "does not exist"),
        ("INSERT INTO orders (total, note) VALUES (1, 'mark')", "23514", "not exposed"),
        ("SELECT load_extension('x')", "42501", "load_extension"),
        ("SELECT rtreecheck('main', 'places')", "42501", "rtreecheck, which reads the table that its argument names"),
    ] {
        let error = fixture.error(statement, Access::ReadWrite).await;
        let told = all_words(&error);
        assert!(told.contains(words) && error.get_sqlstate() == Some(sqlstate), "{statement}: {error:?}");
        assert!(!told.contains(CANARY), "{statement}: {told}");
    }
    assert_eq!(content(&fixture), before);
    let error = fixture.error("SELECT * FROM hidden_peopl", Access::ReadWrite).await;
    assert_eq!((error.kind, error.get_hint()), (Kind::NotFound, None));
    let error = fixture.error("SELECT totl FROM orders", Access::ReadWrite).await;
    assert_eq!(error.get_hint(), Some("did you mean total?"));
}

#[tokio::test]
async fn to_drop_what_is_hidden_if_it_exists_does_nothing() {
    let fixture = hiding();
    let before = content(&fixture);
    for (what, name) in [
        ("TABLE", "hidden_people"),
        ("VIEW", "hidden_view"),
        ("INDEX", "hidden_index"),
        ("TRIGGER", "hidden_trigger"),
        ("TABLE", "sealed"),
    ] {
        for access in [Access::ReadWrite, Access::ReadOnly] {
            let outcome = async |name: &str| match fixture
                .source
                .run(plan(&format!("DROP {what} IF EXISTS {name}"), access))
                .await
            {
                Ok(results) => whole(results).await.map(drop).map_err(|error| all_words(&error)),
                Err(error) => Err(all_words(&error)),
            };
            assert_eq!(outcome(name).await, outcome("nothing_at_all").await, "{name}, {access:?}");
            assert!(access == Access::ReadOnly || outcome(name).await.is_ok(), "{name}");
        }
        let error = fixture.error(&format!("DROP {what} {name}"), Access::ReadWrite).await;
        assert!(error.message.starts_with("no such"), "{name}: {error:?}");
    }
    assert_eq!(content(&fixture), before);
}

#[tokio::test]
async fn a_views_columns_do_not_tell_where_they_are_from() {
    let fixture = hiding();
    let found = fixture.read("SELECT id FROM names").await.unwrap();
    assert_eq!((found.columns[0].name.as_str(), &found.columns[0].table), ("id", &None));
    let found = fixture.read("SELECT id FROM orders").await.unwrap();
    assert_eq!(found.columns[0].table.as_deref(), Some("orders"));
}

#[tokio::test]
async fn keys_to_hidden_tables_are_kept_and_cascade() {
    let fixture = hiding();
    let error = fixture.error("INSERT INTO orders (person, total) VALUES (99, 1)", Access::ReadWrite).await;
    assert_eq!((error.kind, error.get_sqlstate()), (Kind::Conflict, Some("23503")));
    fixture.write("DELETE FROM orders WHERE id = 1").await.unwrap();
    let file = Connection::open(&fixture.path).unwrap();
    let left = |table: &str| file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
    assert_eq!((left("hidden_child"), left("lines")), (Ok(0), Ok(0)));
}

#[tokio::test]
async fn what_an_administrator_wrote_reads_what_is_hidden() {
    let fixture = hiding();
    let mut plan: Plan = plan("SELECT secret FROM hidden_people WHERE id = 1", Access::ReadOnly);
    let Task::Statement(Prepared { by_administrator, .. }) = &mut plan.task else { panic!() };
    *by_administrator = true;
    assert_eq!(whole(fixture.source.run(plan).await.unwrap()).await.unwrap().words(), [CANARY]);
}

#[tokio::test]
async fn what_was_changed_meanwhile_counts() {
    let fixture = hiding();
    fixture.read("SELECT * FROM orders").await.unwrap();
    let file = Connection::open(&fixture.path).unwrap();
    file.execute_batch("CREATE TABLE newer (a); ALTER TABLE orders RENAME TO hidden_orders").unwrap();
    fixture.read("SELECT * FROM newer").await.unwrap();
    let error = fixture.error("SELECT * FROM hidden_orders", Access::ReadOnly).await;
    assert_eq!(error.kind, Kind::NotFound);
    assert_eq!(fixture.error("SELECT * FROM orders", Access::ReadOnly).await.kind, Kind::NotFound);
    // Created and rolled back, and then created differently by somebody else.
    let mut tried = crate::sqlite::tests::plan("CREATE TABLE tried (a)", Access::ReadWrite);
    tried.dry_run = true;
    whole(fixture.source.run(tried).await.unwrap()).await.unwrap();
    assert_eq!(fixture.error("SELECT a FROM tried", Access::ReadWrite).await.kind, Kind::NotFound);
}

#[tokio::test]
async fn a_table_that_bears_a_modules_name_hides_it() {
    let exposure =
        Exposure { tables: Names { shown: None, hidden: vec!["json_each".to_owned()] }, ..Exposure::default() };
    let script = "CREATE TABLE json_each (secret); INSERT INTO json_each VALUES ('canary'); CREATE TABLE t (a)";
    let fixture = fixture(script, Options { exposure, ..Options::default() });
    for statement in
        ["SELECT * FROM json_each", "INSERT INTO t SELECT secret FROM json_each", "SELECT count(*) FROM json_each"]
    {
        let error = fixture.error(statement, Access::ReadWrite).await;
        assert!(matches!(error.get_sqlstate(), Some("42P01" | "42703")), "{statement}: {error:?}");
    }
}

/// A statement that uses nothing hidden fails with its own words: they do not reveal whether one is a hidden name.
#[tokio::test]
async fn the_words_of_a_failure_tell_no_hidden_name_from_another() {
    let fixture = hiding();
    for (form, guesses) in [
        ("SELECT json_extract('{}', '#')", ["hidden_people", "hidden_index", "sealed", "nosuch"]),
        ("SELECT # FROM twin", ["hidden_people", "hidden_index", "sealed", "nosuch"]),
        ("SELECT unknown(1), '#'", ["hidden_people", "hidden_index", "sealed", "nosuch"]),
    ] {
        let mut told = Vec::new();
        for guess in guesses {
            let error = fixture.error(&form.replace('#', guess), Access::ReadOnly).await;
            told.push(all_words(&error).replace(guess, "#"));
        }
        assert!(told.iter().all(|words| *words == told[0]), "{form}: {told:?}");
    }
}

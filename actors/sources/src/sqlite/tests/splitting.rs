//! Tests where statements end: the splitting of `sql` is compared with SQLite's own.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::{Batch, Connection};

use super::*;

const NAMING: Naming<'static> = Naming { connection: "shop", others: &[] };

fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch("CREATE TABLE t (a, b, e, x, n, u, \"begin\", \"end\")").unwrap();
    database
}

/// Returns the number of statements that SQLite reads in a text; `None` if it refuses one.
fn at_sqlite(database: &Connection, text: &str) -> Option<usize> {
    let mut batch = Batch::new(database, text);
    let mut count = 0;
    loop {
        match batch.next() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return Some(count),
            Err(_) => return None,
        }
    }
}

/// Returns the number of statements that `sql` reads in it; `None` if it refuses the text.
fn here(text: &str) -> Option<usize> {
    portico_sql::statements(text, Dialect::SQLITE, NAMING).ok().map(|all| all.len())
}

/// Texts that SQLite reads differently from PostgreSQL.
const TEXTS: [(&str, usize); 27] = [
    ("SELECT 'it''s;'; SELECT \"a\"\";\" FROM (SELECT 1 AS \"a\"\";\"); SELECT 2", 3),
    ("SELECT '\\'; SELECT ';\\'", 2),
    ("SELECT e'\\'; SELECT 1 FROM t", 0),
    ("SELECT e'\\' FROM t; SELECT 1", 2),
    ("SELECT b';', n';', u ';' FROM t; SELECT 1", 2),
    ("SELECT u&';' FROM t; SELECT u&\"a;\" FROM (SELECT 1 AS u, 2 AS \"a;\")", 2),
    ("SELECT x'3b'; SELECT X'';", 2),
    ("SELECT [a;b] FROM (SELECT 1 AS [a;b]); SELECT `c;``d` FROM (SELECT 2 AS `c;``d`)", 2),
    ("SELECT 1 AS [a]]; SELECT 1", 0),
    ("SELECT 1 /* ; /* */; SELECT 2", 2),
    ("SELECT 1 /* ; */ -- ;\r;\n; SELECT 2 -- ;", 2),
    ("SELECT 1; /* never closed; SELECT 2", 1),
    ("SELECT 1 AS a$$; SELECT 2 AS b$$; SELECT 3 AS $$", 0),
    ("SELECT 1 AS a$$; SELECT 2 AS b$$", 2),
    ("SELECT 1 AS a$x$; SELECT 2 AS a$x$", 2),
    ("SELECT $a; SELECT $b", 2),
    ("SELECT $a$; SELECT $a$", 2),
    ("SELECT $a(;'); SELECT $b::c(;), :d::e(\")", 2),
    ("SELECT :1, ?2; SELECT ?, ?", 2),
    ("SELECT@a; SELECT 1OR@b", 0),
    ("SELECT@a; SELECT 1 OR@b", 2),
    ("\u{feff}SELECT 1;\u{feff} SELECT \u{feff} 2", 2),
    ("CREATE TEMP TRIGGER r AFTER UPDATE ON t BEGIN SELECT new.end, CASE WHEN 1 THEN 2 END; END; SELECT 1", 2),
    ("CREATE TEMP TRIGGER begin AFTER UPDATE ON t BEGIN SELECT end AS begin FROM t AS end; END; SELECT 1", 2),
    ("EXPLAIN CREATE TEMP TRIGGER r AFTER UPDATE ON t BEGIN SELECT 1; SELECT 2; END; SELECT 1", 2),
    ("EXPLAIN QUERY PLAN CREATE TEMP TRIGGER r AFTER UPDATE ON t BEGIN SELECT 1; END; SELECT 1", 2),
    ("SELECT 1 WHERE 1=1;;; SELECT 2;", 2),
];

#[test]
fn statements_end_where_sqlite_ends_them() {
    let database = database();
    for (text, expected) in TEXTS {
        // 0 means that SQLite refuses the text: then it does not matter where it is split.
        assert_eq!(at_sqlite(&database, text).unwrap_or_default(), expected, "{text}");
        if expected > 0 {
            assert_eq!(here(text), Some(expected), "{text}");
        }
    }
}

const SIGNS: &str = "' \" ` [ ] $ $$ $a -- /* */ \\ ; ( ) @p : :: ? e E x u& # é";

/// Parts of [`TEXTS`], joined and changed: if SQLite accepts a text, it counts as many statements.
#[test]
fn changed_texts_end_where_sqlite_ends_them() {
    let parts: Vec<&str> = TEXTS.iter().flat_map(|(text, _)| text.split_inclusive(';')).collect();
    let signs = SIGNS.split(' ').chain(["\n", "\r", "\u{b}", "\u{c}", "\u{feff}", " end ", " begin ", " explain "]);
    let sign = prop::sample::select(signs.collect::<Vec<_>>());
    let changes = prop::collection::vec((0_usize..400, sign, any::<bool>()), 0..3);
    let texts = (prop::collection::vec(prop::sample::select(parts), 1..5), changes);
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(20_261_121), ..ProptestConfig::with_cases(4_000) };
    let (database, taken) = (database(), Cell::new(0));
    let outcome = TestRunner::new(config).run(&texts, |(parts, changes)| {
        let mut text = parts.concat();
        for (at, sign, removes) in changes {
            let at = text.char_indices().map(|(at, _)| at).nth(at % text.chars().count().max(1)).unwrap_or_default();
            if removes && !text.is_empty() {
                text.remove(at);
            }
            text.insert_str(at, sign);
        }
        if let (Some(theirs), Some(ours)) = (at_sqlite(&database, &text).filter(|count| *count > 0), here(&text)) {
            taken.set(taken.get() + 1);
            prop_assert_eq!(ours, theirs, "{}", text);
        }
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(taken.get() > 400, "SQLite takes only {} of the texts", taken.get());
}

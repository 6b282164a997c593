//! Statements of the grammar under a call that may only read, against the file before and after.

use crate::Access;
use crate::sqlite::tests::hiding::{SCHEMA, all_words};
use crate::sqlite::tests::hiding_generated::Chance;
use crate::sqlite::tests::{Options, fixture};

const CASES: usize = 600;

/// Statements that write or would leave something behind; `{Q}` is a query, `{C}` a comment or a blank.
const WRITES: &[&str] = &[
    "INSERT{C}INTO orders (total) {Q}",
    "INSERT OR REPLACE INTO lines (id) {Q}",
    "REPLACE{C}INTO lines (id) {Q}",
    "WITH w AS ({Q}) INSERT INTO lines (qty) SELECT * FROM w",
    "WITH w AS ({Q}){C}DELETE FROM lines",
    "WITH w AS ({Q}) UPDATE lines SET qty = 1",
    "UPDATE{C}orders SET total = ({Q})",
    "UPDATE orders SET total = 1 FROM ({Q}) AS q RETURNING *",
    "DELETE FROM{C}orders WHERE ({Q}) > 0",
    "DELETE FROM orders RETURNING *",
    "CREATE TABLE{C}made AS {Q}",
    "CREATE TEMP TABLE made AS {Q}",
    "CREATE VIEW made AS {Q}",
    "CREATE TEMP VIEW made AS {Q}",
    "CREATE{C}INDEX made ON orders (total)",
    "CREATE TRIGGER made AFTER INSERT ON orders BEGIN {Q}; END",
    "CREATE VIRTUAL TABLE made USING fts5 (a)",
    "ALTER{C}TABLE orders ADD COLUMN more",
    "ALTER TABLE orders RENAME TO made",
    "DROP{C}TABLE lines",
    "DROP VIEW IF EXISTS totals",
    "DROP INDEX orders_note",
    "DROP TRIGGER log_orders",
    "REINDEX{C}",
    "ANALYZE{C}",
    "VACUUM{C}",
    "VACUUM INTO 'elsewhere.db'",
    "ATTACH{C}'elsewhere.db' AS elsewhere",
    "DETACH main",
    "BEGIN{C}IMMEDIATE",
    "COMMIT",
    "SAVEPOINT s",
    "PRAGMA{C}user_version = 7",
    "PRAGMA user_version(7)",
    "PRAGMA{C}journal_mode = delete",
    "PRAGMA wal_checkpoint(truncate)",
    "PRAGMA optimize",
    "PRAGMA incremental_vacuum",
    "PRAGMA query_only = off",
    "PRAGMA writable_schema = on",
    "PRAGMA foreign_keys = off",
    "SELECT optimize(docs) FROM docs",
    "SELECT load_extension('x')",
    "INSERT INTO docs (docs) VALUES ('rebuild')",
    "INSERT INTO places VALUES (9, 1, 1)",
];

const QUERIES: &[&str] = &["SELECT 1", "SELECT count(*) FROM orders", "VALUES (1)", "SELECT id FROM names LIMIT 1"];

#[tokio::test]
async fn nothing_that_only_reads_changes_the_file() {
    let mut chance = Chance::from_environment();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let fixture = fixture(SCHEMA, Options { access, ..Options::default() });
        // The first look puts the file in its mode.
        fixture.read("SELECT 1").await.unwrap();
        let digest = || {
            let file = rusqlite::Connection::open(&fixture.path).unwrap();
            let mut statement =
                file.prepare("SELECT group_concat(coalesce(sql, name), ';') FROM sqlite_schema").unwrap();
            let schema: String = statement.query_row([], |row| row.get(0)).unwrap();
            let state: String = file
                .query_row(
                    "SELECT (SELECT group_concat(id || total || coalesce(note, '')) FROM orders)
                         || (SELECT group_concat(id || qty) FROM lines) || (SELECT count(*) FROM docs)
                         || (SELECT user_version FROM pragma_user_version)",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            (std::fs::read(&fixture.path).unwrap(), schema, state)
        };
        let before = digest();
        for _ in 0..CASES {
            let comment = chance.choose(&[" ", "/**/", "\n", " -- x\n", "/* ; */"]);
            let mut text = chance.choose(WRITES).replace("{Q}", chance.choose(QUERIES)).replace("{C}", comment);
            if chance.below(4) == 0 {
                text = format!("{comment}{}", text.to_ascii_lowercase());
            }
            if let Ok(rows) = fixture.read(&text).await {
                panic!("`{text}` went through: {rows:?}");
            }
        }
        assert_eq!(digest(), before);
        let words = all_words(&fixture.error("DELETE FROM orders", Access::ReadOnly).await);
        assert!(words.contains("may only read"), "{words}");
    }
}

//! Generated spellings of references to hidden objects: whatever the spelling and its place, nothing is found, and
//! nothing revealed. `PORTICO_SEED` repeats a run.

use crate::sqlite::tests::hiding::{CANARY, all_words, content, hiding};
use crate::sqlite::tests::{Fixture, plan, whole};
use crate::{Access, Plan};

/// References spelt in one run; most are followed by the same one to something that is exposed.
const CASES: usize = 3000;

/// Xorshift: the sequence of a seed must not change with a crate.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn from_environment() -> Self {
        let given = std::env::var("PORTICO_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs());
        let seed: u64 = given.unwrap_or_else(now);
        println!("PORTICO_SEED={seed}");
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    pub(crate) fn choose<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Queries of a table `{T}` with columns `id`, `secret` and `email`.
const QUERIES: &[&str] = &[
    "SELECT * FROM {T}",
    "SELECT count(*) FROM {T}",
    "SELECT 1 FROM {T}",
    "SELECT rowid FROM {T}",
    "SELECT secret FROM {T} AS x WHERE x.id > 0",
    "SELECT x.* FROM orders AS o, {T} AS x",
    "SELECT x.secret FROM orders AS o LEFT JOIN {T} AS x ON x.id = o.id",
    "SELECT secret FROM orders NATURAL JOIN {T}",
    "SELECT id FROM orders WHERE id IN (SELECT id FROM {T})",
    "SELECT id FROM orders WHERE (id, '', '') IN {T}",
    "SELECT (SELECT secret FROM {T} LIMIT 1) AS a",
    "SELECT id FROM orders UNION SELECT id FROM {T}",
    "SELECT id FROM orders EXCEPT SELECT id FROM {T}",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM {T})",
    "SELECT 1 WHERE 1 OR EXISTS (SELECT 1 FROM {T})",
    "SELECT CASE WHEN (SELECT count(*) FROM {T}) > 0 THEN 1 ELSE 0 END AS a",
    "SELECT id FROM orders ORDER BY (SELECT max(id) FROM {T})",
    "SELECT id FROM orders GROUP BY id HAVING count(*) < (SELECT count(*) + 9 FROM {T})",
    "SELECT id FROM orders LIMIT (SELECT count(*) FROM {T})",
    "SELECT sum(id) OVER (ORDER BY (SELECT max(id) FROM {T})) AS a FROM orders",
    "SELECT count(*) FILTER (WHERE id IN (SELECT id FROM {T})) AS a FROM orders",
    "SELECT value FROM json_each((SELECT json_group_array(secret) FROM {T}))",
    "WITH names AS (SELECT secret FROM {T}) SELECT * FROM names",
    "WITH totals AS MATERIALIZED (SELECT count(*) AS n FROM {T}) SELECT n FROM totals",
    "WITH RECURSIVE r (a) AS (SELECT secret FROM {T} UNION SELECT a FROM r) SELECT a FROM r",
    "SELECT * FROM (SELECT secret FROM {T}) AS names",
    "SELECT n.n, x.secret FROM names AS n, {T} AS x",
    "VALUES ((SELECT secret FROM {T}))",
];

/// The contexts of a query `{Q}`; the results are queries too.
const NESTING: &[&str] = &[
    "{Q}",
    "SELECT * FROM ({Q})",
    "SELECT count(*) FROM ({Q}) AS orders",
    "WITH w AS ({Q}) SELECT * FROM w",
    "WITH totals AS ({Q}) SELECT count(*) FROM totals, orders",
    "SELECT EXISTS ({Q}) AS a",
    "SELECT 1 AS a UNION ALL SELECT count(*) FROM ({Q})",
    "SELECT (SELECT count(*) FROM ({Q})) AS a, (SELECT count(*) FROM names) AS b",
];

/// Statements around a query.
const STATEMENTS: &[&str] = &[
    "{Q}",
    "{Q}",
    "{Q}",
    "EXPLAIN {Q}",
    "EXPLAIN QUERY PLAN {Q}",
    "CREATE TABLE made AS {Q}",
    "CREATE VIEW made AS {Q}",
    "CREATE VIEW IF NOT EXISTS main.made AS {Q}",
    "INSERT INTO orders (total) SELECT count(*) FROM ({Q})",
    "INSERT INTO lines (qty) VALUES ((SELECT count(*) FROM ({Q}))) RETURNING qty",
    "INSERT INTO lines (id) VALUES (1) ON CONFLICT DO UPDATE SET qty = (SELECT count(*) FROM ({Q}))",
    "UPDATE lines SET qty = (SELECT count(*) FROM ({Q}))",
    "UPDATE lines SET qty = 1 FROM ({Q}) AS f",
    "DELETE FROM lines WHERE (SELECT count(*) FROM ({Q})) > 0",
    "REPLACE INTO lines (id, qty) SELECT 1, count(*) FROM ({Q})",
];

/// Statements that write or define `{T}`.
const OTHERS: &[&str] = &[
    "INSERT INTO {T} (id, secret) VALUES (77, 'x')",
    "INSERT INTO {T} DEFAULT VALUES",
    "REPLACE INTO {T} (id) VALUES (1)",
    "INSERT OR IGNORE INTO {T} (id) SELECT id FROM orders",
    "INSERT INTO {T} (id) VALUES (1) ON CONFLICT DO NOTHING RETURNING secret",
    "UPDATE {T} SET secret = 'x'",
    "UPDATE {T} SET secret = 'x' RETURNING secret",
    "UPDATE {T} AS t SET secret = o.note FROM orders AS o",
    "UPDATE lines SET qty = x.secret FROM {T} AS x",
    "DELETE FROM {T}",
    "DELETE FROM {T} WHERE id = 1 RETURNING *",
    "WITH w AS (SELECT 1) DELETE FROM {T}",
    "DROP TABLE {T}",
    "ALTER TABLE {T} ADD COLUMN more",
    "ALTER TABLE {T} RENAME TO renamed",
    "ALTER TABLE {T} RENAME COLUMN secret TO open",
    "ALTER TABLE {T} DROP COLUMN secret",
    "CREATE TABLE made (a REFERENCES {B} (id))",
    "CREATE TABLE made (a, FOREIGN KEY (a) REFERENCES {B})",
    "ALTER TABLE lines ADD COLUMN a REFERENCES {B} (id)",
    "CREATE INDEX made ON {B} (secret)",
    "CREATE INDEX IF NOT EXISTS made ON {B} (id) WHERE id > 0",
    "ANALYZE {T}",
    "REINDEX {T}",
];

/// Statements by which SQLite reveals everything, as queries without `{T}`.
const EVERYTHING: &[&str] = &[
    "SELECT sql FROM sqlite_schema",
    "SELECT count(*) FROM \"SQLITE_MASTER\"",
    "SELECT name FROM main . [sqlite_schema]",
    "SELECT rowid FROM sqlite_master",
    "SELECT 1 FROM sqlite_temp_schema",
    "SELECT 1 FROM temp.sqlite_master",
    "SELECT seq FROM sqlite_sequence",
    "SELECT name FROM dbstat",
    "SELECT count(*) FROM dbstat('main')",
    "SELECT * FROM pragma_table_list",
    "SELECT name FROM pragma_table_info('hidden_' || 'people')",
    "SELECT count(*) FROM pragma_index_list('twin'), orders",
    "SELECT 1 FROM \"PRAGMA_table_xinfo\"('twin')",
    "SELECT file FROM pragma_database_list",
    "SELECT 1 FROM pragma_integrity_check",
    "SELECT c0 FROM sealed_content",
    "SELECT count(*) FROM main.\"sealed_DATA\"",
    "SELECT secret FROM sealed WHERE sealed MATCH 'canary'",
    "SELECT * FROM sealed('canary')",
    "SELECT secret FROM hidden_view",
    "SELECT rtreecheck('sealed')",
];

fn case(chance: &mut Chance, name: &str) -> String {
    match chance.below(3) {
        0 => name.to_owned(),
        1 => name.to_ascii_uppercase(),
        _ => name.chars().map(|each| if chance.below(2) == 0 { each } else { each.to_ascii_uppercase() }).collect(),
    }
}

fn quote(chance: &mut Chance, name: &str) -> String {
    match chance.below(5) {
        0 => format!("\"{name}\""),
        1 => format!("[{name}]"),
        2 => format!("`{name}`"),
        3 => format!("'{name}'"),
        _ => name.to_owned(),
    }
}

/// Spells `name` at random, with its schema or without.
fn spelt(chance: &mut Chance, name: &str, qualified: bool) -> String {
    const BLANKS: &[&str] = &["", " ", "/**/", "\t", "-- x\n", "/* ' */", "\n"];
    let named = case(chance, name);
    let named = quote(chance, &named);
    if !qualified || chance.below(2) == 0 {
        return format!("{}{named}", chance.choose(&["", " ", "/* \" */"]));
    }
    let schema = case(chance, "main");
    let schema = quote(chance, &schema);
    format!("{schema}{}.{}{named}", chance.choose(BLANKS), chance.choose(BLANKS))
}

/// A statement with places for a name: `{T}` may have a schema, `{B}` may not.
fn statement(chance: &mut Chance) -> String {
    if chance.below(4) == 0 {
        return chance.choose(OTHERS).to_owned();
    }
    if chance.below(8) == 0 {
        // Not nested: the engine drops what no result depends on, and does not check it then.
        let query = chance.choose(EVERYTHING);
        return chance.choose(STATEMENTS).replace("{Q}", query);
    }
    let mut query = chance.choose(QUERIES).to_owned();
    for _ in 0..chance.below(3) {
        query = chance.choose(NESTING).replace("{Q}", &query);
    }
    chance.choose(STATEMENTS).replace("{Q}", &query)
}

fn tried(text: &str) -> Plan {
    let mut plan = plan(text, Access::ReadWrite);
    plan.dry_run = true;
    plan
}

/// Returns what is wrong with the answer to a statement that uses hidden objects.
async fn fault(fixture: &Fixture, text: &str) -> Option<String> {
    let answer = match fixture.source.run(tried(text)).await {
        Ok(results) => whole(results).await,
        Err(error) => Err(error),
    };
    let words = match answer {
        Ok(rows) => return Some(format!("it went through: {rows:?}")),
        Err(error) => all_words(&error).to_ascii_lowercase(),
    };
    let text = text.to_ascii_lowercase();
    let names =
        ["hidden_people", "hidden_log", "hidden_child", "hidden_view", "hidden_index", "sealed", "secret", CANARY];
    let told = names.iter().find(|name| words.contains(**name) && !text.contains(**name));
    told.map(|name| format!("it tells of {name}: {words}"))
}

#[tokio::test]
async fn no_spelling_reaches_what_is_hidden() {
    let mut chance = Chance::from_environment();
    let fixture = hiding();
    let before = content(&fixture);
    let mut faults: Vec<(String, String)> = Vec::new();
    for number in 0..CASES {
        let form = statement(&mut chance);
        let (qualified, bare) = (spelt(&mut chance, "hidden_people", true), spelt(&mut chance, "hidden_people", false));
        let text = form.replace("{T}", &qualified).replace("{B}", &bare);
        if let Some(fault) = fault(&fixture, &text).await {
            faults.push((text, fault));
        }
        // The same reference to an exposed object works: the engine understands the form.
        if number % 4 == 0 && form.contains('{') {
            let (qualified, bare) = (spelt(&mut chance, "twin", true), spelt(&mut chance, "twin", false));
            let text = form.replace("{T}", &qualified).replace("{B}", &bare);
            let answer = match fixture.source.run(tried(&text)).await {
                Ok(results) => whole(results).await,
                Err(error) => Err(error),
            };
            let words = answer.err().map(|error| all_words(&error)).unwrap_or_default();
            let expected = words.is_empty() || words.contains("EXPLAIN of a statement that uses");
            assert!(expected, "{text}: {words}");
        }
    }
    let shortest = faults.iter().min_by_key(|(text, _)| text.len());
    assert!(faults.is_empty(), "{} of {CASES}; the shortest: {shortest:?}", faults.len());
    assert_eq!(content(&fixture), before);
}

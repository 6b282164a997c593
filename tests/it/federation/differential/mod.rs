//! Whether sources do the same as the engine would: random statements answer alike where sources do what they can and
//! where they hand over whole tables (`[federation] pushdown = false`).

use std::cell::RefCell;
use std::collections::BTreeMap;

use futures_util::StreamExt;
use portico_actors::event::Event;
use serde_json::{Value, json};

use super::sources;
use crate::support::app::TestApp;
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

const POSTGRES: &str = "
CREATE COLLATION apart (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE things (id int PRIMARY KEY, s smallint, n int, l bigint, p numeric(10, 2), q numeric, f float8, b boolean,
    t text, v varchar(8), c char(4), y text COLLATE apart, d date, ts timestamp, tz timestamptz, u uuid);
INSERT INTO things SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 7 END, CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 - 6 END,
    CASE i % 17 WHEN 0 THEN NULL WHEN 1 THEN 9007199254740993 ELSE i * 1000003 END,
    CASE WHEN i % 6 = 0 THEN NULL ELSE (i % 19) / 4.0 - 2 END, CASE WHEN i % 8 = 0 THEN NULL ELSE (i % 9) * 1.50 END,
    CASE WHEN i % 9 = 0 THEN NULL ELSE (i % 10) / 8.0 END, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END,
    (ARRAY['a', 'B', 'b', 'Ä', 'ä', 'z', '', ' a', 'a ', 'a%', 'a_b', 'Zoë', NULL])[i % 13 + 1],
    (ARRAY['x', 'X', 'y', '', 'x ', NULL])[i % 6 + 1], (ARRAY['p', 'p ', 'pq', '', NULL])[i % 5 + 1],
    (ARRAY['a', 'A', 'b', NULL])[i % 4 + 1], CASE WHEN i % 7 = 0 THEN NULL ELSE date '2024-02-27' + i % 9 END,
    CASE WHEN i % 7 = 1 THEN NULL ELSE timestamp '2024-02-28 23:30:00' + i % 9 * interval '20 minutes' END,
    CASE WHEN i % 7 = 2 THEN NULL ELSE timestamptz '2024-03-31 00:30:00+00' + i % 9 * interval '20 minutes' END,
    CASE WHEN i % 4 = 0 THEN NULL ELSE ('00000000-0000-4000-8000-' || lpad((i % 12)::text, 12, '0'))::uuid END
    FROM generate_series(1, 120) i;
CREATE TABLE few (id int PRIMARY KEY, n int, t text, c char(6), p numeric(6, 3), d date);
INSERT INTO few SELECT i, CASE WHEN i % 4 = 0 THEN NULL ELSE i - 4 END, (ARRAY['a', 'b', 'ä', NULL])[i % 4 + 1],
    (ARRAY['p', 'pq', NULL])[i % 3 + 1], i / 4.0, date '2024-02-27' + i FROM generate_series(1, 9) i;
ANALYZE things; ANALYZE few";

const SQLITE: &str = "
CREATE TABLE others (id INTEGER PRIMARY KEY, s SMALLINT, n INTEGER, l BIGINT, p DECIMAL(10, 2), f DOUBLE, b BOOLEAN,
    t TEXT, k TEXT COLLATE NOCASE, v VARCHAR(8), d DATE, ts TIMESTAMP);
WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 90)
INSERT INTO others SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 7 END, CASE WHEN i % 10 = 0 THEN NULL ELSE i % 12 - 5 END,
    CASE WHEN i % 9 = 1 THEN 9007199254740993 ELSE i * 1000003 END, CASE WHEN i % 6 = 1 THEN NULL ELSE (i % 19) * 0.25 - 2 END,
    CASE WHEN i % 9 = 0 THEN NULL ELSE (i % 10) / 8.0 END, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN 1 ELSE 0 END,
    CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'a' WHEN 2 THEN 'B' WHEN 3 THEN 'b' WHEN 4 THEN 'ä' WHEN 5 THEN '' WHEN 6 THEN 'a%' ELSE 'z' END,
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a' WHEN 2 THEN 'A' WHEN 3 THEN 'x' ELSE 'X' END,
    CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'x' WHEN 2 THEN 'X' ELSE '' END,
    CASE WHEN i % 7 = 0 THEN NULL ELSE date('2024-02-27', '+' || (i % 9) || ' days') END,
    CASE WHEN i % 7 = 1 THEN NULL ELSE datetime('2024-02-28 23:30:00', '+' || (i % 9 * 20) || ' minutes') END FROM i;
CREATE TABLE some (id INTEGER PRIMARY KEY, n INTEGER, t TEXT);
INSERT INTO some VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, NULL), (4, -3, 'ä'), (5, 5, 'B')";

/// What the values of a column are, as far as statements combine them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Number,
    Float,
    Text,
    Boolean,
    Date,
    Timestamp,
    Zoned,
    Uuid,
}

/// Name and kind of each column.
type Columns = &'static [(&'static str, Type)];

const TABLES: &[(&str, Columns)] = &[
    (
        "shop.public.things",
        &[
            ("id", Type::Number),
            ("s", Type::Number),
            ("n", Type::Number),
            ("l", Type::Number),
            ("p", Type::Number),
            ("q", Type::Number),
            ("f", Type::Float),
            ("b", Type::Boolean),
            ("t", Type::Text),
            ("v", Type::Text),
            ("c", Type::Text),
            ("y", Type::Text),
            ("d", Type::Date),
            ("ts", Type::Timestamp),
            ("tz", Type::Zoned),
            ("u", Type::Uuid),
        ],
    ),
    (
        "shop.public.few",
        &[
            ("id", Type::Number),
            ("n", Type::Number),
            ("t", Type::Text),
            ("c", Type::Text),
            ("p", Type::Number),
            ("d", Type::Date),
        ],
    ),
    (
        "crm.main.others",
        &[
            ("id", Type::Number),
            ("s", Type::Number),
            ("n", Type::Number),
            ("l", Type::Number),
            ("p", Type::Number),
            ("f", Type::Float),
            ("b", Type::Boolean),
            ("t", Type::Text),
            ("k", Type::Text),
            ("v", Type::Text),
            ("d", Type::Date),
            ("ts", Type::Timestamp),
        ],
    ),
    ("crm.main.some", &[("id", Type::Number), ("n", Type::Number), ("t", Type::Text)]),
];

/// The columns, each with a name of its own.
fn named(columns: impl Iterator<Item = String>) -> String {
    columns.enumerate().map(|(at, column)| format!("{column} AS r{at}")).collect::<Vec<_>>().join(", ")
}

/// Draws one statement.
struct Draw<'a> {
    random: &'a mut Random,
    /// Aliases in scope, with their columns.
    scope: Vec<(String, Columns)>,
    aliases: usize,
}

impl Draw<'_> {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn table(&mut self) -> (String, Columns) {
        let (name, columns) = TABLES[self.random.below(TABLES.len())];
        let alias = format!("a{}", self.aliases);
        self.aliases += 1;
        self.scope.push((alias.clone(), columns));
        (format!("{name} {alias}"), columns)
    }

    /// A column of this kind of what is in scope from `from` on.
    fn column(&mut self, kind: Type, from: usize) -> Option<String> {
        let fits: Vec<String> = self.scope[from..]
            .iter()
            .flat_map(|(alias, columns)| columns.iter().map(move |(name, type_)| (alias, name, *type_)))
            .filter(|(_, _, type_)| *type_ == kind)
            .map(|(alias, name, _)| format!("{alias}.{name}"))
            .collect();
        (!fits.is_empty()).then(|| fits[self.random.below(fits.len())].clone())
    }

    fn literal(&mut self, kind: Type) -> String {
        match kind {
            Type::Number => self.one(&["0", "1", "-3", "2.5", "9007199254740993", "1.50", "0.250", "100"]).to_owned(),
            Type::Float => self.one(&["0.5", "CAST(0.125 AS DOUBLE PRECISION)", "1"]).to_owned(),
            Type::Text => self.one(&["'a'", "'B'", "'ä'", "''", "'a '", "'p'", "'x'", "'z'", "' '"]).to_owned(),
            Type::Boolean => self.one(&["true", "false"]).to_owned(),
            Type::Date => self.one(&["DATE '2024-02-29'", "DATE '2024-03-01'", "DATE '1999-12-31'"]).to_owned(),
            Type::Timestamp => {
                self.one(&["TIMESTAMP '2024-02-29 00:10:00'", "TIMESTAMP '2024-02-28 23:30:00'"]).to_owned()
            }
            Type::Zoned => "CAST('2024-03-31T01:10:00Z' AS TIMESTAMP WITH TIME ZONE)".to_owned(),
            Type::Uuid => "'00000000-0000-4000-8000-000000000007'".to_owned(),
        }
    }

    fn value(&mut self, kind: Type, from: usize, depth: usize) -> String {
        if depth > 0 && self.chance(30) {
            let (one, other) = (self.value(kind, from, depth - 1), self.value(kind, from, depth - 1));
            match kind {
                // Which of two conditions is looked at first is nobody's to say: products do not overflow.
                Type::Number if self.chance(30) => return format!("({one} * {})", self.one(&["2", "-1", "0.5"])),
                Type::Number => return format!("({one} {} {other})", self.one(&["+", "-"])),
                Type::Text if self.chance(50) => return format!("substr({one}, {})", self.one(&["1, 1", "2", "1, 3"])),
                Type::Text => return format!("({one} || {other})"),
                _ => return format!("coalesce({one}, {other})"),
            }
        }
        if depth > 0 && self.chance(10) {
            let (when, then, other) = (self.condition(from, 0), self.value(kind, from, 0), self.value(kind, from, 0));
            return format!("CASE WHEN {when} THEN {then} ELSE {other} END");
        }
        match self.column(kind, from) {
            Some(column) if self.chance(80) => column,
            _ => self.literal(kind),
        }
    }

    /// A value to group by: a bare literal would be a column's number there.
    fn key(&mut self, kind: Type) -> String {
        match self.column(kind, 0) {
            Some(column) if self.chance(90) => column,
            _ => {
                let number = self.column(Type::Number, 0).expect("every table has a number");
                format!("CASE WHEN {number} > 2 THEN {} ELSE {} END", self.literal(kind), self.literal(kind))
            }
        }
    }

    fn kind(&mut self) -> Type {
        self.one(&[
            Type::Number,
            Type::Number,
            Type::Number,
            Type::Text,
            Type::Text,
            Type::Text,
            Type::Date,
            Type::Timestamp,
            Type::Boolean,
            Type::Float,
            Type::Zoned,
            Type::Uuid,
        ])
    }

    fn condition(&mut self, from: usize, depth: usize) -> String {
        if depth > 0 && self.chance(35) {
            let (one, other) = (self.condition(from, depth - 1), self.condition(from, depth - 1));
            return match self.random.below(4) {
                0 => format!("({one} OR {other})"),
                1 => format!("NOT ({one})"),
                _ => format!("({one} AND {other})"),
            };
        }
        let kind = self.kind();
        let value = self.value(kind, from, depth.min(1));
        match self.random.below(9) {
            0 => format!("{value} IS {}NULL", self.one(&["", "NOT "])),
            1 => {
                let listed: Vec<String> = (0..=self.random.below(3)).map(|_| self.literal(kind)).collect();
                format!("{value} {}IN ({})", self.one(&["", "NOT "]), listed.join(", "))
            }
            2 if kind == Type::Text => {
                let pattern = self.one(&["'a%'", "'%b'", "'_'", "'a\\%'", "'%'", "'Z%'", "''"]);
                format!("{value} {}LIKE {pattern}", self.one(&["", "NOT "]))
            }
            3 => format!("{value} BETWEEN {} AND {}", self.literal(kind), self.literal(kind)),
            4 => format!("{value} IS {}DISTINCT FROM {}", self.one(&["", "NOT "]), self.value(kind, from, 0)),
            _ if kind == Type::Boolean => value,
            _ => {
                let operator = self.one(&["=", "=", "<>", "<", "<=", ">", ">="]);
                format!("{value} {operator} {}", self.value(kind, from, 0))
            }
        }
    }

    /// A condition that joins what stands last with what stands before it.
    fn join_condition(&mut self) -> String {
        let last = self.scope.len() - 1;
        let mut equal = Vec::new();
        for _ in 0..=usize::from(self.chance(25)) {
            let kind = self.one(&[Type::Number, Type::Number, Type::Text, Type::Date]);
            if let Some(right) = self.column(kind, last) {
                let held = self.scope.pop().unwrap();
                let left = self.column(kind, 0);
                self.scope.push(held);
                equal.extend(left.map(|left| format!("{left} = {right}")));
            }
        }
        if equal.is_empty() || self.chance(15) {
            equal.push(self.condition(last, 0));
        }
        equal.join(" AND ")
    }

    /// A query of so many columns of these kinds.
    fn select(&mut self, kinds: &[Type], outer: bool) -> String {
        let (scope, from) = (self.scope.clone(), self.scope.len());
        self.scope.clear();
        let (mut text, _) = self.table();
        for _ in 0..self.one(&[0, 1, 1, 1, 2]) {
            let join = self.one(&["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let (table, _) = self.table();
            let on = self.join_condition();
            text.push_str(&format!(" {join} {table} ON {on}"));
        }
        let mut conditions: Vec<String> = (0..self.random.below(3)).map(|_| self.condition(0, 2)).collect();
        if outer && self.chance(30) {
            conditions.push(self.subquery());
        }
        let condition =
            if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let text = if self.chance(30) {
            let keys: Vec<String> = kinds[1..].iter().map(|kind| self.key(*kind)).collect();
            let number = self.column(Type::Number, 0).expect("every table has a number");
            let counted = match self.random.below(6) {
                0 => "count(*)".to_owned(),
                1 => format!("count(DISTINCT {number})"),
                2 => format!("min({number})"),
                3 => format!("max({number})"),
                4 => format!("sum({number})"),
                _ => format!("count({number})"),
            };
            let grouped = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
            let columns = named(std::iter::once(counted).chain(keys));
            let having = if !grouped.is_empty() && self.chance(30) { " HAVING count(*) > 1" } else { "" };
            format!("SELECT {columns} FROM {text}{condition}{grouped}{having}")
        } else {
            let columns = named(kinds.iter().map(|kind| self.value(*kind, 0, 1)));
            let distinct = if self.chance(15) { "DISTINCT " } else { "" };
            format!("SELECT {distinct}{columns} FROM {text}{condition}")
        };
        self.scope = scope;
        debug_assert_eq!(self.scope.len(), from);
        text
    }

    fn subquery(&mut self) -> String {
        let kind = self.one(&[Type::Number, Type::Text, Type::Date]);
        let value = self.column(kind, 0).unwrap_or_else(|| self.literal(kind));
        let held = std::mem::take(&mut self.scope);
        let (table, _) = self.table();
        let column = self.column(kind, 0).unwrap_or_else(|| "NULL".to_owned());
        let inner = self.condition(0, 1);
        self.scope = held;
        match self.random.below(4) {
            0 => format!("{value} NOT IN (SELECT {column} FROM {table} WHERE {inner})"),
            1 => format!("EXISTS (SELECT 1 FROM {table} WHERE {column} = {value} AND {inner})"),
            2 => format!("NOT EXISTS (SELECT 1 FROM {table} WHERE {column} = {value} AND {inner})"),
            _ => format!("{value} IN (SELECT {column} FROM {table} WHERE {inner})"),
        }
    }

    /// A whole statement: whole results in any order, or the first rows in a complete one.
    fn statement(&mut self) -> String {
        let mut kinds = vec![Type::Number];
        kinds.extend((0..self.random.below(3)).map(|_| self.kind()));
        let mut text = self.select(&kinds, true);
        if self.chance(15) {
            let operator = self.one(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            let other = self.select(&kinds, false);
            text = format!("{text} {operator} {other}");
        }
        if self.chance(40) {
            let order: Vec<String> = (1..=kinds.len())
                .map(|place| format!("{place} {} NULLS {}", self.one(&["ASC", "DESC"]), self.one(&["FIRST", "LAST"])))
                .collect();
            text = format!("SELECT * FROM ({text}) AS x ORDER BY {}", order.join(", "));
            if self.chance(60) {
                text.push_str(&format!(" LIMIT {}", self.one(&[1, 3, 10])));
            }
        }
        text
    }
}

/// A failure's code, and its words.
#[derive(Debug)]
struct Failure(String, String);

/// What the log has of internal errors so far.
fn causes(app: &TestApp) -> Vec<String> {
    let causes: RefCell<Vec<String>> = RefCell::default();
    app.told(|event| {
        if let Event::CallEnded(call) = event {
            causes.borrow_mut().extend(call.cause.clone());
        }
        false
    });
    causes.into_inner()
}

/// The rows of an answer in one order, or why there are none.
async fn outcome(app: &TestApp, query: &str) -> Result<Vec<String>, Failure> {
    let (status, answer) = app.query(json!({"query": query, "timeout": 60})).await;
    if status != 200 {
        // A source tells its own failure in its own words.
        let error = &answer["error"];
        let code = error["sqlState"].as_str().map_or_else(|| error["code"].to_string(), str::to_owned);
        return Err(Failure(code, causes(app).pop().unwrap_or_else(|| error["message"].to_string())));
    }
    let result = &answer["results"][0];
    if result.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Failure("while reading".to_owned(), result["error"].to_string()));
    }
    let mut rows: Vec<String> = result["rows"].as_array().unwrap().iter().map(Value::to_string).collect();
    if !query.contains("ORDER BY") {
        rows.sort();
    }
    Ok(rows)
}

/// Statements of a run, unless `PORTICO_CASES` says another number: each takes 50 ms of a processor here, where the engine
/// is not optimised, and 100 s are enough for one test.
const MOST: usize = 2_000;

#[actix_web::test]
async fn sources_answer_as_the_engine_would() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(POSTGRES).await.unwrap();
    let pushing = sources(&url, SQLITE, "").await;
    let local = sources(&url, SQLITE, "[federation]\npushdown = false\n").await;
    let mut random = Random::seeded("differential");
    let number = cases(MOST);
    let mut statements = Vec::new();
    while statements.len() < number {
        let statement = Draw { random: &mut random, scope: Vec::new(), aliases: 0 }.statement();
        // One connection's statements never come to the engine.
        if statement.contains("shop.") && statement.contains("crm.") {
            statements.push(statement);
        }
    }
    let tried: Vec<(String, _, _)> = futures_util::stream::iter(statements)
        .map(|statement| async {
            let (one, other) = (outcome(&pushing, &statement).await, outcome(&local, &statement).await);
            (statement, one, other)
        })
        .buffer_unordered(2)
        .collect()
        .await;
    let mut refused: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut differ = Vec::new();
    for (statement, one, other) in &tried {
        match (one, other) {
            (Ok(one), Ok(other)) if one == other => {}
            (Err(one), Err(other)) if one.0 == other.0 => {
                // What differs from one statement to the next are names and figures.
                let words: String = one.1.chars().filter(|each| !each.is_ascii_digit()).take(80).collect();
                let told = format!("{} {words}", one.0);
                refused.entry(told).or_insert_with(|| (0, format!("{statement}\n  {}", one.1))).0 += 1;
            }
            _ => differ.push(format!("{statement}\n  sources: {one:?}\n  engine:  {other:?}")),
        }
    }
    let count: usize = refused.values().map(|(count, _)| count).sum();
    for (why, (count, statement)) in &refused {
        say(&format!("{count} refused with {why}: {statement}"));
    }
    say(&format!("{} statements, {count} refused alike", tried.len()));
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), tried.len(), differ.join("\n"));
    assert_eq!(causes(&pushing).into_iter().chain(causes(&local)).collect::<Vec<_>>(), [""; 0], "internal errors");
    assert!(count * 20 <= tried.len(), "{count} of {} were refused", tried.len());
    let pushed = pushed(&pushing);
    assert!(pushed.0 * 100 >= pushed.1 * 60, "only {} of {} statements had a source do something", pushed.0, pushed.1);
}

/// Of how many statements a source filtered, joined, grouped or cut something, and of how many in all.
fn pushed(app: &TestApp) -> (usize, usize) {
    let trail = std::fs::read_to_string(app.config.with_file_name("audit.jsonl")).unwrap();
    let records = trail.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sent: Vec<Vec<String>> = records
        .filter_map(|record| {
            let sent = record["sent"].as_array()?.iter().map(|sent| sent["statement"].to_string());
            Some(sent.collect())
        })
        .collect();
    let does = |text: &String| {
        [" WHERE ", " JOIN ", " GROUP BY ", " LIMIT ", "count(", "min(", "max(", "sum("]
            .iter()
            .any(|word| text.contains(word))
    };
    (sent.iter().filter(|texts| texts.iter().any(does)).count(), sent.len())
}

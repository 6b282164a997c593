//! Whether values become others in the engine as they do in PostgreSQL: casts, and what makes text of other values.

use serde_json::{Value, json};

use tokio_postgres::Client;

use super::sources;
use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const TABLES: &str = "
CREATE TABLE kinds (id int, s smallint, i int, l bigint, n numeric, p numeric(10, 3), f float8, r real, b boolean, t text,
    v varchar(9), c char(5), d date, ts timestamp, tz timestamptz, h time, o bytea, u uuid);
INSERT INTO kinds VALUES
    (1, 3, 7, 9007199254740993, 1.500, 2.5, 1, 1, true, '12', '1.5', 'ab', '2026-02-03', '2026-02-03 04:05:06',
        '2026-02-03 04:05:06+02', '01:02:03', '\\x0102', '6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11'),
    (2, -3, -7, -1, -0.05, -2.545, -0.1, 0.1, false, ' -7 ', 'yes', '', '1999-12-31', '1999-12-31 23:59:59.123456',
        '1999-12-31 23:59:59.5Z', '23:59:59.999999', '', '00000000-0000-0000-0000-000000000000'),
    (3, 0, 2147483647, 0, 0, 0, 1e300, 1e20, NULL, 'f', 'off', 'x y', '0044-03-15', '0044-03-15 00:00:00', '1582-10-15', '00:00',
        '\\xff00', NULL),
    (4, 1, 0, 1, 123456789012.345, 0.001, 1e-7, 1.5, true, '2026-02-03', '1e3', ' a', '9999-12-31', '9999-12-31 12:00:00.5',
        '9999-12-31 00:00:00Z', '12:34:56.7', 'abc', NULL),
    (5, 1, 0, 1, 1, 1, 'NaN', 'Infinity', true, '2026-02-03 04:05:06.7', 'NaN', 'é', '2024-02-29', '2024-02-29 00:00:00.000001', NULL,
        NULL, NULL, NULL),
    (6, 1, 0, 1, 1, 1, 123456789012345680, 16777216, true, '2026-02-03 04:05:06+02', 'inf', 'tRue', NULL, NULL, NULL, NULL, NULL, NULL),
    (7, 1, 0, 1, 1, 1, 1234567890123456, 123456, true, '', '', '', NULL, NULL, NULL, NULL, NULL, NULL),
    (8, 1, 0, 1, 1, 1, 0.00001, 0.00012345, true, '99999999999', '-0', '', NULL, NULL, NULL, NULL, NULL, NULL),
    (9, 1, 0, 1, 1, 1, '-0', '-0', true, '04:05', '0x1F', '', NULL, NULL, NULL, NULL, NULL, NULL),
    (10, 1, 0, 1, 2.5, 3.5, 2.5, -3.5, true, '1_000', '1.', '', NULL, NULL, NULL, NULL, NULL, NULL)";

/// Columns of `TABLES` that become others.
const COLUMNS: &[&str] = &["s", "i", "l", "n", "p", "f", "r", "b", "t", "v", "c", "d", "ts", "tz", "h", "o"];
const TYPES: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "numeric(10, 1)",
    "numeric(4, 2)",
    "real",
    "double precision",
    "boolean",
    "text",
    "varchar",
    "varchar(2)",
    "char(3)",
    "char",
    "date",
    "timestamp",
    "timestamptz",
    "time",
];
/// What makes text of other values, with `$` for the column.
const TEXTS: &[&str] =
    &["$ || '!'", "'<' || $", "concat($, '|')", "concat_ws('-', $, 'x')", "coalesce(CAST($ AS text), 'none')"];

/// Whether both texts are the same. An exact number has ten digits behind the point here, and there as many as it needs.
fn is_same(expression: &str, told: Option<&str>, expected: Option<&str>) -> bool {
    told == expected || (expression.contains("numeric") && trimmed(told) == trimmed(expected))
}

/// Whether an expression's value here and there is the same.
pub(super) type Same = fn(&str, Option<&str>, Option<&str>) -> bool;

type Texts = Result<Vec<Option<String>>, String>;

/// A database with the kinds of values, and a service whose engine reads it beside a table of another connection.
pub(super) async fn kinds() -> (Client, TestApp) {
    let url = fixture::postgres().await;
    let database = connect(&url).await;
    database.batch_execute(&format!("{TABLES}; SET timezone = 'UTC'")).await.unwrap();
    let one = "CREATE TABLE one (id BIGINT); WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 10) \
               INSERT INTO one SELECT i FROM i";
    let app = sources(&url, one, "[federation]\npushdown = false\n").await;
    (database, app)
}

/// The texts that PostgreSQL answers.
pub(super) async fn texts_there(database: &Client, query: &str) -> Texts {
    let rows = database.query(query, &[]).await;
    rows.map(|rows| rows.iter().map(|row| row.get(0)).collect())
        .map_err(|error| error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned()))
}

/// The texts that the engine answers.
pub(super) async fn texts_here(app: &TestApp, query: &str) -> Texts {
    let (status, answer) = app.query(json!({"query": query})).await;
    let result = &answer["results"][0];
    if status != 200 || !result["error"].is_null() {
        return Err(answer.to_string());
    }
    let text = |row: &Value| match &row[0] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(format!("{other}, which is no text")),
    };
    Ok(result["rows"].as_array().unwrap().iter().map(text).collect())
}

/// Without the zeros behind the point of a number.
pub(super) fn trimmed(text: Option<&str>) -> Option<&str> {
    text.map(|text| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text })
}

/// The values of the expression in PostgreSQL, of all rows or of one.
async fn there(database: &Client, expression: &str, row: Option<u32>) -> Texts {
    let only = row.map(|row| format!("WHERE id = {row}")).unwrap_or_default();
    let query = format!("SELECT CAST({expression} AS text) FROM kinds k {only} ORDER BY id");
    texts_there(database, &query).await
}

/// The same in the engine.
async fn here(app: &TestApp, expression: &str, row: Option<u32>) -> Texts {
    let only = row.map(|row| format!("WHERE k.id = {row}")).unwrap_or_default();
    texts_here(app, &format!("SELECT CAST({expression} AS text) AS value FROM {BOTH} {only} ORDER BY k.id")).await
}

/// The rows of `kinds`, told by an engine over two connections.
pub(super) const BOTH: &str = "shop.public.kinds k JOIN crm.main.one o ON o.id = k.id";

/// Tells of the expression, behind which `tail` follows, where the type of its result is another one than its own
/// connection has it; nothing where either refuses it.
pub(super) async fn other_type(app: &TestApp, expression: &str, tail: &str) -> Option<String> {
    let type_of = async |from: &str| {
        let query = format!("SELECT {expression} AS value FROM {from} {tail}");
        let (status, answer) = app.query(json!({"query": query, "schemaOnly": true})).await;
        let name = &answer["results"][0]["schema"][0]["dataTypeName"];
        (status == 200).then(|| name.as_str().unwrap().to_owned())
    };
    let (there, here) = (type_of("shop.public.kinds k").await?, type_of(BOTH).await?);
    // The engine has UUIDs as texts, and one that it computes stays one.
    let is_computed = (there.as_str(), here.as_str()) == ("UUID", "VARCHAR");
    (there != here && !is_computed).then(|| format!("{expression}: in PostgreSQL it is {there}, here {here}"))
}

/// Refused alike, or a value that is refused here; never another value.
#[actix_web::test]
async fn values_become_others_as_in_postgresql() {
    let (database, app) = kinds().await;
    let mut expressions: Vec<String> = COLUMNS
        .iter()
        .flat_map(|column| {
            let casts = TYPES.iter().map(move |type_| format!("CAST(k.{column} AS {type_})"));
            // Its blanks at the end are none of its text here.
            let texts = TEXTS.iter().filter(move |text| *column != "c" || !text.starts_with("concat"));
            casts.chain(texts.map(move |text| text.replace('$', &format!("k.{column}"))))
        })
        .collect();
    // As PostgreSQL shows them, so that types do not count.
    expressions.extend(["k.f", "k.r"].map(|column| format!("CAST({column} AS text)")));
    compare(&database, &app, expressions, is_same).await;
}

/// Compares what both answer, row by row.
pub(super) async fn compare(database: &Client, app: &TestApp, expressions: Vec<String>, is_same: Same) {
    let (mut differ, mut refused, mut compared) = (Vec::new(), Vec::new(), 0);
    for expression in expressions {
        differ.extend(other_type(app, &expression, "").await);
        // All rows at once, or each by itself where one of them is refused.
        let rows = match (there(database, &expression, None).await, here(app, &expression, None).await) {
            (Ok(there), Ok(here)) => there.into_iter().zip(here).map(|(there, here)| (Ok(here), Ok(there))).collect(),
            _ => {
                let mut rows = Vec::new();
                for row in 1..=10 {
                    let there = there(database, &expression, Some(row)).await.map(|mut rows| rows.remove(0));
                    let here = here(app, &expression, Some(row)).await.map(|mut rows| rows.remove(0));
                    rows.push((here, there));
                }
                rows
            }
        };
        for (row, (told, expected)) in rows.into_iter().enumerate() {
            match (told, expected) {
                (Ok(told), Ok(expected)) if is_same(&expression, told.as_deref(), expected.as_deref()) => compared += 1,
                (Err(_), Err(_)) => {}
                (Err(told), Ok(expected)) => refused.push(format!("{expression} of {}: {expected:?}, {told}", row + 1)),
                (told, expected) => differ
                    .push(format!("{expression} of {}\n  PostgreSQL: {expected:?}\n  Portico:    {told:?}", row + 1)),
            }
        }
    }
    crate::walls::server::say(&format!("{compared} compared; refused here:\n{}", refused.join("\n")));
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

//! Compares what the engine answers with what PostgreSQL answers, expression by expression.

use std::collections::VecDeque;

use serde_json::{Value, json};

use tokio_postgres::Client;

use super::sources;
use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

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

/// Its columns, of a type each.
pub(super) const COLUMNS: &[&str] =
    &["s", "i", "l", "n", "p", "f", "r", "b", "t", "v", "c", "d", "ts", "tz", "h", "o", "u"];

/// The rows of `kinds`, told by an engine over two connections.
pub(super) const BOTH: &str = "shop.public.kinds k JOIN crm.main.one o ON o.id = k.id";
/// The same, told by their own connection.
const ALONE: &str = "shop.public.kinds k";
/// Rows of `kinds`.
const ROWS: usize = 10;
/// Expressions that are asked for at once.
const AT_ONCE: usize = 16;

/// Its digits are kept where nothing else computes with it.
const BY_ITSELF: &str = "k.n";

/// Whether an expression's value here and there is the same.
pub(super) type Same = fn(&str, Option<&str>, Option<&str>) -> bool;

/// What is answered in place of values.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    state: String,
    pub(super) words: String,
}

impl Refusal {
    /// Whether rows have nothing to do with it.
    pub(super) fn is_of_statement(&self) -> bool {
        ["42", "0A"].iter().any(|class| self.state.starts_with(class))
    }
}

/// The texts of each row.
type Texts<T = Option<String>> = Result<Vec<T>, Refusal>;

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
    rows.map(|rows| rows.iter().map(|row| row.get(0)).collect()).map_err(|error| {
        let error = error.as_db_error().unwrap_or_else(|| panic!("{query}: {error}"));
        Refusal { state: error.code().code().to_owned(), words: error.message().to_owned() }
    })
}

/// The texts of each row that the engine answers.
async fn rows_here(app: &TestApp, query: &str) -> Texts<Vec<Option<String>>> {
    let (status, answer) = app.query(json!({"query": query})).await;
    let result = &answer["results"][0];
    let error = if status == 200 { &result["error"] } else { &answer["error"] };
    if !error.is_null() {
        let state = error["sqlState"].as_str().unwrap_or_default().to_owned();
        return Err(Refusal { state, words: error.to_string() });
    }
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(format!("{other}, which is no text")),
    };
    let rows = result["rows"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    Ok(rows.iter().map(|row| row.as_array().unwrap().iter().map(text).collect()).collect())
}

/// The texts that the engine answers.
pub(super) async fn texts_here(app: &TestApp, query: &str) -> Texts {
    Ok(rows_here(app, query).await?.into_iter().map(|mut row| row.remove(0)).collect())
}

/// Without the zeros behind the point of a number.
pub(super) fn trimmed(text: Option<&str>) -> Option<&str> {
    text.map(|text| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text })
}

/// The values of the expression in PostgreSQL, of all rows or of one.
async fn there(database: &Client, expression: &str, row: Option<usize>) -> Texts {
    let only = row.map(|row| format!("WHERE id = {row}")).unwrap_or_default();
    let query = format!("SELECT CAST({expression} AS text) FROM kinds k {only} ORDER BY id");
    texts_there(database, &query).await
}

/// The same in the engine, of several expressions.
async fn here(app: &TestApp, expressions: &[String], row: Option<usize>) -> Texts<Vec<Option<String>>> {
    let only = row.map(|row| format!("WHERE k.id = {row}")).unwrap_or_default();
    let list = listed(expressions, |expression| format!("CAST({expression} AS text)"));
    rows_here(app, &format!("SELECT {list} FROM {BOTH} {only} ORDER BY k.id")).await
}

fn listed(expressions: &[String], written: impl Fn(&str) -> String) -> String {
    let each = expressions.iter().enumerate().map(|(place, expression)| format!("{} AS v{place}", written(expression)));
    each.collect::<Vec<_>>().join(", ")
}

/// Asks for many expressions at once, and for each half of those that are refused together: each expression with its answer.
async fn in_parts<T>(
    expressions: &[String],
    ask: impl AsyncFn(&[String]) -> Result<Vec<T>, Refusal>,
) -> Vec<(String, Result<T, Refusal>)> {
    let mut answers = Vec::new();
    let (alone, others): (Vec<String>, Vec<String>) =
        expressions.iter().cloned().partition(|each| each.contains(BY_ITSELF));
    let mut parts: VecDeque<&[String]> = others.chunks(AT_ONCE).chain(alone.chunks(1)).collect();
    while let Some(part) = parts.pop_front() {
        match (ask(part).await, part) {
            (Ok(each), _) => {
                assert_eq!(each.len(), part.len(), "{part:?}");
                answers.extend(part.iter().cloned().zip(each.into_iter().map(Ok)));
            }
            (Err(refusal), [expression]) => answers.push((expression.clone(), Err(refusal))),
            (Err(_), _) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([first, second]);
            }
        }
    }
    answers
}

/// Tells of each expression, behind whose table `tail` follows, where the type of its result is another one than its own
/// connection has it; nothing where either refuses it.
pub(super) async fn other_types(app: &TestApp, expressions: &[String], tail: &str) -> Vec<String> {
    let types_of = async |from: &str, expressions: &[String]| {
        let query = format!("SELECT {} FROM {from} {tail}", listed(expressions, str::to_owned));
        let (status, answer) = app.query(json!({"query": query, "schemaOnly": true})).await;
        if status != 200 {
            return Err(Refusal { state: String::new(), words: answer.to_string() });
        }
        let columns = answer["results"][0]["schema"].as_array().unwrap();
        Ok(columns.iter().map(|column| column["dataTypeName"].as_str().unwrap().to_owned()).collect())
    };
    let there = in_parts(expressions, async |part| types_of(ALONE, part).await).await;
    let (known, types): (Vec<String>, Vec<String>) =
        there.into_iter().filter_map(|(expression, type_)| Some((expression, type_.ok()?))).unzip();
    let here = in_parts(&known, async |part| types_of(BOTH, part).await).await;
    let other = here.into_iter().filter_map(|(expression, here)| {
        let there = &types[known.iter().position(|known| *known == expression)?];
        let here = here.ok()?;
        // The engine has UUIDs as texts, and one that it computes stays one.
        let is_computed = (there.as_str(), here.as_str()) == ("UUID", "VARCHAR");
        (*there != here && !is_computed).then(|| format!("{expression}: in PostgreSQL it is {there}, here {here}"))
    });
    other.collect()
}

/// Compares what both answer, row by row: refused alike, or a value that is refused here; never another value.
pub(super) async fn compare(database: &Client, app: &TestApp, expressions: Vec<String>, is_same: Same) {
    let mut differ = other_types(app, &expressions, "").await;
    let (mut refused, mut compared) = (Vec::new(), 0);
    let (mut answered, mut others) = (Vec::new(), Vec::new());
    for expression in expressions {
        match there(database, &expression, None).await {
            Ok(values) => answered.push((expression, values)),
            Err(refusal) => others.push((expression, refusal.is_of_statement())),
        }
    }
    // What the engine says of its own insides is nobody's remedy.
    let is_riddle = |told: &Refusal| told.words.contains("DataFusion") || told.words.contains("internal error");
    let mut tell = |expression: &str, row: usize, told: Result<Option<String>, Refusal>, expected: Texts| {
        let expected = expected.map(|mut values| values.remove(0));
        match (told, expected) {
            (Ok(told), Ok(expected)) if is_same(expression, told.as_deref(), expected.as_deref()) => compared += 1,
            (Err(told), expected) if is_riddle(&told) => {
                differ.push(format!("{expression} of {row}: {expected:?}, {told:?}"));
            }
            (Err(_), Err(_)) => {}
            (Err(told), Ok(expected)) => refused.push(format!("{expression} of {row}: {expected:?}, {}", told.words)),
            (told, expected) => {
                differ.push(format!("{expression} of {row}\n  PostgreSQL: {expected:?}\n  Portico:    {told:?}"));
            }
        }
    };
    let names: Vec<String> = answered.iter().map(|(expression, _)| expression.clone()).collect();
    let columns = async |part: &[String]| {
        let rows = here(app, part, None).await?;
        Ok((0..part.len()).map(|place| rows.iter().map(|row| row[place].clone()).collect::<Vec<_>>()).collect())
    };
    for (expression, told) in in_parts(&names, columns).await {
        let expected = answered.iter().find(|(name, _)| *name == expression).map(|(_, values)| values).unwrap();
        match told {
            Ok(told) => {
                assert_eq!(told.len(), expected.len(), "{expression}");
                for (row, (told, expected)) in told.into_iter().zip(expected).enumerate() {
                    tell(&expression, row + 1, Ok(told), Ok(vec![expected.clone()]));
                }
            }
            Err(told) if told.is_of_statement() => tell(&expression, 0, Err(told), Ok(expected.clone())),
            Err(_) => others.push((expression, false)),
        }
    }
    let (of_statement, of_rows): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(_, is_of_statement)| *is_of_statement);
    for (expression, _) in of_statement {
        let one = [expression];
        let told = here(app, &one, None).await.map(|mut rows| rows.remove(0).remove(0));
        tell(&one[0], 0, told, there(database, &one[0], None).await);
    }
    let of_rows: Vec<String> = of_rows.into_iter().map(|(expression, _)| expression).collect();
    for row in 1..=ROWS {
        let values = async |part: &[String]| here(app, part, Some(row)).await.map(|mut rows| rows.remove(0));
        for (expression, told) in in_parts(&of_rows, values).await {
            let expected = there(database, &expression, Some(row)).await;
            tell(&expression, row, told, expected);
        }
    }
    say(&format!("{compared} compared; refused here:\n{}", refused.join("\n")));
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

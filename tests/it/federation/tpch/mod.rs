//! The 22 queries of TPC-H over two connections answer digit for digit as one PostgreSQL with all tables does.

mod data;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_postgres::{Client, SimpleQueryMessage};

use data::{TABLES, load, queries, rows};

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};

const SCALE: f64 = 0.1;

/// The tables that stand at the second connection.
const APART: &[&str] = &["lineitem", "part", "partsupp", "supplier"];

/// All tables in one database.
async fn load_postgres(database: &Client) {
    for (table, _) in TABLES {
        load(database, table, &rows(table, SCALE)).await;
    }
}

/// What stands at the second connection, in a file.
fn load_sqlite(file: &std::path::Path) {
    let mut database = rusqlite::Connection::open(file).unwrap();
    for (table, columns) in TABLES.iter().filter(|(table, _)| APART.contains(table)) {
        let inserting = database.transaction().unwrap();
        inserting.execute_batch(&format!("CREATE TABLE {table} ({columns})")).unwrap();
        let rows = rows(table, SCALE);
        let places = vec!["?"; rows[0].matches('|').count()].join(", ");
        let mut insert = inserting.prepare(&format!("INSERT INTO {table} VALUES ({places})")).unwrap();
        for row in &rows {
            let values = row.strip_suffix('|').unwrap_or(row).split('|');
            insert.execute(rusqlite::params_from_iter(values)).unwrap();
        }
        drop(insert);
        inserting.commit().unwrap();
    }
    database.execute_batch("ANALYZE").unwrap();
}

type Rows = Vec<Vec<Option<String>>>;

/// What PostgreSQL answers by itself.
async fn expected(database: &Client, query: &str) -> Rows {
    let messages = database.simple_query(query).await.unwrap();
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|place| row.get(place).map(|value| value.trim_end().to_owned())).collect())
        }
        _ => None,
    });
    rows.collect()
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Result>,
}

#[derive(Deserialize)]
struct Result {
    rows: Vec<Vec<Box<RawValue>>>,
}

/// What Portico answers for the workspace, each value in its own digits.
async fn answered(app: &TestApp, workspace: &str, number: &str, query: &str) -> Rows {
    let request = app.post(&format!("/api/query?workspace={workspace}"));
    let response = request.json(&json!({"query": query, "timeout": 300})).send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    let answer: Answer =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{number} at {workspace}: {status} {error}: {text}"));
    let value = |value: &RawValue| match value.get() {
        "null" => None,
        text if text.starts_with('"') => Some(serde_json::from_str::<String>(text).unwrap().trim_end().to_owned()),
        text => Some(text.to_owned()),
    };
    answer.results[0].rows.iter().map(|row| row.iter().map(|each| value(each)).collect()).collect()
}

/// The digits of a number, and how many of them stand behind the point.
fn digits(text: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Some((format!("{whole}{fraction}").parse().ok()?, u32::try_from(fraction.len()).ok()?))
}

/// Whether these are the same text, or the same number after rounding to the smaller scale.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one == other };
    let rounded = |(number, scale): (i128, u32), to: u32| {
        let unit = 10_i128.pow(scale - to);
        (number + number.signum() * (unit / 2)) / unit
    };
    one == other
        || digits(one).zip(digits(other)).is_some_and(|(one, other)| {
            let scale = one.1.min(other.1);
            rounded(one, scale) == rounded(other, scale)
        })
}

fn assert_same(expected: &Rows, answered: &Rows, what: &str) {
    assert_eq!(expected.len(), answered.len(), "{what}: rows");
    for (expected, answered) in expected.iter().zip(answered) {
        let all_same = expected.len() == answered.len()
            && expected.iter().zip(answered).all(|(one, other)| is_same(one.as_deref(), other.as_deref()));
        assert!(all_same, "{what}:\n  PostgreSQL: {expected:?}\n  Portico:    {answered:?}");
    }
}

#[actix_web::test]
async fn the_queries_of_tpc_h_answer_as_one_database_does() {
    let url = TestPostgres::shared().database("tpch").await;
    let database = connect(&url).await;
    load_postgres(&database).await;
    let workspace = |name: &str, other: &str| {
        let asset = |(table, _): &(&str, &str)| {
            let connection = if APART.contains(table) { other } else { "west.public" };
            format!("{{ table = \"{connection}.{table}\" }}")
        };
        let assets: Vec<String> = TABLES.iter().map(asset).collect();
        format!("[[workspaces]]\nname = \"{name}\"\nassets = [{}]\n", assets.join(", "))
    };
    let configuration = Configuration::new()
        .connection("west", &url, "")
        .connection("east", &url, "")
        .sqlite("light", "")
        .with(&workspace("tpch", "east.public"))
        .with(&workspace("tpch_light", "light.main"));
    load_sqlite(&configuration.path().join("light.db"));
    let app = configuration.start().await;
    for (number, query) in queries(SCALE) {
        let expected = expected(&database, &query).await;
        for workspace in ["tpch", "tpch_light"] {
            let answered = answered(&app, workspace, number, &query).await;
            assert_same(&expected, &answered, &format!("query {number} at {workspace}"));
        }
    }
}

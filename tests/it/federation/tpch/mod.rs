//! The 22 queries of TPC-H over two connections answer digit for digit as one PostgreSQL with all tables does.

use std::fmt::Display;

use futures_util::SinkExt;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_postgres::{Client, SimpleQueryMessage};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};

const QUERIES: &str = include_str!("queries.sql");
const SCALE: f64 = 0.1;

/// Each table with its columns, as TPC-H 3.0.1, clause 1.4 has them.
const TABLES: &[(&str, &str)] = &[
    ("region", "r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152)"),
    (
        "nation",
        "n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, n_comment varchar(152)",
    ),
    (
        "customer",
        "c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey int NOT NULL,
         c_phone char(15) NOT NULL, c_acctbal decimal(15, 2) NOT NULL, c_mktsegment char(10) NOT NULL,
         c_comment varchar(117) NOT NULL",
    ),
    (
        "orders",
        "o_orderkey int PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL,
         o_totalprice decimal(15, 2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL,
         o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL",
    ),
    (
        "part",
        "p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
         p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL,
         p_retailprice decimal(15, 2) NOT NULL, p_comment varchar(23) NOT NULL",
    ),
    (
        "supplier",
        "s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, s_nationkey int NOT NULL,
         s_phone char(15) NOT NULL, s_acctbal decimal(15, 2) NOT NULL, s_comment varchar(101) NOT NULL",
    ),
    (
        "partsupp",
        "ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int NOT NULL,
         ps_supplycost decimal(15, 2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey)",
    ),
    (
        "lineitem",
        "l_orderkey int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int NOT NULL,
         l_quantity decimal(15, 2) NOT NULL, l_extendedprice decimal(15, 2) NOT NULL, l_discount decimal(15, 2) NOT NULL,
         l_tax decimal(15, 2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
         l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
         l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL,
         PRIMARY KEY (l_orderkey, l_linenumber)",
    ),
];
/// The tables that stand at the second connection.
const APART: &[&str] = &["lineitem", "part", "partsupp", "supplier"];

/// The rows of a table, their values with a bar behind each.
fn rows(table: &str) -> Vec<String> {
    fn told<T: Display>(rows: impl Iterator<Item = T>) -> Vec<String> {
        rows.map(|row| row.to_string()).collect()
    }
    match table {
        "region" => told(RegionGenerator::new(SCALE, 1, 1).iter()),
        "nation" => told(NationGenerator::new(SCALE, 1, 1).iter()),
        "customer" => told(CustomerGenerator::new(SCALE, 1, 1).iter()),
        "orders" => told(OrderGenerator::new(SCALE, 1, 1).iter()),
        "part" => told(PartGenerator::new(SCALE, 1, 1).iter()),
        "supplier" => told(SupplierGenerator::new(SCALE, 1, 1).iter()),
        "partsupp" => told(PartSuppGenerator::new(SCALE, 1, 1).iter()),
        "lineitem" => told(LineItemGenerator::new(SCALE, 1, 1).iter()),
        _ => panic!("{table}"),
    }
}

/// All tables in one database.
async fn load_postgres(database: &Client) {
    for (table, columns) in TABLES {
        database.batch_execute(&format!("CREATE TABLE {table} ({columns})")).await.unwrap();
        let sink = database.copy_in(&format!("COPY {table} FROM STDIN (DELIMITER '|')")).await.unwrap();
        let mut sink = std::pin::pin!(sink);
        for lines in rows(table).chunks(10_000) {
            let lines: String = lines.iter().flat_map(|line| [line.strip_suffix('|').unwrap_or(line), "\n"]).collect();
            sink.send(std::io::Cursor::new(lines.into_bytes())).await.unwrap();
        }
        sink.finish().await.unwrap();
        database.batch_execute(&format!("ANALYZE {table}")).await.unwrap();
    }
    // PostgreSQL's own answers take minutes without.
    database.batch_execute("CREATE INDEX ON lineitem (l_partkey, l_suppkey)").await.unwrap();
}

/// What stands at the second connection, in a file.
fn load_sqlite(file: &std::path::Path) {
    let mut database = rusqlite::Connection::open(file).unwrap();
    for (table, columns) in TABLES.iter().filter(|(table, _)| APART.contains(table)) {
        let inserting = database.transaction().unwrap();
        inserting.execute_batch(&format!("CREATE TABLE {table} ({columns})")).unwrap();
        let rows = rows(table);
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

/// The queries with their numbers.
fn queries() -> Vec<(&'static str, String)> {
    let mut queries = Vec::new();
    for piece in QUERIES.split("\n\n-- ").skip(1) {
        let (number, text) = piece.split_once('\n').unwrap();
        // Clause 2.4.11.3: what it is compared with falls as the scale grows.
        queries.push((number, text.trim().replace("{fraction}", &format!("{:.10}", 0.0001 / SCALE))));
    }
    assert_eq!(queries.len(), 22);
    queries
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
    for (number, query) in queries() {
        let expected = expected(&database, &query).await;
        for workspace in ["tpch", "tpch_light"] {
            let answered = answered(&app, workspace, number, &query).await;
            assert_same(&expected, &answered, &format!("query {number} at {workspace}"));
        }
    }
}

//! TPC-H: its tables, their rows and its queries.

use std::fmt::Display;

use futures_util::SinkExt;
use tokio_postgres::Client;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

const QUERIES: &str = include_str!("queries.sql");

/// Each table with its columns, as TPC-H 3.0.1, clause 1.4 has them.
pub(crate) const TABLES: &[(&str, &str)] = &[
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
/// The rows of a table, their values with a bar behind each.
pub(crate) fn rows(table: &str, scale: f64) -> Vec<String> {
    fn told<T: Display>(rows: impl Iterator<Item = T>) -> Vec<String> {
        rows.map(|row| row.to_string()).collect()
    }
    match table {
        "region" => told(RegionGenerator::new(scale, 1, 1).iter()),
        "nation" => told(NationGenerator::new(scale, 1, 1).iter()),
        "customer" => told(CustomerGenerator::new(scale, 1, 1).iter()),
        "orders" => told(OrderGenerator::new(scale, 1, 1).iter()),
        "part" => told(PartGenerator::new(scale, 1, 1).iter()),
        "supplier" => told(SupplierGenerator::new(scale, 1, 1).iter()),
        "partsupp" => told(PartSuppGenerator::new(scale, 1, 1).iter()),
        "lineitem" => told(LineItemGenerator::new(scale, 1, 1).iter()),
        _ => panic!("{table}"),
    }
}

/// A table with these rows.
pub(crate) async fn load(database: &Client, table: &str, rows: &[String]) {
    let (_, columns) = TABLES.iter().find(|(name, _)| *name == table).unwrap();
    database.batch_execute(&format!("CREATE TABLE {table} ({columns})")).await.unwrap();
    let sink = database.copy_in(&format!("COPY {table} FROM STDIN (DELIMITER '|')")).await.unwrap();
    let mut sink = std::pin::pin!(sink);
    for lines in rows.chunks(10_000) {
        let lines: String = lines.iter().flat_map(|line| [line.strip_suffix('|').unwrap_or(line), "\n"]).collect();
        sink.send(std::io::Cursor::new(lines.into_bytes())).await.unwrap();
    }
    sink.finish().await.unwrap();
    if table == "lineitem" {
        // PostgreSQL's own answers take minutes without.
        database.batch_execute("CREATE INDEX ON lineitem (l_partkey, l_suppkey)").await.unwrap();
    }
    database.batch_execute(&format!("ANALYZE {table}")).await.unwrap();
}

/// The queries with their numbers.
pub(crate) fn queries(scale: f64) -> Vec<(&'static str, String)> {
    let mut queries = Vec::new();
    for piece in QUERIES.split("\n\n-- ").skip(1) {
        let (number, text) = piece.split_once('\n').unwrap();
        // Clause 2.4.11.3: what it is compared with falls as the scale grows.
        queries.push((number, text.trim().replace("{fraction}", &format!("{:.10}", 0.0001 / scale))));
    }
    assert_eq!(queries.len(), 22);
    queries
}

//! TPC-H over two PostgreSQL servers: Portico's seconds, rows and octets fetched and peak memory, beside `postgres_fdw`
//! between the same servers and one server with all tables.
//!
//! `cargo run --release --example federation_bench -- [--scale 0.1] [--rounds 3] [--only 3,5]`
//!
//! It starts both servers itself, from the newest PostgreSQL that is installed or the folder in `PORTICO_TEST_POSTGRES`.
//! `orders` and `lineitem` are at the first one, the other six tables at the second. Linux only.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]

mod servers;
mod service;
#[path = "../../tests/it/federation/tpch/data.rs"]
mod tpch;

use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

use servers::Server;
use service::Portico;

/// The tables of the first server.
const FIRST: [&str; 2] = ["orders", "lineitem"];
/// What a statement may take.
const PATIENCE: Duration = Duration::from_secs(290);

struct Asked {
    scale: f64,
    rounds: usize,
    only: Vec<String>,
}

fn asked() -> Asked {
    let mut asked = Asked { scale: 0.1, rounds: 3, only: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            "--scale" => asked.scale = value.parse().unwrap(),
            "--rounds" => asked.rounds = value.parse().unwrap(),
            "--only" => asked.only = value.split(',').map(str::to_owned).collect(),
            _ => panic!("there is no {name}"),
        }
    }
    asked
}

fn main() {
    if let [_, word, config] = std::env::args().collect::<Vec<_>>().as_slice()
        && word == service::SERVE
    {
        return service::serve(config.as_ref());
    }
    actix_web::rt::System::new().block_on(measure(asked()));
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    actix_web::rt::spawn(async { drop(connection.await) });
    client
}

/// The seconds of the quickest round; `None` where it takes longer than `PATIENCE`.
async fn seconds(client: &Client, query: &str, rounds: usize) -> Option<f64> {
    let mut quickest: Option<f64> = None;
    for _ in 0..rounds {
        let begun = Instant::now();
        if client.simple_query(query).await.is_err() {
            return None;
        }
        let took = begun.elapsed().as_secs_f64();
        quickest = Some(quickest.map_or(took, |quickest| quickest.min(took)));
    }
    quickest
}

async fn measure(asked: Asked) {
    let (one, other) = (Server::start("one"), Server::start("other"));
    let (first, second, all) = (one.database("first"), other.database("second"), one.database("everything"));
    let (of_first, of_second, of_all) = (connect(&first).await, connect(&second).await, connect(&all).await);
    let begun = Instant::now();
    for (table, _) in tpch::TABLES {
        let rows = tpch::rows(table, asked.scale);
        tpch::load(&of_all, table, &rows).await;
        let apart = if FIRST.contains(table) { &of_first } else { &of_second };
        tpch::load(apart, table, &rows).await;
    }
    println!("scale {}, loaded in {:.0} s", asked.scale, begun.elapsed().as_secs_f64());
    foreign_tables(&of_first, &other).await;
    let patience = format!("SET statement_timeout = '{}s'", PATIENCE.as_secs());
    for client in [&of_first, &of_all] {
        client.batch_execute(&patience).await.unwrap();
    }
    let assets = |name: &str, tables: &[&str]| {
        tables.iter().map(|table| format!("{{ table = \"{name}.public.{table}\" }}")).collect::<Vec<_>>()
    };
    let apart: Vec<&str> =
        tpch::TABLES.iter().map(|(table, _)| *table).filter(|table| !FIRST.contains(table)).collect();
    let assets = [assets("first", &FIRST), assets("second", &apart)].concat().join(", ");
    let portico = Portico::start(&[("first", &first), ("second", &second)], &assets).await;

    println!("\nquery  portico   plan    fdw    one server  rows fetched        octets fetched      peak MiB");
    let (mut sums, mut ahead, mut count) = ([0.0; 3], 0, 0);
    for (number, query) in tpch::queries(asked.scale) {
        if !asked.only.is_empty() && !asked.only.iter().any(|only| only == number) {
            continue;
        }
        let by_portico = portico.seconds(&query, asked.rounds).await;
        let peak = portico.peak(&query).await;
        let planned = portico.seconds(&format!("EXPLAIN {query}"), asked.rounds).await;
        let fetched = portico.fetched(&query).await;
        let by_fdw = seconds(&of_first, &query, asked.rounds).await;
        let by_one = seconds(&of_all, &query, asked.rounds).await;
        let told =
            |seconds: Option<f64>| seconds.map_or_else(|| "stopped".to_owned(), |seconds| format!("{seconds:.3}"));
        let of_each = |what: fn(&service::Fetched) -> u64| {
            let each = ["first", "second"].map(|name| {
                fetched.iter().filter(|fetched| fetched.connection == name).map(what).sum::<u64>().to_string()
            });
            each.join(" + ")
        };
        println!(
            "{number:>5}  {:>7}  {:>5.1} ms  {:>7}  {:>7}  {:<20} {:<20} {peak}",
            told(by_portico),
            planned.unwrap_or_default() * 1000.0,
            told(by_fdw),
            told(by_one),
            of_each(|fetched| fetched.rows),
            of_each(|fetched| fetched.octets),
        );
        let limit = PATIENCE.as_secs_f64();
        let each = [by_portico, by_fdw, by_one].map(|seconds| seconds.unwrap_or(limit));
        sums.iter_mut().zip(each).for_each(|(sum, seconds)| *sum += seconds);
        ahead += usize::from(each[0] <= each[1]);
        count += 1;
    }
    println!("\nsum: portico {:.2} s, postgres_fdw {:.2} s, one server {:.2} s", sums[0], sums[1], sums[2]);
    println!("portico is at least as fast as postgres_fdw on {ahead} of {count}");
    println!("beside one server: {:.2} times its seconds", sums[0] / sums[2]);
    portico.selective().await;
}

/// The tables of the other server as foreign tables here, with estimates and large fetches: as good as it gets.
async fn foreign_tables(client: &Client, other: &Server) {
    client
        .batch_execute(&format!(
            "CREATE EXTENSION postgres_fdw;
             CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw
                 OPTIONS (host '127.0.0.1', port '{}', dbname 'second', fetch_size '10000', use_remote_estimate 'true');
             CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user 'postgres');
             IMPORT FOREIGN SCHEMA public FROM SERVER other INTO public",
            other.port
        ))
        .await
        .unwrap();
    for (table, _) in tpch::TABLES.iter().filter(|(table, _)| !FIRST.contains(table)) {
        client.batch_execute(&format!("ANALYZE {table}")).await.unwrap();
    }
}

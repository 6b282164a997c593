//! Statements as analysts and agents write them: each answers as it does in one PostgreSQL, or is refused with its code.

mod refused;
mod statements;

use serde_json::{Value, json};
use uuid::Uuid;

use self::refused::REFUSED;
use self::statements::STATEMENTS;
use super::{another_postgres, told, two_sources_with};
use crate::support::app::TestApp;
use crate::support::configuration::connection;
use crate::support::postgres::connect;

const PURCHASES: &str = "
CREATE TABLE purchases (id int PRIMARY KEY, customer_id int, product_id int, amount numeric(12, 2), weight float8,
    status varchar(8), ordered_at timestamp, shipped_on date);
INSERT INTO purchases SELECT i, i % 7 + 1, i % 5 + 1, i * 1.25, i / 8.0, (ARRAY['paid', 'open', 'sent'])[i % 3 + 1],
    timestamp '2026-01-01' + i * interval '7 hours', CASE WHEN i % 4 > 0 THEN date '2026-01-02' + i END
    FROM generate_series(1, 40) i;
CREATE TABLE events (id int PRIMARY KEY, customer_id int, kind text, \"user\" text DEFAULT 'u');
INSERT INTO events SELECT i, i % 5 + 1, (ARRAY['buy', 'look'])[i % 2 + 1] FROM generate_series(1, 20) i;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE oddities (id int PRIMARY KEY, mood mood, price money, wait interval, doc jsonb, tag uuid, flag boolean, rate float8, note bytea,
    list int[], loose numeric);
INSERT INTO oddities VALUES
    (1, 'sad', '1', '1 day', '{\"a\": 1.0}', '00000000-0000-4000-8000-000000000001', true, '-0', '\\x01', '{1,NULL}', 1.5),
    (2, 'ok', '2', '24 hours', '{\"a\": 1.00}', '00000000-0000-4000-8000-000000000002', false, 0, '\\x02', '{2}', 20.00),
    (3, 'happy', '10', '2 days', NULL, '00000000-0000-4000-8000-000000000003', NULL, 1, NULL, NULL, NULL)";

const CLIENTS: &str = "
CREATE TABLE clients (id bigint PRIMARY KEY, name text, country text);
INSERT INTO clients VALUES (1, 'Ann', 'NL'), (2, 'Bob', 'BE'), (3, 'Cem', 'NL'), (4, 'Dee', 'DE'), (5, 'Eve', NULL), (9, 'Fay', 'BE');
CREATE TABLE tickets (id bigint PRIMARY KEY, customer_id bigint, rating smallint);
INSERT INTO tickets VALUES (1, 1, 5), (2, 1, 3), (3, 2, NULL), (4, 5, 1), (30, 9, 2)";

const JOINED: &str = "FROM $purchases o JOIN $clients c ON c.id = o.customer_id";

const TRUTH: Uuid = Uuid::from_u128(0x3333_3333_3333_4333_8333_3333_3333_3334);

/// A service of both tables apart, and of all of them in one PostgreSQL.
async fn shops() -> TestApp {
    let truth = another_postgres().await;
    connect(&truth).await.batch_execute(&format!("{PURCHASES};{CLIENTS}")).await.unwrap();
    two_sources_with(PURCHASES, CLIENTS, &connection(TRUTH, "truth", &truth, "")).await
}

/// The statement over both, and over the one that has all.
fn both(query: &str) -> [String; 2] {
    let tables = |shop: &str, crm: &str| {
        let named = |text: &str, table: &str, of: &str| text.replace(&format!("${table}"), &format!("{of}.{table}"));
        let text = named(&named(query, "purchases", shop), "events", shop);
        let text = named(&text, "oddities", shop);
        named(&named(&text, "clients", crm), "tickets", crm)
    };
    [tables("shop.public", "crm.main"), tables("truth.public", "truth.public")]
}

/// Numbers, which have other digits behind the point here, as far as they matter.
fn rounded(rows: &Value) -> Value {
    match rows {
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::String(text) if text.contains('.') => text.parse::<f64>().map_or(rows.clone(), near),
        Value::Number(number) => number.as_f64().map_or(rows.clone(), near),
        other => other.clone(),
    }
}

fn near(number: f64) -> Value {
    json!(format!("{number:.6e}"))
}

#[actix_web::test]
async fn statements_answer_as_in_one_postgresql() {
    let app = shops().await;
    let mut differ = Vec::new();
    for query in STATEMENTS {
        let [here, there] = both(&query.replace('@', JOINED));
        let (here, there) = (told(&app, &here).await, told(&app, &there).await);
        // Types that do not fit are refused in one class of codes.
        let is_refused = |told: &Value| told.as_str().is_some_and(|code| code.starts_with("42") && code != "42601");
        if rounded(&here) != rounded(&there) && !(is_refused(&here) && is_refused(&there)) {
            differ.push(format!("{query}\n  PostgreSQL: {there}\n  Portico:    {here}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

#[actix_web::test]
async fn what_cannot_be_answered_so_says_what_to_write() {
    let app = shops().await;
    for (query, hint) in REFUSED {
        let [here, _] = both(&query.replace('@', JOINED));
        let (status, told) = app.query(json!({"query": here})).await;
        let error = &told["error"];
        let said =
            format!("{} {}", error["message"].as_str().unwrap_or_default(), error["hint"].as_str().unwrap_or_default());
        assert!(status == 400 && said.contains(hint), "{query}: {told}");
    }
}

#[actix_web::test]
async fn a_long_chain_of_conditions_reaches_its_source() {
    let app = shops().await;
    for (link, by) in [
        ("(o.id = 0 AND o.product_id = #)", " OR "),
        ("NOT (o.id = # AND o.status LIKE 'p%')", " AND "),
        ("(o.id <> # AND 10 / (o.id - #) < 10)", " OR "),
        ("10 / (o.id + #) > -1", " AND "),
    ] {
        let chain: Vec<String> = (0..300).map(|number| link.replace('#', &number.to_string())).collect();
        let query = format!("SELECT count(*) {JOINED} WHERE {}", chain.join(by));
        let [here, there] = both(&query);
        let (here, there) = (told(&app, &here).await, told(&app, &there).await);
        assert!(here.is_array() && here == there, "{by}: {here}, {there}");
    }
    // A connection takes no statement that nests so deep: the engine computes it.
    let sum = vec!["o.id"; 140].join(" + ");
    let [here, there] = both(&format!("SELECT o.id {JOINED} WHERE {sum} = 420"));
    assert_eq!((told(&app, &here).await, told(&app, &there).await), (json!([[3]]), json!([[3]])));
}

//! What the database or the role has set changes no value: how values are written and texts are
//! read is ours to say, in a session of our own and behind a pooler, also after a writer.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::pgbouncer::PgBouncer;
use crate::support::postgres::connect;

/// Each of them is one that an administrator may have chosen for another program.
const SETTINGS: [(&str, &str); 6] = [
    ("DateStyle", "'SQL, DMY'"),
    ("IntervalStyle", "'sql_standard'"),
    ("bytea_output", "'escape'"),
    ("extra_float_digits", "-3"),
    ("array_nulls", "off"),
    ("standard_conforming_strings", "off"),
];

/// Values that only the source itself can print, and texts that mean one thing alone.
const QUERY: &str = r"SELECT ARRAY[date '2026-01-31'], ROW(timestamp '2026-01-31 12:00', '\xff'::bytea, 0.1::float8 + 0.2),
    interval '1 year 2 days 03:04:05', '{null,NULL}'::text[], 'a\', daterange '[2026-01-01,2026-02-01)',
    point '(0.30000000000000004,1)', @n + 1";

async fn values_are_the_same(app: &TestApp) {
    for round in 0..3 {
        let parameters = json!({"n": {"dataType": 8, "value": round}});
        let (status, answer) = app.query(json!({"query": QUERY, "parameters": parameters})).await;
        let expected = json!([[
            "[\"2026-01-31\"]",
            "(\"2026-01-31 12:00:00\",\"\\\\xff\",0.30000000000000004)",
            "1 year 2 days 03:04:05",
            "[null,null]",
            "a\\",
            "[2026-01-01,2026-02-01)",
            "(0.30000000000000004,1)",
            round + 1,
        ]]);
        assert_eq!((status, &answer["results"][0]["rows"]), (200, &expected), "{answer}");
        // Without a value, and behind what a writer leaves.
        assert_eq!(app.rows(r"SELECT 'a\'").await, json!([["a\\"]]));
        let (status, answer) = app.query(json!({"query": r"UPDATE customers SET city = 'C:\' WHERE id = 1"})).await;
        assert_eq!((status, &answer["results"][0]["affectedRows"]), (200, &json!(1)), "{answer}");
        assert_eq!(app.rows("SELECT city FROM customers WHERE id = 1").await, json!([["C:\\"]]));
    }
}

#[actix_web::test]
async fn a_statement_does_not_change_where_the_texts_of_the_next_one_end() {
    let app = fixture::with_postgres(&fixture::postgres().await, "access = \"read-write\"").await;
    let query = r"SELECT set_config('standard_conforming_strings', 'off', true); SELECT '\'', (SELECT 1) --'";
    let (status, answer) = app.query(json!({"query": query})).await;
    let words = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 400 && words.starts_with("standard_conforming_strings was changed"), "{answer}");
    assert_eq!(app.rows(r"SELECT '\'").await, json!([[r"\"]]), "the next one has a session of its own");
}

/// A database with settings of its own, as its URL.
async fn database() -> String {
    let url = fixture::postgres().await;
    let name = url.rsplit('/').next().unwrap().to_owned();
    let admin = connect(&url).await;
    for (setting, value) in SETTINGS {
        admin.batch_execute(&format!("ALTER DATABASE {name} SET {setting} = {value}")).await.unwrap();
    }
    url
}

#[actix_web::test]
async fn settings_of_the_database_change_no_value() {
    let url = database().await;
    let other: Value = connect(&url).await.query_one("SHOW DateStyle", &[]).await.unwrap().get::<_, String>(0).into();
    assert_eq!(other, "SQL, DMY", "to others they hold");
    values_are_the_same(&fixture::with_postgres(&url, "access = \"read-write\"\npool = 1").await).await;
}

#[actix_web::test]
async fn settings_of_the_database_change_no_value_behind_a_pooler() {
    let url = database().await;
    let pooler = PgBouncer::start(&url).await;
    let more = "access = \"read-write\"\npooler = \"transaction\"";
    values_are_the_same(&fixture::with_postgres(&pooler.url(&url), more).await).await;
}

//! Typical mistakes of agents, on a real PostgreSQL and on SQLite. Of each the second call is made by code, from the words
//! of the failure alone, and has to run right.

mod call;
mod common;
mod postgres;
mod sqlite;

use serde_json::json;

use self::call::{Call, Mistake, near};
use self::common::common;
use self::postgres::on_postgres;
use self::sqlite::on_sqlite;

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const POSTGRES: &str = r#"
CREATE TYPE order_status AS ENUM ('new', 'paid', 'shipped');
CREATE TABLE shipments (
    id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, status order_status NOT NULL, "carrierName" text,
    sent date, weight double precision, fragile boolean NOT NULL DEFAULT false, note text
);
CREATE TABLE "ShipmentNotes" (id int PRIMARY KEY, body text);
INSERT INTO shipments VALUES (1, 1, 'shipped', 'DHL', '2026-01-03', 1.25, true, '5'), (2, 2, 'new', 'UPS', '2026-01-04', 2.5, false, NULL);
INSERT INTO "ShipmentNotes" VALUES (1, 'left at the door');
CREATE FUNCTION weight_of(shipment int) RETURNS double precision LANGUAGE sql STABLE
    AS 'SELECT weight FROM shipments WHERE id = shipment';
"#;

const SQLITE: &str = "
CREATE TABLE shipments (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders, status TEXT CHECK (status IN ('new', 'paid', 'shipped')),
    carrierName TEXT, sent DATE, weight REAL
);
INSERT INTO shipments VALUES (1, 1, 'shipped', 'DHL', '2026-01-03', 1.25), (2, 2, 'new', 'UPS', '2026-01-04', 2.5);
";

/// The words of a call's failure; `None` where it succeeded.
async fn told(app: &TestApp, Call(tool, arguments): &Call) -> Option<String> {
    let call = json!({"name": tool, "arguments": arguments});
    let (_, body) = app.mcp(&app.writer, "tools/call", call).await;
    if body.get("error").is_some() {
        return Some(body["error"]["message"].as_str().unwrap().to_owned());
    }
    let text = body["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (body["result"]["isError"] == true).then_some(text)
}

/// Makes each mistake, mends it by the failure's words, and says how many run right then.
async fn mend(app: &TestApp, mistakes: Vec<Mistake>) {
    let (all, mut bytes, mut unmended) = (mistakes.len(), 0, Vec::new());
    for Mistake { name, call, mend } in mistakes {
        let Some(words) = told(app, &call).await else { panic!("{name}: {call:?} is no mistake here") };
        bytes += words.len();
        match mend(&words, &call) {
            None => unmended.push(format!("{name}: {words:?} does not lead on")),
            Some(second) => {
                if let Some(again) = told(app, &second).await {
                    unmended.push(format!("{name}: {words:?} leads to {second:?}, and that to {again:?}"));
                }
            }
        }
    }
    for one in &unmended {
        println!("not mended: {one}");
    }
    println!("{} of {all} mistakes mended; a failure has {} bytes on average", all - unmended.len(), bytes / all);
    assert!(all >= 26 && unmended.len() * 13 <= all, "{} of {all}:\n{}", unmended.len(), unmended.join("\n"));
}

#[actix_web::test]
async fn on_postgres_the_second_call_is_right() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(POSTGRES).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    mend(&app, common().into_iter().chain(on_postgres()).collect()).await;
}

#[actix_web::test]
async fn on_sqlite_the_second_call_is_right() {
    let app = fixture::on_sqlite().await;
    for statement in SQLITE.split_inclusive(";\n").filter(|statement| !statement.trim().is_empty()) {
        app.rows(statement.trim().trim_end_matches(';')).await;
    }
    mend(&app, common().into_iter().chain(on_sqlite()).collect()).await;
}

#[actix_web::test]
async fn what_is_hidden_is_in_no_hint() {
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"customers\"]";
    let url = fixture::postgres().await;
    for app in [fixture::with_sqlite(hidden).await, fixture::with_postgres(&url, hidden).await] {
        // A column that only the hidden table has, one like it, and one of a table that is shown.
        for (query, offered) in [
            ("SELECT city FROM orders", None),
            ("SELECT nme FROM orders", None),
            ("SELECT totl FROM orders", Some("total")),
        ] {
            let words = app.tool_error("execute_select", json!({"query": query})).await;
            assert!(!words.contains("customers"), "{query}: {words}");
            assert_eq!(near(&words), offered, "{query}: {words}");
        }
    }
}

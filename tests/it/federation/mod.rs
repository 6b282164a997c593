//! Statements over several connections.

mod analysts;
mod argument_types;
mod bounds;
mod casts;
mod comparing;
mod crossing;
mod differential;
mod estimates;
mod expressions;
mod faults;
mod functions;
mod grouping_sets;
mod labels;
mod membership;
mod memory;
mod order;
mod precedence;
mod refused;
mod regular;
mod tpch;
mod traps;
mod values;
mod workspaces;

use std::cell::RefCell;

use portico_actors::event::Event;
use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};

/// PostgreSQL as `shop`, with these tables beside the usual ones, and SQLite as `crm`, with these.
async fn two_sources(postgres: &str, sqlite: &str) -> TestApp {
    two_sources_with(postgres, sqlite, "").await
}

/// The same with other tables of the configuration.
async fn two_sources_with(postgres: &str, sqlite: &str, tables: &str) -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(postgres).await.unwrap();
    sources(&url, sqlite, tables).await
}

/// A service of the database at `url`, and of a SQLite file with these tables beside the usual ones.
async fn sources(url: &str, sqlite: &str, tables: &str) -> TestApp {
    let configuration = Configuration::new().connection("shop", url, "").sqlite("crm", "").with(tables);
    let file = rusqlite::Connection::open(configuration.path().join("crm.db")).unwrap();
    file.execute_batch(sqlite).unwrap();
    configuration.with("[audit]\nfile = \"audit.jsonl\"").start().await
}

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

/// What the statement answers, which must succeed.
async fn answer(app: &TestApp, query: &str) -> Value {
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!(status, 200, "{query}: {document}: {:?}", causes(app).last());
    document["results"][0].clone()
}

/// Rows, or the code of the failure.
async fn told(app: &TestApp, query: &str) -> Value {
    let (_, told) = app.query(json!({"query": query})).await;
    match told.get("error") {
        Some(error) => error["sqlState"].clone(),
        None => told["results"][0]["rows"].clone(),
    }
}

/// The last call's record in the audit trail.
fn recorded(app: &TestApp) -> Value {
    let trail = std::fs::read_to_string(app.config.with_file_name("audit.jsonl")).unwrap();
    serde_json::from_str(trail.lines().last().unwrap()).unwrap()
}

/// The statements that the last call had sent to sources: connection and text.
fn sent(app: &TestApp) -> Vec<(String, String)> {
    let record = recorded(app);
    let member = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let sent = record["sent"].as_array().unwrap_or_else(|| panic!("{record}"));
    sent.iter().map(|sent| (member(sent, "connection"), member(sent, "statement"))).collect()
}

/// A second PostgreSQL database with the usual schema.
async fn another_postgres() -> String {
    TestPostgres::shared().database("other").await
}

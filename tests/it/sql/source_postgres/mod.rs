//! The PostgreSQL driver against a real server.

use crate::support::postgres::{TestPostgres, connect};
use crate::support::results::Subject;

mod bounds;
mod catalogue;
mod certificates;
mod ends;
mod hosts;
mod jit;
mod passwords;
mod procedures;
mod round_trips;
mod statements;
mod threads;
mod values;

/// A connection to a fresh database on which `setup` was run.
async fn subject(setup: &str) -> (Subject, tokio_postgres::Client) {
    let url = TestPostgres::shared().database("source").await;
    let admin = connect(&url).await;
    admin.batch_execute(setup).await.unwrap();
    (Subject::open(&url, 4), admin)
}

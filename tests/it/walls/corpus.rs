//! Ordinary statements pass on a connection where something is hidden. They stand in `corpus/`, by
//! topic; files with a `.setup.sql` beside them are for an extension that a server may lack.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio_postgres::Client;

use super::server::{Server, on_each_server, say};
use crate::support::configuration::Configuration;

on_each_server! {
    ordinary_statements_pass_where_something_is_hidden
}

/// Partitions and children of exposed tables are not listed, nor what belongs to them.
const EXPOSURE: &str = r#"access = "read-write"
[connections.exposed]
schemas = ["public", "tpch", "spare%"]
tables = ["tpch.%", "spare%", "customers", "categories", "products", "orders", "order_items", "employees", "events",
    "measurements", "bookings", "documents", "accounts", "inventory", "people", "cities", "tenk", "int8_tbl", "empsalary",
    "gstest", "j1", "j2", "xmldata", "graph", "multi", "ticket_seq", "order_summary", "ledger_total", "order_actors",
    "monthly", "shops", "chunks", "members", "settings_of", "tokens", "topics"]
procedures = ["order_count", "top_orders", "close_orders"]
[connections.hidden]
schemas = ["vault"]
tables = ["canary_ledger"]
procedures = ["canary_function"]
"#;

struct Ordinary {
    file: String,
    origin: String,
    text: String,
    parameters: Value,
    default_schema: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls/corpus")
}

/// The blocks of one file: `--# origin`, then the statement, with its values in a line `--@` before it.
fn read(path: &Path) -> Vec<Ordinary> {
    let text = fs::read_to_string(path).unwrap();
    let mut blocks = text.split("\n--# ");
    let head = blocks.next().unwrap();
    let default_schema = head.split_once("defaultSchema: ").map(|(_, rest)| rest.trim().to_owned());
    let file = path.file_name().unwrap().to_str().unwrap().to_owned();
    let ordinary = |block: &str| {
        let (origin, rest) = block.split_once('\n').unwrap();
        let (parameters, text) = match rest.strip_prefix("--@ ") {
            Some(rest) => {
                let (values, text) = rest.split_once('\n').unwrap();
                (serde_json::from_str(values).unwrap(), text)
            }
            None => (json!({}), rest),
        };
        let (origin, text) = (origin.to_owned(), text.trim().to_owned());
        Ordinary { file: file.clone(), origin, text, parameters, default_schema: default_schema.clone() }
    };
    blocks.map(ordinary).collect()
}

/// Has the database what the file is about; what the server lacks is told aloud.
async fn set_up(admin: &Client, file: &Path) -> bool {
    let setup = file.with_extension("setup.sql");
    let Ok(setup) = fs::read_to_string(setup) else { return true };
    match admin.batch_execute(&setup).await {
        Ok(()) => true,
        Err(error) if error.as_db_error().is_some_and(|error| error.message().contains("is not available")) => {
            say(&format!("passed over: {}: {}", file.display(), error.as_db_error().unwrap().message()));
            false
        }
        Err(error) => panic!("{}: {error:?}", file.display()),
    }
}

async fn ordinary_statements_pass_where_something_is_hidden(programs: &Path) {
    let server = Server::start(programs).await;
    let admin = server.admin().await;
    for fixture in ["fixture.sql", "tpch_fixture.sql"] {
        admin.batch_execute(&fs::read_to_string(folder().join(fixture)).unwrap()).await.unwrap();
    }
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut corpus = Vec::new();
    for file in files {
        let statements = if file.to_string_lossy().ends_with(".setup.sql") { Vec::new() } else { read(&file) };
        if !statements.is_empty() && set_up(&admin, &file).await {
            corpus.extend(statements);
        }
    }
    assert!(corpus.len() >= 320, "the corpus has {} statements", corpus.len());
    let app = Configuration::new().connection("shop", &server.url, EXPOSURE).start().await;

    let mut refused = Vec::new();
    for each in &corpus {
        // Nothing stays, so that the order does not matter.
        let mut body = json!({"query": each.text, "parameters": each.parameters, "dryRun": true, "timeout": 30});
        if let Some(schema) = &each.default_schema {
            body["defaultSchema"] = json!(schema);
        }
        let (status, answer) = app.query(body).await;
        if status != 200 || answer.get("error").is_some() {
            refused.push(format!("{}: {}: {status} {}\n    {}", each.file, each.origin, answer["error"], each.text));
        }
    }
    say(&format!("{} of {} ordinary statements passed", corpus.len() - refused.len(), corpus.len()));
    assert!(refused.is_empty(), "{} of {} were refused:\n{}", refused.len(), corpus.len(), refused.join("\n"));

    // The canary stands where it stood, and is not to be had.
    let (status, _) = app.query(json!({"query": "SELECT * FROM canary_ledger"})).await;
    assert_eq!(status, 404);
}

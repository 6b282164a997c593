//! Tests of the driver through the trait, on temporary files. Pure parts are tested in their own modules.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use tempfile::TempDir;

use crate::sqlite::DatabaseFile;
use crate::{Access, DeclaredProcedure, Exposure, Location, Plan, Prepared, Settings, Source, Task};
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_core::reply::{Cell, Column, Part, Results};
use portico_sql::{Dialect, Naming, Statement};

mod bounds;
mod halting;
mod hiding;
mod hiding_generated;
mod locks;
mod metadata;
mod procedures;
mod reading_generated;
mod splitting;
mod values;
mod writes;

/// A database file and a source on it.
pub(crate) struct Fixture {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) path: PathBuf,
    _directory: TempDir,
}

/// The options of a test.
pub(crate) struct Options {
    pub(crate) access: Access,
    pub(crate) pool: usize,
    pub(crate) declared: Vec<DeclaredProcedure>,
    pub(crate) connect_timeout: Duration,
    pub(crate) exposure: Exposure,
}

impl Default for Options {
    fn default() -> Self {
        let connect_timeout = Duration::from_secs(10);
        Self {
            access: Access::ReadWrite,
            pool: 2,
            declared: Vec::new(),
            connect_timeout,
            exposure: Exposure::default(),
        }
    }
}

/// A source on a fresh file made by `script`.
pub(crate) fn fixture(script: &str, options: Options) -> Fixture {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("test.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
    Fixture { source: source(&path, options), path, _directory: directory }
}

pub(crate) fn source(path: &Path, options: Options) -> Arc<dyn Source> {
    DatabaseFile(path.to_owned())
        .open(Settings {
            name: "shop".into(),
            access: options.access,
            pool: options.pool,
            connect_timeout: options.connect_timeout,
            declared: options.declared.into(),
            has_roles: false,
            exposure: Arc::new(options.exposure),
            budget: portico_core::budget::Budget::default(),
        })
        .unwrap()
}

/// Makes the statement that `sql` makes of `text`; placeholders that are numbers already are named here. A text
/// that `sql` refuses goes to the driver too, which does not rely on `sql`.
pub(crate) fn statement(text: &str, placeholders: &[&str]) -> Statement {
    let naming = Naming { connection: "shop", others: &[] };
    let understood = portico_sql::statements(text, Dialect::SQLITE, naming).ok().filter(|all| all.len() == 1);
    let mut statement = understood.and_then(|mut all| all.pop()).unwrap_or_else(|| Statement::unread(text));
    if !placeholders.is_empty() {
        statement.placeholders = placeholders.iter().map(|name| (*name).to_owned()).collect();
    }
    statement
}

pub(crate) fn argument(name: &str, json: &str) -> Argument {
    Argument { name: name.to_owned(), value: RawValue::from_string(json.to_owned()).unwrap(), data_type: None }
}

pub(crate) fn plan(text: &str, access: Access) -> Plan {
    Plan::alone(
        Task::Statement(Prepared {
            statement: statement(text, &[]),
            values: Vec::new(),
            default_schema: None,
            by_administrator: false,
        }),
        access,
    )
}

/// A result read to its end.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell<'static>>>,
    pub(crate) affected: Option<i64>,
}

impl Whole {
    /// Every row as words, for comparisons that read well.
    pub(crate) fn words(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.iter().map(word).collect::<Vec<_>>().join("|")).collect()
    }
}

fn word(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Double(value) => value.to_string(),
        Cell::Decimal(text) | Cell::Text(text) | Cell::Json(text) => text.to_string(),
        Cell::Bytes(octets) => format!("{octets:?}"),
    }
}

pub(crate) async fn whole(mut results: Results) -> Result<Whole> {
    let mut whole = Whole::default();
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(columns) => whole.columns = columns.to_vec(),
            Part::Rows(batch) => {
                assert!(batch.rows() > 0, "an empty batch");
                for row in 0..batch.rows() {
                    let cells = (0..whole.columns.len()).map(|column| batch.cell(row, column).map(Cell::into_owned));
                    whole.rows.push(cells.collect::<Result<_>>()?);
                }
            }
            Part::Done { affected } => {
                assert!(whole.affected.replace(affected).is_none(), "done twice");
            }
        }
    }
    assert!(whole.affected.is_some(), "ended without a word");
    Ok(whole)
}

impl Fixture {
    pub(crate) async fn run(&self, text: &str, access: Access) -> Result<Whole> {
        whole(self.source.run(plan(text, access)).await?).await
    }

    pub(crate) async fn read(&self, text: &str) -> Result<Whole> {
        self.run(text, Access::ReadOnly).await
    }

    pub(crate) async fn write(&self, text: &str) -> Result<Whole> {
        self.run(text, Access::ReadWrite).await
    }

    /// Returns the single value of a query.
    pub(crate) async fn value(&self, text: &str) -> String {
        self.read(text).await.unwrap().words().join(";")
    }

    /// The error of a statement, which must have one.
    pub(crate) async fn error(&self, text: &str, access: Access) -> Error {
        match self.run(text, access).await {
            Ok(whole) => panic!("`{text}` went through: {whole:?}"),
            Err(error) => error,
        }
    }
}

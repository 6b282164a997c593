//! Opens a source and reads its results whole, in a form that assertions can compare.

use std::sync::Arc;

use futures_util::StreamExt;
use portico_actors::budget::Budget;
use portico_actors::call::{Argument, MetadataFilter, MetadataKind};
use portico_actors::error::Error;
use portico_actors::reply::{Cell, Column, Part, Results};
use portico_actors::source::postgres::Address;
use portico_actors::source::{Access, Exposure, Invocation, Location, Plan, Prepared, Settings, Source, Task};
use portico_actors::sql::{Dialect, Naming, statements};
use serde_json::value::RawValue;

use super::app::DEADLINE;
use super::configuration::CONNECT_TIMEOUT;

/// One result, read to its end. Each cell in a form that tells its kind: text in quotes, `json:`
/// and `bytes:` in front of those, numbers bare.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) columns: Arc<[Column]>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) affected: i64,
}

/// Those of a connection named `test` that may write, with `pool` sessions.
pub(crate) fn settings(pool: usize) -> Settings {
    Settings {
        name: "test".into(),
        access: Access::ReadWrite,
        pool,
        connect_timeout: CONNECT_TIMEOUT,
        declared: Arc::new([]),
        has_roles: false,
        exposure: Arc::default(),
        budget: Budget::default(),
    }
}

/// A source under test.
pub(crate) struct Subject {
    pub(crate) source: Arc<dyn Source>,
}

impl Subject {
    /// A connection named `test` that may write, with `pool` sessions.
    pub(crate) fn open(url: &str, pool: usize) -> Self {
        Self::at(url.into(), pool).unwrap()
    }

    /// The same at an address with more than a URL.
    pub(crate) fn at(address: Address, pool: usize) -> Result<Self, Error> {
        Self::showing(address, pool, Exposure::default())
    }

    /// The same, of which callers see what `exposure` shows.
    pub(crate) fn showing(address: Address, pool: usize, exposure: Exposure) -> Result<Self, Error> {
        let settings = Settings { exposure: Arc::new(exposure), ..settings(pool) };
        address.open(settings).map(|source| Self { source })
    }

    /// Reads a statement to its end.
    pub(crate) async fn read(&self, sql: &str) -> Result<Read, Error> {
        read(self.source.run(plan(sql, Access::ReadOnly)).await?).await
    }

    /// Runs a statement that may write to its end.
    pub(crate) async fn write(&self, sql: &str) -> Result<Read, Error> {
        read(self.source.run(plan(sql, Access::ReadWrite)).await?).await
    }

    /// Reads a statement with values: names and JSON texts.
    pub(crate) async fn bind(&self, sql: &str, values: &[(&str, &str)]) -> Result<Read, Error> {
        let mut plan = plan(sql, Access::ReadOnly);
        if let Task::Statement(prepared) = &mut plan.task {
            prepared.values = arguments(values);
        }
        read(self.source.run(plan).await?).await
    }

    /// Lists one kind of metadata.
    pub(crate) async fn describe(&self, metadata: MetadataKind, narrow: MetadataFilter) -> Result<Read, Error> {
        read(self.source.run(around(Task::Describe(metadata, narrow), Access::ReadWrite)).await?).await
    }

    /// Calls a routine of the schema `public` or of another, as `schema.name`.
    pub(crate) async fn call(&self, name: &str, values: &[(&str, &str)], access: Access) -> Result<Read, Error> {
        self.call_overload(name, None, values, access).await
    }

    /// Calls the overload of a routine whose parameters have these types.
    pub(crate) async fn call_overload(
        &self,
        name: &str,
        types: Option<&[&str]>,
        values: &[(&str, &str)],
        access: Access,
    ) -> Result<Read, Error> {
        let overload = types.map(|types| types.iter().map(|type_| (*type_).to_owned()).collect());
        let (schema, name) = match name.split_once('.') {
            Some((schema, name)) => (Some(schema.to_owned()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        let arguments = arguments(values);
        let invocation = Invocation { schema, name, arguments, default_schema: None, overload };
        read(self.source.run(around(Task::Procedure(invocation), access)).await?).await
    }
}

/// A plan for one statement without values.
pub(crate) fn plan(sql: &str, access: Access) -> Plan {
    let naming = Naming { connection: "test", others: &[] };
    let statement = statements(sql, Dialect::POSTGRESQL, naming).unwrap().remove(0);
    around(
        Task::Statement(Prepared { statement, values: Vec::new(), default_schema: None, by_administrator: false }),
        access,
    )
}

fn around(task: Task, access: Access) -> Plan {
    let mut plan = Plan::alone(task, access);
    // Where it is not the timeout that is tried, it is beyond what anything takes on a busy machine.
    plan.limits.timeout = 2 * DEADLINE;
    plan
}

fn arguments(values: &[(&str, &str)]) -> Vec<Argument> {
    let argument = |(name, json): &(&str, &str)| Argument {
        name: (*name).to_owned(),
        value: RawValue::from_string((*json).to_owned()).unwrap(),
        data_type: None,
    };
    values.iter().map(argument).collect()
}

/// Reads one result to its end.
pub(crate) async fn read(mut results: Results) -> Result<Read, Error> {
    let mut columns: Option<Arc<[Column]>> = None;
    let mut rows = Vec::new();
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(described) => columns = Some(described),
            Part::Rows(batch) => {
                let width = columns.as_ref().expect("columns come first").len();
                assert!(batch.rows() > 0, "a batch is never empty");
                for row in 0..batch.rows() {
                    rows.push(
                        (0..width).map(|c| batch.cell(row, c).map(|cell| shown(&cell))).collect::<Result<_, _>>()?,
                    );
                }
            }
            Part::Done { affected } => {
                assert!(results.next().await.is_none(), "nothing comes after the end");
                return Ok(Read { columns: columns.expect("columns come first"), rows, affected });
            }
        }
    }
    panic!("the result has no end");
}

fn shown(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Double(value) => value.to_string(),
        Cell::Decimal(digits) => digits.to_string(),
        Cell::Text(text) => format!("{text:?}"),
        Cell::Json(json) => format!("json:{json}"),
        Cell::Bytes(octets) => format!("bytes:{octets:?}"),
    }
}

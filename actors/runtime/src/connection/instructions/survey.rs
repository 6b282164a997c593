//! Reads the data for the instructions: schemas, tables, columns and keys as visible to the caller, and the rows of
//! small lookup tables, with the caller's identity.

use std::time::Duration;

use crate::connection::calls::runner::Runner;
use portico_core::call::{Call, InstructionsOptions, Limits, MetadataFilter, MetadataKind};
use portico_core::error::{Error, Kind, Result};
use portico_core::pattern;
use portico_sources::digest::{Facts, MOST_LOOKUP_ROWS, MOST_TABLES, QualifiedName};
use portico_sources::{Access, Prepared, Task, TextRow, texts};
use portico_sql::Naming;

/// The maximal number of tables for which the columns of all are read at once.
const MOST_AT_ONCE: usize = 400;
/// The maximal number of tables whose columns are read one by one: more do not fit into any text.
const MOST_DESCRIBED: usize = 100;
/// Columns that are read at most.
const MOST_COLUMNS: usize = 40_000;
/// The timeout of one part.
const PATIENCE: Duration = Duration::from_secs(10);

/// The facts, and whether all of them could be read.
pub(super) struct Survey {
    pub(super) facts: Facts,
    pub(super) is_whole: bool,
}

/// Reads everything; parts other than the tables may fail and are then left out.
pub(super) async fn read(
    runner: &Runner,
    options: &InstructionsOptions,
    call: &Call,
    default_schema: Option<&str>,
) -> Result<Survey> {
    let tables = list(runner, call, MetadataKind::Tables, MetadataFilter::default(), MOST_TABLES, call.limits).await?;
    let mut is_whole = true;
    let mut noted = |listed: Result<Vec<TextRow>>| {
        is_whole &= listed.is_ok();
        listed.unwrap_or_default()
    };
    let part = Limits { timeout: PATIENCE, rows: None };
    let all = MetadataFilter::default;
    let details = noted(list(runner, call, MetadataKind::TableDetails, all(), MOST_TABLES, part).await);
    let keys = noted(list(runner, call, MetadataKind::ImportedKeys, all(), MOST_COLUMNS, part).await);
    let mut facts = Facts::new(&tables, &details, &keys, default_schema);
    if tables.len() <= MOST_AT_ONCE {
        facts.describe(&noted(list(runner, call, MetadataKind::Columns, all(), MOST_COLUMNS, part).await));
    } else {
        let ranked = facts.ranked().into_iter().take(MOST_DESCRIBED);
        let places: Vec<QualifiedName> = ranked.filter_map(|at| Some(facts.tables.get(at)?.place.clone())).collect();
        for (schema, name) in places {
            let exactly = |name: &str| Some(pattern::literal(name));
            let narrow =
                MetadataFilter { schema: exactly(&schema), table: exactly(&name), ..MetadataFilter::default() };
            let rows = noted(list(runner, call, MetadataKind::Columns, narrow, MOST_COLUMNS, part).await);
            facts.describe(&rows);
        }
    }
    let may_select = ["execute_select", "execute_sql"].iter().any(|tool| options.tools.contains(tool));
    if options.lookup_rows && may_select {
        for (place, columns) in facts.lookups() {
            let rows = noted(rows_of(runner, call, &place, &columns, part).await);
            facts.add_lookup(&place, rows);
        }
    }
    Ok(Survey { facts, is_whole })
}

/// Up to `most` rows of a listing.
pub(in crate::connection) async fn list(
    runner: &Runner,
    call: &Call,
    metadata: MetadataKind,
    narrow: MetadataFilter,
    most: usize,
    limits: Limits,
) -> Result<Vec<TextRow>> {
    texts(runner.plan_within(Task::Describe(metadata, narrow), Access::ReadOnly, limits, call).await?, most).await
}

/// Returns the rows of a small table and one more, by a statement that the caller could send. If the caller may not
/// read it, there are none.
async fn rows_of(
    runner: &Runner,
    call: &Call,
    (schema, name): &QualifiedName,
    columns: &[String],
    limits: Limits,
) -> Result<Vec<TextRow>> {
    let connection = &runner.description.connection;
    let dialect = connection.driver.dialect;
    let columns: Vec<String> = columns.iter().map(|column| dialect.quoted(column)).collect();
    let text = format!("SELECT {} FROM {}.{}", columns.join(", "), dialect.quoted(schema), dialect.quoted(name));
    let naming = Naming { connection: &connection.name, others: &[] };
    let statement = portico_sql::statements(&text, dialect, naming)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("bug: a statement of the survey's own is empty"))?;
    let prepared = Prepared { statement, values: Vec::new(), default_schema: None, by_administrator: false };
    let most = MOST_LOOKUP_ROWS + 1;
    let limits = Limits { rows: Some(most as u64), ..limits };
    match runner.plan_within(Task::Statement(prepared), Access::ReadOnly, limits, call).await {
        Ok(results) => texts(results, most).await,
        // A caller without access gets nothing.
        Err(error) if matches!(error.kind, Kind::Invalid | Kind::Forbidden | Kind::NotFound | Kind::Rejected) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

//! Listings for agents: tables are found as agents write them, or by words, and an empty answer says why it is empty
//! and what is near. All of it is of what the caller sees.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use crate::connection::calls::runner::Runner;
use crate::connection::instructions::list;
use portico_core::call::{Call, MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::near;
use portico_core::pattern;
use portico_core::reply::{Cell, DataType, Part, Results};
use portico_sources::catalog::{assembled, columns, labels, place};
use portico_sources::table_search;
use portico_sources::{Access, Plan, Task, TextRow};

/// Names that are looked through.
const MOST_NAMES: usize = 20_000;
/// Columns whose names and comments are searched.
const MOST_SEARCHED: usize = 100_000;

/// The rows of `metadata`.
///
/// # Errors
/// What the source says.
pub(in crate::connection) async fn explained(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    call: &Call,
) -> Result<Results> {
    if narrow.tables.is_empty() && narrow.search.is_none() {
        let results = runner.plan(Task::Describe(metadata, plain(narrow)), Access::ReadOnly, call).await?;
        return why_empty(runner, metadata, narrow, &[], results, call).await;
    }
    let of_schema = MetadataFilter {
        catalog: narrow.catalog.clone(),
        schema: narrow.schema.clone(),
        table_type: narrow.table_type.clone(),
        ..MetadataFilter::default()
    };
    let tables = list(runner, call, MetadataKind::Tables, of_schema.clone(), MOST_NAMES, call.limits).await?;
    if tables.is_empty() {
        return why_empty(runner, metadata, narrow, &[], assembled(metadata, Vec::new()), call).await;
    }
    let known: Vec<(&str, &str)> = tables.iter().map(names).collect();
    let mut found = match narrow.tables.as_slice() {
        [] => table_search::TableMatches {
            tables: known.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect(),
            hint: None,
        },
        asked => table_search::find(asked, &known, &runner.description.connection.name),
    };
    if metadata == MetadataKind::Columns {
        let results = of_columns(runner, narrow, &found.tables, call)?;
        if let Some(hint) = found.hint.take() {
            results.hint.say(hint);
            return Ok(results);
        }
        return why_empty(runner, metadata, narrow, &found.tables, results, call).await;
    }
    let is_found = |row: &TextRow| {
        let (schema, name) = names(row);
        found.tables.iter().any(|(in_schema, it)| in_schema == schema && it == name)
    };
    let mut rows: Vec<TextRow> = match narrow.tables.as_slice() {
        [] => tables,
        _ => tables.into_iter().filter(|row| is_found(row)).collect(),
    };
    if let Some(words) = &narrow.search {
        let columns = list(runner, call, MetadataKind::Columns, of_schema, MOST_SEARCHED, call.limits).await?;
        let ranked = table_search::search(words, &rows, &columns);
        if ranked.is_empty() && found.hint.is_none() {
            found.hint = Some(table_search::NO_HIT.to_owned());
        }
        rows = ranked.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
    }
    let results =
        assembled(MetadataKind::Tables, rows.into_iter().map(|row| cells(MetadataKind::Tables, row)).collect());
    if let Some(hint) = found.hint {
        results.hint.say(hint);
    }
    Ok(results)
}

/// Without what only this room knows.
fn plain(narrow: &MetadataFilter) -> MetadataFilter {
    MetadataFilter { tables: Vec::new(), search: None, explains: false, ..narrow.clone() }
}

/// Schema and name of a table's row.
fn names(row: &TextRow) -> (&str, &str) {
    let text = |label| row.get(place(MetadataKind::Tables, label)).and_then(Option::as_deref).unwrap_or_default();
    (text("TABLE_SCHEMA"), text("TABLE_NAME"))
}

/// The cells of a row that was read as texts.
fn cells(metadata: MetadataKind, row: TextRow) -> Vec<Cell<'static>> {
    let types = labels(metadata).iter().map(|(_, data_type)| *data_type);
    let cell = |(text, data_type): (Option<String>, DataType)| match text {
        None => Cell::Null,
        Some(text) if matches!(data_type, DataType::BigInt | DataType::Integer) => {
            text.parse().map_or(Cell::Null, Cell::Integer)
        }
        Some(text) => Cell::Text(text.into()),
    };
    row.into_iter().zip(types).map(cell).collect()
}

/// The columns of each of `tables`, one table after the other.
fn of_columns(runner: &Runner, narrow: &MetadataFilter, tables: &[(String, String)], call: &Call) -> Result<Results> {
    let (source, identity, trace) = (Arc::clone(&runner.source), runner.identity(call)?, runner.trace(call));
    let (limits, abandoned) = (call.limits, call.abandoned.clone());
    let narrow = plain(narrow);
    let ask = move |(schema, table): (String, String)| {
        let narrow = MetadataFilter {
            schema: Some(pattern::literal(&schema)),
            table: Some(pattern::literal(&table)),
            ..narrow.clone()
        };
        let plan = Plan {
            limits,
            abandoned: abandoned.clone(),
            identity: identity.clone(),
            trace,
            ..Plan::alone(Task::Describe(MetadataKind::Columns, narrow), Access::ReadOnly)
        };
        let asked = source.run(plan);
        async move {
            match asked.await {
                Ok(results) => results.left_stream(),
                Err(error) => stream::iter([Err(error)]).right_stream(),
            }
        }
    };
    let each = stream::iter(tables.to_vec()).then(ask).flatten();
    let rows = each.filter(|part| {
        let is_row = !matches!(part, Ok(Part::Columns(_) | Part::Done { .. }));
        std::future::ready(is_row)
    });
    let head = stream::iter([Ok(Part::Columns(columns(MetadataKind::Columns)))]);
    Ok(Results::new(false, head.chain(rows).chain(stream::iter([Ok(Part::Done { affected: -1 })]))))
}

/// `results`, which say why they are empty where they are.
async fn why_empty(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    tables: &[(String, String)],
    mut results: Results,
    call: &Call,
) -> Result<Results> {
    let mut read = Vec::new();
    while let Some(part) = results.next().await {
        let is_row = matches!(part, Ok(Part::Rows(_)) | Err(_));
        read.push(part);
        if is_row {
            return Ok(results.prepend(read, ()));
        }
    }
    results.hint.say(reason(runner, metadata, narrow, tables, call).await);
    Ok(results.prepend(read, ()))
}

/// Why a listing has no rows.
async fn reason(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    tables: &[(String, String)],
    call: &Call,
) -> String {
    let narrowed = |metadata, narrow| list(runner, call, metadata, narrow, MOST_NAMES, call.limits);
    if let Some(schema) = &narrow.schema {
        let there = MetadataFilter { schema: Some(schema.clone()), ..MetadataFilter::default() };
        if narrowed(MetadataKind::Schemas, there).await.is_ok_and(|rows| rows.is_empty()) {
            let all = narrowed(MetadataKind::Schemas, MetadataFilter::default()).await.unwrap_or_default();
            let known: Vec<&str> = all.iter().filter_map(|row| row.get(1)?.as_deref()).collect();
            let near = near::did_you_mean(&near::nearest(schema, known.iter().copied()));
            let near = near.unwrap_or_else(|| format!("there are {}", known.join(", ")));
            return format!("there is no schema {schema} that you may see; {near}");
        }
    }
    if let (Some(column), false) = (&narrow.column, tables.is_empty()) {
        let mut known: Vec<String> = Vec::new();
        for (schema, table) in tables.iter().take(5) {
            let (schema, table) = (Some(pattern::literal(schema)), Some(pattern::literal(table)));
            let rows =
                narrowed(MetadataKind::Columns, MetadataFilter { schema, table, ..MetadataFilter::default() }).await;
            known.extend(rows.unwrap_or_default().into_iter().filter_map(|row| row.into_iter().nth(3)?));
        }
        let near = near::did_you_mean(&near::nearest(column, known.iter().map(String::as_str)));
        let near = near.unwrap_or_else(|| format!("there are {}", known.join(", ")));
        return format!("no column matches {column}; {near}");
    }
    if let (MetadataKind::Tables, Some(kind)) = (metadata, &narrow.table_type) {
        return format!("there is none of type {kind} that you may see: types are TABLE, VIEW and the like");
    }
    "nothing is there that you may see, or nothing by these names".to_owned()
}

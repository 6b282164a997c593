//! Listings for agents: finds tables as agents write them, or by words, and explains empty answers with similar
//! names. All within what the caller sees.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};

use crate::connection::calls::runner::Runner;
use crate::connection::instructions::list;
use portico_core::call::{Call, MetadataFilter, MetadataKind};
use portico_core::error::{Error, Result};
use portico_core::near;
use portico_core::pattern;
use portico_core::reply::{Cell, DataType, Part, Results};
use portico_sources::catalog::{assembled, columns, labels, noun, object_labels, place};
use portico_sources::table_search;
use portico_sources::{Access, Plan, Task, TextRow, texts};

/// Names that are looked through.
const MOST_NAMES: usize = 20_000;
/// Octets of a name, a pattern or several of these.
const LONGEST: usize = 4 * 1024;
/// The maximal number of columns whose names and comments are searched.
const MOST_SEARCHED: usize = 100_000;

/// Returns the rows of `metadata`.
///
/// # Errors
/// The source's error.
pub(in crate::connection) async fn explained(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    call: &Call,
) -> Result<Results> {
    if narrow.objects.is_empty() && narrow.search.is_none() {
        let results = match spread(narrow)?.as_slice() {
            [one] => runner.plan(Task::Describe(metadata, one.clone()), Access::ReadOnly, call).await?,
            several => described(runner, metadata, several.to_vec(), call)?,
        };
        return why_empty(runner, metadata, narrow, &[], results, call).await;
    }
    let listed = match metadata {
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => MetadataKind::Procedures,
        _ => MetadataKind::Tables,
    };
    let of_schema = spread(&MetadataFilter {
        catalog: narrow.catalog.clone(),
        schema: narrow.schema.clone(),
        table_type: narrow.table_type.clone(),
        ..MetadataFilter::default()
    })?;
    let objects = list_all(runner, listed, &of_schema, MOST_NAMES, call).await?;
    if objects.is_empty() {
        return why_empty(runner, metadata, narrow, &[], assembled(metadata, Vec::new()), call).await;
    }
    let names = |row: &TextRow| {
        let text = |label| row.get(place(listed, label)).cloned().flatten().unwrap_or_default();
        let [schema, name] = object_labels(listed);
        (text(schema), text(name))
    };
    // Overloads have one name.
    let known: BTreeSet<(String, String)> = objects.iter().map(names).collect();
    let known: Vec<(&str, &str)> = known.iter().map(|(schema, name)| (schema.as_str(), name.as_str())).collect();
    let mut found = match narrow.objects.as_slice() {
        [] => table_search::Matches { objects: objects.iter().map(names).collect(), hint: None },
        asked => table_search::find(asked, &known, &runner.description.connection.name, noun(metadata)),
    };
    if metadata != listed {
        let results = of_each(runner, metadata, narrow, &found.objects, call)?;
        if let Some(hint) = found.hint.take() {
            results.hint.say(hint);
            return Ok(results);
        }
        return why_empty(runner, metadata, narrow, &found.objects, results, call).await;
    }
    let mut rows: Vec<TextRow> = match narrow.objects.as_slice() {
        [] => objects,
        _ => objects.into_iter().filter(|row| found.objects.contains(&names(row))).collect(),
    };
    if let Some(words) = &narrow.search {
        let columns = list_all(runner, MetadataKind::Columns, &of_schema, MOST_SEARCHED, call).await?;
        let ranked = table_search::search(words, &rows, &columns);
        if ranked.is_empty() && found.hint.is_none() {
            found.hint = Some(table_search::NO_HIT.to_owned());
        }
        rows = ranked.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
    }
    let results = assembled(listed, rows.into_iter().map(|row| cells(listed, row)).collect());
    if let Some(hint) = found.hint {
        results.hint.say(hint);
    }
    Ok(results)
}

/// Returns plain filters for the source: one for each combination of the elements of comma lists.
///
/// # Errors
/// There are too many.
fn spread(narrow: &MetadataFilter) -> Result<Vec<MetadataFilter>> {
    let table_type = narrow.table_type.as_deref().map(|kinds| kinds.to_uppercase().replace("BASE TABLE", "TABLE"));
    let plain = MetadataFilter { objects: Vec::new(), search: None, explains: false, table_type, ..narrow.clone() };
    let members: [fn(&mut MetadataFilter) -> &mut Option<String>; 4] =
        [|it| &mut it.schema, |it| &mut it.table_type, |it| &mut it.column, |it| &mut it.param];
    let mut all = vec![plain];
    for member in members {
        if member(&mut all[0]).as_ref().is_some_and(|text| text.len() > LONGEST) {
            return Err(Error::invalid(format!("a name or pattern has more than {LONGEST} octets")));
        }
        let each = |mut narrow: MetadataFilter| {
            let Some(text) = member(&mut narrow).take() else { return vec![narrow] };
            let with = |name: &str| {
                let mut narrow = narrow.clone();
                *member(&mut narrow) = Some(name.to_owned());
                narrow
            };
            pattern::alternatives(&text).into_iter().map(with).collect()
        };
        all = all.into_iter().flat_map(each).collect();
        if all.len() > table_search::MOST_FOUND {
            return Err(Error::invalid("too many names").hint("ask for fewer at once"));
        }
    }
    Ok(all)
}

/// Up to `most` rows of each of `narrows`.
async fn list_all(
    runner: &Runner,
    metadata: MetadataKind,
    narrows: &[MetadataFilter],
    most: usize,
    call: &Call,
) -> Result<Vec<TextRow>> {
    let mut rows = Vec::new();
    for narrow in narrows {
        rows.extend(list(runner, call, metadata, narrow.clone(), most, call.limits).await?);
    }
    Ok(rows)
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

/// The columns or parameters of each of `objects`, one after the other.
fn of_each(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    objects: &[(String, String)],
    call: &Call,
) -> Result<Results> {
    let mut narrows = Vec::new();
    for (schema, name) in objects {
        let name = Some(pattern::literal(name));
        let mut narrow = MetadataFilter { schema: None, ..narrow.clone() };
        let member = if metadata == MetadataKind::Columns { &mut narrow.table } else { &mut narrow.procedure };
        *member = name;
        let one = |it| MetadataFilter { schema: Some(pattern::literal(schema)), ..it };
        narrows.extend(spread(&narrow)?.into_iter().map(one));
    }
    described(runner, metadata, narrows, call)
}

/// The rows of each of `narrows`, one after the other.
fn described(runner: &Runner, metadata: MetadataKind, narrows: Vec<MetadataFilter>, call: &Call) -> Result<Results> {
    let (source, identity, trace) = (Arc::clone(&runner.source), runner.identity(call)?, runner.trace(call));
    let (limits, abandoned) = (call.limits, call.abandoned.clone());
    let ask = move |narrow: MetadataFilter| {
        let plan = Plan {
            limits,
            abandoned: abandoned.clone(),
            identity: identity.clone(),
            trace,
            ..Plan::alone(Task::Describe(metadata, narrow), Access::ReadOnly)
        };
        let asked = source.run(plan);
        async move {
            match asked.await {
                Ok(results) => results.left_stream(),
                Err(error) => stream::iter([Err(error)]).right_stream(),
            }
        }
    };
    let each = stream::iter(narrows).then(ask).flatten();
    let rows = each.filter(|part| {
        let is_row = !matches!(part, Ok(Part::Columns(_) | Part::Done { .. }));
        std::future::ready(is_row)
    });
    let head = stream::iter([Ok(Part::Columns(columns(metadata)))]);
    Ok(Results::new(false, head.chain(rows).chain(stream::iter([Ok(Part::Done { affected: -1 })]))))
}

/// Returns `results`. If they are empty, they say why.
async fn why_empty(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    objects: &[(String, String)],
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
    results.hint.say(reason(runner, metadata, narrow, objects, call).await);
    Ok(results.prepend(read, ()))
}

/// Returns why a listing has no rows.
async fn reason(
    runner: &Runner,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    objects: &[(String, String)],
    call: &Call,
) -> String {
    let all = |metadata| list(runner, call, metadata, MetadataFilter::default(), MOST_NAMES, call.limits);
    let here = &runner.description.connection.name;
    if let Some(catalog) = narrow.catalog.as_deref().filter(|catalog| !pattern::matches(Some(catalog), here)) {
        return format!("catalogName {catalog} is not this connection, which is {here}: leave it out");
    }
    if let Some(schema) = &narrow.schema {
        let there = spread(&MetadataFilter { schema: Some(schema.clone()), ..MetadataFilter::default() });
        let there = async { list_all(runner, MetadataKind::Schemas, &there?, MOST_NAMES, call).await }.await;
        if there.is_ok_and(|rows| rows.is_empty()) {
            let rows = all(MetadataKind::Schemas).await.unwrap_or_default();
            let known: Vec<&str> = rows.iter().filter_map(|row| row.get(1)?.as_deref()).collect();
            let near = near::suggestion_or_list(schema, "there are ", &known);
            return format!("there is no schema {schema} that you may see; {near}");
        }
    }
    let inner = match metadata {
        MetadataKind::Columns => narrow.column.as_ref().map(|name| ("column", name, 3)),
        MetadataKind::ProcedureParameters => narrow.param.as_ref().map(|name| ("parameter", name, 3)),
        _ => None,
    };
    if let (Some((what, sought, at)), false) = (inner, objects.is_empty()) {
        let of_some = MetadataFilter { column: None, param: None, ..narrow.clone() };
        let some = objects.iter().take(5).cloned().collect::<Vec<_>>();
        let rows = async { texts(of_each(runner, metadata, &of_some, &some, call)?, MOST_NAMES).await }.await;
        let known: Vec<String> =
            rows.unwrap_or_default().into_iter().filter_map(|row| row.into_iter().nth(at)?).collect();
        let near = near::suggestion_or_list(sought, "there are ", &known);
        return format!("no {what} matches {sought}; {near}");
    }
    if let (MetadataKind::Tables, Some(kind)) = (metadata, &narrow.table_type) {
        let rows = all(MetadataKind::Tables).await.unwrap_or_default();
        let at = place(MetadataKind::Tables, "TABLE_TYPE");
        let known: BTreeSet<&str> = rows.iter().filter_map(|row| row.get(at)?.as_deref()).collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        return format!("there is no table of type {kind} that you may see; there are {known}");
    }
    "there is nothing that you may see, or nothing with these names".to_owned()
}

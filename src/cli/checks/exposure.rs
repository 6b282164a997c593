//! What each entry of `[connections.exposed]` and `[connections.hidden]` matches in its source, for `portico
//! check`.

use futures_util::StreamExt;
use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::error::Error;
use portico_actors::reply::{Cell, Part};
use portico_actors::source::{self, Access, Plan, Source, Task};
use serde::Serialize;

use crate::cli::output::say;
use crate::config::Connection;

/// The maximal number of names printed for a pattern.
const PRINTED: usize = 20;

/// One entry of a list.
#[derive(Serialize)]
pub(in crate::cli) struct Entry {
    list: &'static str,
    #[serde(rename = "entry")]
    text: String,
    matches: Vec<String>,
}

/// Returns the entries of `connection`, each with what it matches in `source`; empty without lists.
///
/// # Errors
/// The source's error while its names are read.
pub(in crate::cli) async fn entries(connection: &Connection, source: &dyn Source) -> Result<Vec<Entry>, Error> {
    let exposure = &connection.exposure;
    let kinds = [
        ("exposed.schemas", "hidden.schemas", &exposure.schemas, MetadataKind::Schemas),
        ("exposed.tables", "hidden.tables", &exposure.tables, MetadataKind::Tables),
        ("exposed.procedures", "hidden.procedures", &exposure.procedures, MetadataKind::Procedures),
    ];
    let mut entries = Vec::new();
    for (shown, hidden, names, metadata) in kinds {
        let listed: Vec<(&'static str, &String)> = (names.shown.iter().flatten().map(|entry| (shown, entry)))
            .chain(names.hidden.iter().map(|entry| (hidden, entry)))
            .collect();
        if listed.is_empty() {
            continue;
        }
        let known = known(source, metadata).await?;
        for (list, entry) in listed {
            let fits = |(schema, name): &&(Option<String>, String)| source::speaks_of(entry, schema.as_deref(), name);
            let written = |(schema, name): &(Option<String>, String)| match schema {
                Some(schema) => format!("{schema}.{name}"),
                None => name.clone(),
            };
            let mut matches: Vec<String> = known.iter().filter(fits).map(written).collect();
            // Overloads share their name.
            matches.dedup();
            entries.push(Entry { list, text: entry.clone(), matches });
        }
    }
    Ok(entries)
}

/// Returns the schemas, or the objects with their schemas.
pub(in crate::cli) async fn known(
    source: &dyn Source,
    metadata: MetadataKind,
) -> Result<Vec<(Option<String>, String)>, Error> {
    if metadata == MetadataKind::Schemas {
        let schemas = texts(source, metadata, MetadataFilter::default(), [1]).await?;
        return Ok(schemas.into_iter().map(|[schema]| (None, schema)).collect());
    }
    let named = texts(source, metadata, MetadataFilter::default(), [1, 2]).await?;
    Ok(named.into_iter().map(|[schema, name]| (Some(schema), name)).collect())
}

/// Returns the texts at `places` of each row that the source lists; other values are empty.
pub(in crate::cli) async fn texts<const N: usize>(
    source: &dyn Source,
    metadata: MetadataKind,
    narrow: MetadataFilter,
    places: [usize; N],
) -> Result<Vec<[String; N]>, Error> {
    let mut results = source.run(Plan::alone(Task::Describe(metadata, narrow), Access::ReadOnly)).await?;
    let mut listed = Vec::new();
    while let Some(part) = results.next().await {
        let Part::Rows(batch) = part? else { continue };
        for row in 0..batch.rows() {
            let mut texts = [const { String::new() }; N];
            for (text, place) in texts.iter_mut().zip(places) {
                if let Cell::Text(found) = batch.cell(row, place)? {
                    *text = found.into_owned();
                }
            }
            listed.push(texts);
        }
    }
    Ok(listed)
}

impl Entry {
    /// Prints it for people; an entry without matches is a warning.
    pub(in crate::cli) fn say(&self, connection: &str) {
        let Self { list, text: entry, matches } = self;
        if matches.is_empty() {
            let remedy =
                if entry.contains('_') && !entry.contains('%') { "; _ is not a wildcard here, only % is" } else { "" };
            say(format_args!("connection {connection}: warning: {list}: {entry:?} matches nothing{remedy}"));
            return;
        }
        let some: Vec<&str> = matches.iter().take(PRINTED).map(String::as_str).collect();
        let more = matches.len().saturating_sub(PRINTED);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        say(format_args!("connection {connection}: {list}: {entry:?} matches {}{rest}", some.join(", ")));
    }
}

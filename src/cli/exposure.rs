//! What each entry of `[connections.exposed]` and `[connections.hidden]` speaks of in its source, for
//! `portico check`.

use futures_util::StreamExt;
use portico_actors::call::{Facet, Narrow};
use portico_actors::error::Error;
use portico_actors::reply::{Cell, Part};
use portico_actors::source::{self, Access, Plan, Source, Task};
use serde_json::{Value, json};

use super::output::say;
use crate::app::source_settings;
use crate::config::Connection;

/// Names that are printed of those that a pattern matches.
const PRINTED: usize = 20;

/// One entry of a list.
pub(super) struct Entry {
    list: &'static str,
    text: String,
    matches: Vec<String>,
}

/// The entries of `connection`, each with what it matches; none where nothing is listed.
///
/// # Errors
/// What the source said while it was asked for its names.
pub(super) async fn entries(connection: &Connection) -> Result<Vec<Entry>, Error> {
    let exposure = &connection.exposure;
    let kinds = [
        ("exposed.schemas", "hidden.schemas", &exposure.schemas, Facet::Schemas),
        ("exposed.tables", "hidden.tables", &exposure.tables, Facet::Tables),
        ("exposed.procedures", "hidden.procedures", &exposure.procedures, Facet::Procedures),
    ];
    if kinds.iter().all(|(.., names, _)| names.shown.is_none() && names.hidden.is_empty()) {
        return Ok(Vec::new());
    }
    let source = connection.location.open(source_settings(connection))?;
    let mut entries = Vec::new();
    for (shown, hidden, names, facet) in kinds {
        let listed: Vec<(&'static str, &String)> = (names.shown.iter().flatten().map(|entry| (shown, entry)))
            .chain(names.hidden.iter().map(|entry| (hidden, entry)))
            .collect();
        if listed.is_empty() {
            continue;
        }
        let known = match known(source.as_ref(), facet).await {
            Ok(known) => known,
            Err(error) => {
                source.close().await;
                return Err(error);
            }
        };
        for (list, entry) in listed {
            let fits = |(schema, name): &&(String, Option<String>)| match name {
                Some(name) => source::speaks_of(entry, Some(schema), name),
                None => source::speaks_of(entry, None, schema),
            };
            let written = |(schema, name): &(String, Option<String>)| match name {
                Some(name) => format!("{schema}.{name}"),
                None => schema.clone(),
            };
            let mut matches: Vec<String> = known.iter().filter(fits).map(written).collect();
            // Overloads share their name.
            matches.dedup();
            entries.push(Entry { list, text: entry.clone(), matches });
        }
    }
    source.close().await;
    Ok(entries)
}

/// Schemas, or what is in them with their schema.
async fn known(source: &dyn Source, facet: Facet) -> Result<Vec<(String, Option<String>)>, Error> {
    let plan = Plan::alone(Task::Describe(facet, Narrow::default()), Access::ReadOnly);
    let mut results = source.run(plan).await?;
    let mut known = Vec::new();
    while let Some(part) = results.next().await {
        let Part::Rows(batch) = part? else { continue };
        for row in 0..batch.rows() {
            let text = |column| {
                batch.cell(row, column).map(|cell| match cell {
                    Cell::Text(text) => text.into_owned(),
                    _ => String::new(),
                })
            };
            known.push((text(1)?, if facet == Facet::Schemas { None } else { Some(text(2)?) }));
        }
    }
    Ok(known)
}

impl Entry {
    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({"list": self.list, "entry": self.text, "matches": self.matches})
    }

    /// For people; an entry that matches nothing is a warning.
    pub(super) fn say(&self, connection: &str) {
        let Self { list, text: entry, matches } = self;
        if matches.is_empty() {
            let remedy =
                if entry.contains('_') && !entry.contains('%') { "; _ is no wildcard here, only % is" } else { "" };
            say(format_args!("connection {connection}: warning: {list}: {entry:?} matches nothing{remedy}"));
            return;
        }
        let some: Vec<&str> = matches.iter().take(PRINTED).map(String::as_str).collect();
        let more = matches.len().saturating_sub(PRINTED);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        say(format_args!("connection {connection}: {list}: {entry:?} matches {}{rest}", some.join(", ")));
    }
}

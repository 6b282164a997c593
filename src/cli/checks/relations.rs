//! Finds columns in relations of workspaces that their connections do not have, for `portico check`. Columns of
//! views are known only when the view is planned, and are not checked here.

use std::collections::BTreeMap;

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::error::Error;
use portico_actors::near::suggestion;
use portico_actors::pattern::{literal, speaks_of};
use portico_actors::source::{Source, catalog};
use portico_actors::workspace::{ResolvedName, Workspace, column};

use super::exposure::texts;

/// A side of a relation: a column of a table of the connection that is looked at.
pub(in crate::cli) struct Side<'w> {
    pub(in crate::cli) workspace: &'w Workspace,
    /// The schema there, or a pattern.
    schema: &'w str,
    table: &'w str,
    column: &'w str,
}

impl<'w> Side<'w> {
    /// The sides of all relations of `workspace` that are of the connection of that name.
    pub(in crate::cli) fn all(workspace: &'w Workspace, connection: &str) -> Vec<Self> {
        let sides = workspace.relations.iter().flat_map(|relation| [&relation.from, &relation.to]);
        let side = |name: &'w str| {
            let (folder, name, column) = column(name)?;
            match workspace.find(folder, name)? {
                ResolvedName::Table { connection: of, schema, table, .. } if of == connection => {
                    Some(Self { workspace, schema, table, column })
                }
                _ => None,
            }
        };
        sides.filter_map(|name| side(name)).collect()
    }

    /// Returns the missing name, given the `tables` that the connection shows, qualified with the connection, and
    /// similar names. Columns that were read are in `known`.
    ///
    /// # Errors
    /// The source's error.
    pub(in crate::cli) async fn missing(
        &self,
        source: &dyn Source,
        tables: &[(&str, &str)],
        known: &mut BTreeMap<(String, String), Vec<String>>,
    ) -> Result<Option<(String, Option<String>)>, Error> {
        let Self { schema, table, column, .. } = *self;
        let is_it = |(of, name): &&(&str, &str)| speaks_of(schema, of) && *name == table;
        let Some((schema, _)) = tables.iter().find(is_it) else {
            // A missing asset with a name of its own is reported itself; a pattern does not promise this table.
            let hint = suggestion(table, tables.iter().map(|(_, name)| *name));
            return Ok(Some((format!("{schema}.{table}"), hint)));
        };
        let place = ((*schema).to_owned(), table.to_owned());
        let columns = match known.get(&place) {
            Some(columns) => columns.clone(),
            None => {
                let read = columns(source, &place).await?;
                known.insert(place, read.clone());
                read
            }
        };
        if columns.iter().any(|known| known == column) {
            return Ok(None);
        }
        let hint = suggestion(column, columns.iter().map(String::as_str));
        Ok(Some((format!("{schema}.{table}.{column}"), hint)))
    }
}

/// The names of a table's columns.
async fn columns(source: &dyn Source, (schema, table): &(String, String)) -> Result<Vec<String>, Error> {
    let narrow =
        MetadataFilter { schema: Some(literal(schema)), table: Some(literal(table)), ..MetadataFilter::default() };
    let names =
        texts(source, MetadataKind::Columns, narrow, [catalog::place(MetadataKind::Columns, "COLUMN_NAME")]).await?;
    Ok(names.into_iter().map(|[name]| name).collect())
}

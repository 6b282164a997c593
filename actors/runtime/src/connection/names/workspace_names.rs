//! Reports statements over a workspace's names: with these names, as far as they differ from the source's own.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::ready;
use portico_core::call::WorkspaceContext;
use portico_core::error::{Error, Result};
use portico_core::reply::{Column, Part, Results};
use portico_sources::Profile;
use portico_sql::{Dialect, InWorkspace, ParameterNames, Renamed, Statement};

/// Reads the statements of a text over names of a workspace, for one connection.
///
/// # Errors
/// Those of the parser; [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) for EXPLAIN by a caller who does
/// not reach the connection itself, since a plan reveals its names and statements.
pub(in crate::connection) fn understand(
    text: &str,
    dialect: Dialect,
    (within, folder): (&WorkspaceContext, Option<&str>),
    (connection, profile): (&str, &Profile),
    given: &ParameterNames,
) -> Result<(Vec<Statement>, Vec<Renamed>)> {
    let tables = &profile.tables;
    let schema_of = |asset: &portico_core::workspace::Asset, name: &str| {
        let found = tables.iter().find(|table| table.name == name && asset.is(&table.schema, &table.name));
        found.map(|table| table.schema.clone())
    };
    let workspace = &within.workspace;
    let in_workspace = InWorkspace { workspace, connection, folder, schema_of: &schema_of };
    let read = portico_sql::statements_within(text, dialect, in_workspace, given)?;
    for statement in &read.0 {
        if statement.verb == "EXPLAIN" && !within.is_reached {
            let message = format!(
                "EXPLAIN shows what is sent to {connection}, which this credential opens only through the workspace"
            );
            return Err(Error::forbidden(message).hint("ask someone with access to the connection itself"));
        }
        (within.sent)(connection, &statement.text);
    }
    Ok(read)
}

/// The names that replace those of the source.
#[derive(Clone, Debug)]
pub(in crate::connection) struct Names {
    workspace: Arc<str>,
    renamed: Arc<[Renamed]>,
}

impl Names {
    pub(in crate::connection) fn new(within: &WorkspaceContext, renamed: Vec<Renamed>) -> Self {
        Self { workspace: Arc::clone(&within.workspace.name), renamed: renamed.into() }
    }

    /// The results with columns and failures under the workspace's names.
    pub(in crate::connection) fn rename(self, results: Results) -> Results {
        let names = self.clone();
        let results = results.map_error(move |error| ready(names.failure(error)).boxed());
        results.map_parts(move |part| match part {
            Part::Columns(columns) => Part::Columns(columns.iter().map(|column| self.column(column)).collect()),
            part => part,
        })
    }

    /// A column of a table that the statement does not name gets no table.
    fn column(&self, column: &Column) -> Column {
        let is_it = |known: &&Renamed| {
            column.table.as_ref() == Some(&known.table) && column.schema.as_ref() == Some(&known.schema)
        };
        let (catalog, schema, table) = match self.renamed.iter().find(is_it) {
            Some(known) => (Some(self.workspace.to_string()), Some(known.folder.clone()), Some(known.name.clone())),
            None => (None, None, None),
        };
        Column { catalog, schema, table, ..column.clone() }
    }

    /// The failure with the workspace's names in the source's words.
    pub(in crate::connection) fn failure(&self, mut error: Error) -> Error {
        for Renamed { folder, name, schema, table } in self.renamed.iter() {
            let own = portico_core::workspace::shown(folder, name);
            for (theirs, ours) in [
                (format!("{schema}.{table}"), own),
                (format!("\"{table}\""), format!("\"{name}\"")),
                (format!("{table}."), format!("{name}.")),
            ] {
                error.message = replaced(&error.message, &theirs, &ours);
                let detail = error.get_detail().map(|detail| replaced(detail, &theirs, &ours));
                let hint = error.get_hint().map(|hint| replaced(hint, &theirs, &ours));
                error = error.with(detail, Error::detail).with(hint, Error::hint);
            }
        }
        error
    }
}

/// Replaces `theirs` by `ours` in `text`, unless it is a part of a longer name.
fn replaced(text: &str, theirs: &str, ours: &str) -> String {
    if theirs == ours {
        return text.to_owned();
    }
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(theirs) {
        let (before, behind) = (rest.get(..at).unwrap_or_default(), rest.get(at + theirs.len()..).unwrap_or_default());
        let in_name = |each: char| each.is_alphanumeric() || matches!(each, '_' | '$');
        let ends = theirs.ends_with(['"', '.']) || !behind.starts_with(in_name);
        let alone = theirs.ends_with('.') && before.ends_with(['.', '"']);
        let begins = !before.ends_with(in_name) && !before.ends_with('.') && !alone;
        replaced.push_str(before);
        replaced.push_str(if begins && ends { ours } else { theirs });
        rest = behind;
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_tells_of_the_workspaces_names() {
        let names = Names {
            workspace: "store".into(),
            renamed: [Renamed {
                folder: "crm".to_owned(),
                name: "people".to_owned(),
                schema: "main".to_owned(),
                table: "customers".to_owned(),
            }]
            .into(),
        };
        for (theirs, ours) in [
            ("no such table: main.customers", "no such table: crm.people"),
            ("relation \"main.customers\" does not exist", "relation \"crm.people\" does not exist"),
            ("UNIQUE constraint failed: customers.email", "UNIQUE constraint failed: people.email"),
            (
                "null value in column \"x\" of relation \"customers\"",
                "null value in column \"x\" of relation \"people\"",
            ),
            ("violates \"customers_pkey\" of mycustomers.id", "violates \"customers_pkey\" of mycustomers.id"),
        ] {
            assert_eq!(names.failure(Error::invalid(theirs)).message, ours);
        }
    }
}

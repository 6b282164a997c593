//! Lists the content of a workspace: the listings of the connections underneath, with the workspace's names, and
//! its views.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt;
use portico_actors::call::{Limits, MetadataFilter, MetadataKind, Mode, Op, Sql};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::effects::Effects;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::pattern;
use portico_actors::reply::{Cell, Column, Part, Reply, Results};
use portico_actors::source::catalog::{assembled, labels, object_labels, place};
use portico_actors::source::texts;
use portico_actors::workspace::{Asset, MAIN, View, Workspace, without_names};

use super::ask::AskOptions;
use super::found;
use super::workspace::{ask_workspace, folders};
use crate::federation::{Federation, SentStatements};
use crate::workspace::Reachable;

/// One row of a listing.
type Row = Vec<Cell<'static>>;

/// The maximal number of columns whose names and comments are searched.
const MOST_SEARCHED: usize = 100_000;

/// Returns the rows of `metadata` for the content of the workspace.
///
/// # Errors
/// The errors of a connection underneath the workspace.
pub(crate) async fn list_workspace(
    federation: &Federation,
    directory: &Directory,
    reachable: &Reachable,
    metadata: MetadataKind,
    narrow: MetadataFilter,
    asking: AskOptions,
) -> Result<Results> {
    let workspace = reachable.workspace.as_ref();
    if !pattern::matches(narrow.catalog.as_deref(), &workspace.name) {
        return Err(Error::not_found(format!("catalogName: this is the workspace {}", workspace.name))
            .hint("leave the parameter out"));
    }
    let listing = WorkspaceListing { federation, directory, reachable, metadata, asking: &asking };
    let mut rows = listing.rows(&narrow).await?;
    found::relate(workspace, metadata, &mut rows);
    retain_wanted(&mut rows, metadata, &narrow);
    if !narrow.explains {
        return Ok(assembled(metadata, rows));
    }
    let searched = match &narrow.search {
        Some(_) => {
            let (metadata, narrow) = (MetadataKind::Columns, MetadataFilter::default());
            let asking = AskOptions { by: Arc::clone(&asking.by), notices: None, ..asking };
            let listed = Box::pin(list_workspace(federation, directory, reachable, metadata, narrow, asking));
            texts(listed.await?, MOST_SEARCHED).await?
        }
        None => Vec::new(),
    };
    let (rows, hint) = found::explained(workspace, metadata, &narrow, rows, &searched);
    let results = assembled(metadata, rows);
    if let Some(hint) = hint {
        results.hint.say(hint);
    }
    Ok(results)
}

/// One kind of metadata of a workspace, for one caller.
struct WorkspaceListing<'a> {
    federation: &'a Federation,
    directory: &'a Directory,
    reachable: &'a Reachable,
    metadata: MetadataKind,
    asking: &'a AskOptions,
}

impl WorkspaceListing<'_> {
    /// The rows that `narrow` asks for by names and patterns.
    async fn rows(&self, narrow: &MetadataFilter) -> Result<Vec<Row>> {
        let workspace = self.reachable.workspace.as_ref();
        match self.metadata {
            MetadataKind::Catalogs => Ok(vec![vec![text(&workspace.name)]]),
            MetadataKind::Schemas => {
                let folders = folders(workspace);
                let wanted = folders.iter().filter(|folder| matching(narrow)(narrow.schema.as_deref(), folder));
                Ok(wanted.map(|folder| vec![text(&workspace.name), text(folder)]).collect())
            }
            _ => {
                let mut rows = Vec::new();
                for entry in self.reachable.entries(self.directory)? {
                    rows.extend(self.of_connection(&entry, narrow).await?);
                }
                let is_wanted = |view: &&View| {
                    matching(narrow)(narrow.schema.as_deref(), view.folder())
                        && matching(narrow)(narrow.table.as_deref(), &view.name)
                };
                for view in workspace.views.iter().filter(is_wanted) {
                    rows.extend(self.of_view(view).await?);
                }
                Ok(rows)
            }
        }
    }

    /// The rows of a connection underneath, under the workspace's names.
    async fn of_connection(&self, entry: &ConnectionEntry, narrow: &MetadataFilter) -> Result<Vec<Row>> {
        let Self { directory, reachable, metadata, asking, .. } = *self;
        let listing = ConnectionListing { workspace: &reachable.workspace, connection: &entry.name, metadata };
        let op = Op::Describe(metadata, listing.narrow(narrow));
        let by = reachable.reader(&asking.by);
        let is_reached = asking.by.rights.covers(entry.id);
        let told = |error| if is_reached { error } else { without_names(error) };
        let reply = directory.ask(entry, asking.origin, by, op, asking.limits).await;
        let mut results = reply.and_then(Reply::into_results).map_err(told)?;
        let mut rows = Vec::new();
        while let Some(part) = results.next().await {
            let Part::Rows(batch) = part.map_err(told)? else { continue };
            for row in 0..batch.rows() {
                let cells = (0..labels(metadata).len()).map(|column| batch.cell(row, column).map(Cell::into_owned));
                rows.extend(listing.renamed(&cells.collect::<Result<Row>>()?));
            }
        }
        Ok(rows)
    }

    /// Returns the rows of a view.
    async fn of_view(&self, view: &View) -> Result<Vec<Row>> {
        match self.metadata {
            MetadataKind::Tables => {
                let remarks = view.description.as_deref().map_or(Cell::Null, text);
                Ok(vec![self.view_row(view, &[("TABLE_TYPE", text("VIEW")), ("REMARKS", remarks)])])
            }
            MetadataKind::Columns => {
                let results = self.columns(view).await?;
                let columns = results.iter().flat_map(|columns| columns.iter().enumerate());
                Ok(columns.map(|(at, column)| self.view_row(view, &column_cells(at, column))).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Makes a row of a view: its name, and `cells` by their labels.
    fn view_row(&self, view: &View, cells: &[(&str, Cell<'static>)]) -> Row {
        let cell = |label: &str| match label {
            "TABLE_CATALOG" => text(&self.reachable.workspace.name),
            "TABLE_SCHEMA" => text(view.folder()),
            "TABLE_NAME" => text(&view.name),
            _ => cells.iter().find(|(known, _)| *known == label).map_or(Cell::Null, |(_, cell)| cell.clone()),
        };
        labels(self.metadata).iter().map(|(label, _)| cell(label)).collect()
    }

    /// Returns the columns of each result of a view. A view over hidden or missing objects has none.
    async fn columns(&self, view: &View) -> Result<Vec<Arc<[Column]>>> {
        let Self { federation, directory, reachable, asking, .. } = *self;
        let op = Op::Script(Mode::Describe, Sql { text: view.query.to_string(), ..Sql::default() });
        let asking = AskOptions {
            by: Arc::clone(&asking.by),
            origin: asking.origin,
            limits: Limits { rows: None, ..asking.limits },
            notices: None,
            effects: Effects::default(),
        };
        let described = ask_workspace(federation, directory, reachable, op, asking, SentStatements::default()).await;
        let mut results = match described.and_then(Reply::into_results) {
            Err(error) if is_of_view(error.kind) => return Ok(Vec::new()),
            results => results?,
        };
        let mut columns = Vec::new();
        while let Some(part) = results.next().await {
            if let Part::Columns(of_result) = part? {
                columns.push(of_result);
            }
        }
        Ok(columns)
    }
}

/// How a member of `narrow` is compared with a name.
fn matching(narrow: &MetadataFilter) -> fn(Option<&str>, &str) -> bool {
    if narrow.explains { pattern::matches_any } else { pattern::matches }
}

/// Keeps the rows whose names match `narrow`.
fn retain_wanted(rows: &mut Vec<Row>, metadata: MetadataKind, narrow: &MetadataFilter) {
    let [schema, name] = object_labels(metadata);
    let wanted = [
        (&narrow.schema, schema),
        (&narrow.table, name),
        (&narrow.procedure, name),
        (&narrow.table_type, "TABLE_TYPE"),
        (&narrow.column, "COLUMN_NAME"),
        (&narrow.param, "PARAM_NAME"),
    ]
    .map(|(wanted, label)| (wanted, place(metadata, label)));
    rows.retain(|row| {
        wanted.iter().all(|(wanted, place)| match (wanted, row.get(*place)) {
            (Some(wanted), Some(Cell::Text(name))) => matching(narrow)(Some(wanted), name),
            _ => true,
        })
    });
}

/// Returns the cells of a view's column, whose position is counted from 0.
fn column_cells(at: usize, column: &Column) -> [(&'static str, Cell<'static>); 11] {
    [
        ("COLUMN_NAME", text(&column.label)),
        ("DATA_TYPE", Cell::Integer(column.data_type.code().into())),
        ("TYPE_NAME", text(&column.data_type.name().to_lowercase())),
        ("COLUMN_SIZE", Cell::Integer(if column.length > 0 { column.length } else { column.precision })),
        ("PRECISION", Cell::Integer(column.precision)),
        ("SCALE", Cell::Integer(column.scale)),
        ("ORDINAL_POSITION", Cell::Integer(i64::try_from(at + 1).unwrap_or(i64::MAX))),
        ("IS_NULLABLE", Cell::Boolean(column.nullable)),
        ("IS_KEY", Cell::Boolean(false)),
        ("IS_AUTOINCREMENT", Cell::Boolean(false)),
        ("IS_GENERATEDCOLUMN", Cell::Boolean(false)),
    ]
}

/// A cell with a text.
fn text(text: &str) -> Cell<'static> {
    Cell::Text(text.to_owned().into())
}

/// Whether a failure of this kind concerns one view, and not its connections.
const fn is_of_view(kind: Kind) -> bool {
    matches!(kind, Kind::NotFound | Kind::Forbidden | Kind::Invalid | Kind::Rejected)
}

/// The rows of one kind of metadata of one connection, as a workspace has them.
struct ConnectionListing<'a> {
    workspace: &'a Workspace,
    connection: &'a str,
    metadata: MetadataKind,
}

impl ConnectionListing<'_> {
    /// Returns the filter for the connection: as narrow as possible to cover the workspace's assets.
    fn narrow(&self, narrow: &MetadataFilter) -> MetadataFilter {
        let of_here = self.workspace.assets.iter().filter(|asset| asset.connection() == self.connection);
        let schemas: BTreeSet<&str> = of_here.map(Asset::schema).collect();
        let only = Some(&schemas).filter(|schemas| schemas.len() == 1).and_then(|schemas| schemas.first());
        let schema = only.filter(|schema| !schema.contains('%')).map(|schema| (*schema).to_owned());
        MetadataFilter {
            schema,
            param: narrow.param.clone().filter(|_| !narrow.explains),
            column: narrow.column.clone().filter(|_| !narrow.explains),
            ..MetadataFilter::default()
        }
    }

    /// Returns the row under each name that the workspace has for its object.
    fn renamed(&self, row: &Row) -> Vec<Row> {
        let labels = labels(self.metadata);
        let place = |label: &str| labels.iter().position(|(known, _)| *known == label);
        let sides: &[[&str; 3]] = match self.metadata {
            MetadataKind::Procedures | MetadataKind::ProcedureParameters => {
                &[["PROCEDURE_CATALOG", "PROCEDURE_SCHEMA", "PROCEDURE_NAME"]]
            }
            MetadataKind::PrimaryKeys | MetadataKind::Indexes => &[["TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"]],
            MetadataKind::ImportedKeys | MetadataKind::ExportedKeys => {
                &[["PKTABLE_CAT", "PKTABLE_SCHEM", "PKTABLE_NAME"], ["FKTABLE_CAT", "FKTABLE_SCHEM", "FKTABLE_NAME"]]
            }
            _ => &[["TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME"]],
        };
        let mut rows = vec![row.clone()];
        for side in sides {
            let [Some(catalog), Some(schema), Some(name)] = side.map(place) else { return Vec::new() };
            let (Some(Cell::Text(of)), Some(Cell::Text(known))) = (row.get(schema), row.get(name)) else {
                return Vec::new();
            };
            let names = self.names(of, known);
            let renamed = |row: Row| {
                let rename = move |(folder, alias): &(String, String)| {
                    let mut row = row.clone();
                    for (place, text) in [(catalog, self.workspace.name.as_ref()), (schema, folder), (name, alias)] {
                        if let Some(cell) = row.get_mut(place) {
                            *cell = Cell::Text(text.to_owned().into());
                        }
                    }
                    row
                };
                names.iter().map(rename).collect::<Vec<_>>()
            };
            rows = rows.into_iter().flat_map(renamed).collect();
        }
        for row in &mut rows {
            self.rename_beside(row);
        }
        rows
    }

    /// Replaces names of other tables in a row by the workspace's; those that the workspace does not contain are
    /// removed.
    fn rename_beside(&self, row: &mut Row) {
        let text = |row: &Row, at: usize| match row.get(at) {
            Some(Cell::Text(text)) => Some(text.clone().into_owned()),
            _ => None,
        };
        let cell = |name: Option<String>| name.map_or(Cell::Null, |name| Cell::Text(name.into()));
        match self.metadata {
            MetadataKind::Columns => {
                let at = place(self.metadata, "REFERENCES");
                let referred = text(row, at).and_then(|column| self.column(&column));
                if let Some(it) = row.get_mut(at) {
                    *it = cell(referred);
                }
            }
            MetadataKind::TableDetails => {
                let [schema, name] = ["PARENT_SCHEMA", "PARENT_NAME"].map(|label| place(self.metadata, label));
                let of = text(row, schema).zip(text(row, name));
                let parent = of.and_then(|(schema, name)| self.names(&schema, &name).into_iter().next());
                let (folder, alias) = parent.unzip();
                // A schema's comment does not apply to the folder.
                let of_schema = (place(self.metadata, "SCHEMA_REMARKS"), None);
                for (at, name) in [(schema, folder), (name, alias), of_schema] {
                    if let Some(it) = row.get_mut(at) {
                        *it = cell(name);
                    }
                }
            }
            _ => {}
        }
    }

    /// A column of the connection, `schema.table.column`, as the workspace has it. Names may have dots in them.
    fn column(&self, column: &str) -> Option<String> {
        let dots: Vec<usize> = column.match_indices('.').map(|(at, _)| at).collect();
        let mut ways = dots.iter().enumerate().flat_map(|(first, at)| {
            let rest = dots.iter().skip(first + 1);
            rest.map(move |other| (column.get(..*at), column.get(at + 1..*other), column.get(other + 1..)))
        });
        ways.find_map(|way| {
            let (Some(schema), Some(table), Some(name)) = way else { return None };
            let (folder, alias) = self.names(schema, table).into_iter().next()?;
            Some(format!("{folder}.{alias}.{name}"))
        })
    }

    /// Folder and name of each asset that a table or procedure of the connection is.
    fn names(&self, schema: &str, name: &str) -> Vec<(String, String)> {
        let is_procedure = matches!(self.metadata, MetadataKind::Procedures | MetadataKind::ProcedureParameters);
        let is_it = |asset: &&Asset| asset.connection() == self.connection && asset.is(schema, name);
        let of_here = self.workspace.assets.iter().filter(is_it);
        let named = of_here.filter_map(|asset| match asset {
            Asset::Table { alias, folder, .. } if !is_procedure => {
                let folder = folder.as_deref().unwrap_or(MAIN).to_owned();
                Some((folder, alias.as_deref().unwrap_or(name).to_owned()))
            }
            Asset::Procedure { .. } if is_procedure => Some((MAIN.to_owned(), name.to_owned())),
            _ => None,
        });
        named.collect()
    }
}

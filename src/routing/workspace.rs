//! Asks a workspace: its statements are its only connection's, or the one's that they write to, or the engine's; its
//! listings are those of the connections underneath, under the workspace's names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::StreamExt;
use portico_actors::call::{Facet, Limits, Mode, Narrow, Op, ProcedureCall, Sql, Verb};
use portico_actors::directory::{Directory, Entry};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::{Principal, Rights, Scope};
use portico_actors::reply::{Cell, Part, Reply, Results};
use portico_actors::source::catalog::{assembled, labels, place};
use portico_actors::source::texts;
use portico_actors::workspace::{Asset, MAIN, View, Workspace, without_names};
use portico_actors::{near, pattern, sql};
use uuid::Uuid;

use super::asking::Asking;
use super::{found, statement};
use crate::federation::{Federation, OverConnections, SentStatements};
use crate::workspace::Reachable;

/// One row of a listing.
type Row = Vec<Cell<'static>>;

/// Columns whose names and comments are searched.
const MOST_SEARCHED: usize = 100_000;

impl Reachable {
    /// The connections underneath, as they are now.
    pub(crate) fn entries(&self, directory: &Directory) -> Vec<Entry> {
        self.underneath.iter().filter_map(|id| directory.get(*id)).collect()
    }

    /// The caller as the connections underneath see them: they read what the workspace has, and nothing says what else
    /// they might do there.
    pub(crate) fn reader(&self, by: &Arc<Principal>) -> Arc<Principal> {
        let rights = Rights::only(self.underneath.iter().copied(), Scope::Read);
        Arc::new(Principal { rights, ..Principal::clone(by) })
    }

    /// The caller as one of them sees them: as far as they may go there by way of the workspace, and nowhere else.
    pub(crate) fn writer(&self, by: &Arc<Principal>, connection: Uuid) -> Arc<Principal> {
        let rights = Rights::only([connection], self.scope);
        Arc::new(Principal { rights, ..Principal::clone(by) })
    }
}

/// Asks for a statement over names of the workspace: its only connection, or the one that it writes to; else the engine.
///
/// # Errors
/// The engine's, or a connection's own.
pub(crate) async fn ask_workspace(
    federation: &Federation,
    directory: &Directory,
    reachable: &Reachable,
    op: Op,
    asking: Asking,
    sent: SentStatements,
) -> Result<Reply> {
    let op = match op {
        Op::Procedure(call) => return ask_procedure(directory, reachable, call, asking).await,
        op => op,
    };
    let entries = reachable.entries(directory);
    let workspace = &reachable.workspace;
    keep_apart(workspace, directory, &asking.by, &op)?;
    if let Some(entry) = statement::connection(workspace, &entries, &op).await? {
        return statement::ask(directory, reachable, entry, op, asking, sent).await;
    }
    if let Op::Execute(Verb::Insert | Verb::Update, _) = op {
        return Err(Error::invalid("query: this tool takes what writes, and the statement does not")
            .hint("use execute_select or execute_sql"));
    }
    let Asking { by, origin, limits, .. } = asking;
    let over = OverConnections {
        entries: &entries,
        workspace: Some(Arc::clone(workspace)),
        default_catalog: None,
        op,
        by: reachable.reader(&by),
        reached: by.rights.clone(),
        origin,
        limits,
        sent,
    };
    federation.run(directory, over).await
}

/// Refuses names of the caller's connections, and a default schema that is no folder.
fn keep_apart(workspace: &Workspace, directory: &Directory, by: &Principal, op: &Op) -> Result<()> {
    let (Op::Execute(_, sql) | Op::Script(_, sql)) = op else { return Ok(()) };
    if let Some(folder) = sql.default_schema.as_deref().filter(|folder| !workspace.has_folder(folder)) {
        let folders = folders(workspace).into_iter().collect::<Vec<_>>().join(", ");
        return Err(Error::not_found(format!(
            "defaultSchema: the workspace {} has no folder {folder}",
            workspace.name
        ))
        .hint(format!("folders: {folders}")));
    }
    let names = sql::catalogs(&sql.text)?;
    let others = names.iter().filter(|name| !name.eq_ignore_ascii_case(&workspace.name));
    match others.filter_map(|name| directory.named(name)).find(|entry| by.rights.covers(entry.id)) {
        Some(entry) => {
            let message = format!(
                "query: {} is a connection, and this statement is over names of the workspace {}",
                entry.name, workspace.name
            );
            Err(Error::invalid(message).hint("name what the workspace has, or address connections without a workspace"))
        }
        None => Ok(()),
    }
}

/// Calls a procedure that the workspace lists, on its connection.
async fn ask_procedure(
    directory: &Directory,
    reachable: &Reachable,
    mut call: ProcedureCall,
    asking: Asking,
) -> Result<Reply> {
    let workspace = &reachable.workspace;
    let mut parts = sql::procedure_name(&call.procedure)?;
    let name = parts.pop().unwrap_or_default();
    let places = [MAIN, workspace.name.as_ref()];
    let is_here = parts.iter().rev().zip(places).all(|(part, place)| part.eq_ignore_ascii_case(place));
    let listed = || {
        workspace.assets.iter().filter_map(|asset| match asset {
            Asset::Procedure { connection, schema, name } => Some((connection, schema, name)),
            Asset::Table { .. } => None,
        })
    };
    let found = listed().find(|(_, _, known)| is_here && known.eq_ignore_ascii_case(&name));
    let found = found.and_then(|(connection, schema, name)| Some((directory.named(connection)?, schema, name)));
    let (entry, schema, name) = found.ok_or_else(|| {
        let known: Vec<&str> = listed().map(|(_, _, known)| known.as_ref()).collect();
        let message =
            format!("procedure: there is no procedure {} in the workspace {}", call.procedure, workspace.name);
        let hint = near::did_you_mean(&near::nearest(&name, known.iter().copied()));
        Error::not_found(message).hint(hint.unwrap_or_else(|| format!("procedures: {}", known.join(", "))))
    })?;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    call.procedure = format!("{}.{}", quoted(schema), quoted(name));
    // It is of the workspace's folder.
    call.default_schema = None;
    let Asking { by, origin, limits, notices } = asking;
    let by = reachable.writer(&by, entry.id);
    directory.ask_hearing(&entry, origin, by, Op::Procedure(call), limits, notices).await
}

/// The rows of `facet` of what the workspace has.
///
/// # Errors
/// Those of a connection underneath.
pub(crate) async fn list_workspace(
    federation: &Federation,
    directory: &Directory,
    reachable: &Reachable,
    facet: Facet,
    narrow: Narrow,
    asking: Asking,
) -> Result<Results> {
    let workspace = reachable.workspace.as_ref();
    if !pattern::matches(narrow.catalog.as_deref(), &workspace.name) {
        return Err(Error::not_found(format!("catalogName: this is the workspace {}", workspace.name))
            .hint("leave the parameter out"));
    }
    let text = |text: &str| Cell::Text(text.to_owned().into());
    let mut rows: Vec<Row> = Vec::new();
    match facet {
        Facet::Catalogs => rows.push(vec![text(&workspace.name)]),
        Facet::Schemas => {
            let folders = folders(workspace);
            let wanted = folders.iter().filter(|folder| pattern::matches(narrow.schema.as_deref(), folder));
            rows.extend(wanted.map(|folder| vec![text(&workspace.name), text(folder)]));
        }
        _ => {
            for entry in reachable.entries(directory) {
                let listing = Listing { workspace, connection: &entry.name, facet };
                let op = Op::Describe(facet, listing.narrow(&narrow));
                let by = reachable.reader(&asking.by);
                let is_reached = asking.by.rights.covers(entry.id);
                let told = |error| if is_reached { error } else { without_names(error) };
                let reply = directory.ask(&entry, asking.origin, by, op, asking.limits).await;
                let mut results = reply.and_then(Reply::into_results).map_err(told)?;
                while let Some(part) = results.next().await {
                    let Part::Rows(batch) = part.map_err(told)? else { continue };
                    for row in 0..batch.rows() {
                        let cells =
                            (0..labels(facet).len()).map(|column| batch.cell(row, column).map(Cell::into_owned));
                        rows.extend(listing.renamed(&cells.collect::<Result<Row>>()?));
                    }
                }
            }
            let is_wanted = |view: &&View| {
                pattern::matches(narrow.schema.as_deref(), view.folder())
                    && pattern::matches(narrow.table.as_deref(), &view.name)
            };
            for view in workspace.views.iter().filter(is_wanted) {
                rows.extend(of_view(federation, directory, reachable, facet, view, &asking).await?);
            }
            let place = |label: &str| labels(facet).iter().position(|(known, _)| *known == label);
            let wanted = [
                (&narrow.schema, place("TABLE_SCHEMA").or(place("TABLE_SCHEM")).or(place("PROCEDURE_SCHEMA"))),
                (&narrow.table, place("TABLE_NAME")),
                (&narrow.table_type, place("TABLE_TYPE")),
                (&narrow.column, place("COLUMN_NAME")),
                (&narrow.procedure, place("PROCEDURE_NAME")),
                (&narrow.param, place("PARAM_NAME")),
            ];
            rows.retain(|row| {
                wanted.iter().all(|(wanted, place)| match (wanted, place.and_then(|place| row.get(place))) {
                    (Some(wanted), Some(Cell::Text(name))) => pattern::matches(Some(wanted), name),
                    _ => true,
                })
            });
        }
    }
    if facet == Facet::Columns {
        found::relate(workspace, &mut rows);
    }
    if !narrow.explains {
        return Ok(assembled(facet, rows));
    }
    let searched = match &narrow.search {
        Some(_) => {
            let (facet, narrow) = (Facet::Columns, Narrow::default());
            let asking = Asking { by: Arc::clone(&asking.by), notices: None, ..asking };
            let listed = Box::pin(list_workspace(federation, directory, reachable, facet, narrow, asking));
            texts(listed.await?, MOST_SEARCHED).await?
        }
        None => Vec::new(),
    };
    let (rows, hint) = found::explained(workspace, facet, &narrow, rows, &searched);
    let results = assembled(facet, rows);
    if let Some(hint) = hint {
        results.hint.say(hint);
    }
    Ok(results)
}

/// The folders that there are.
fn folders(workspace: &Workspace) -> BTreeSet<&str> {
    let assets = workspace.assets.iter().filter_map(|asset| Some(asset.place()?.0));
    assets.chain(workspace.views.iter().map(View::folder)).collect()
}

/// The rows of a facet of one connection, as a workspace has them.
struct Listing<'a> {
    workspace: &'a Workspace,
    connection: &'a str,
    facet: Facet,
}

impl Listing<'_> {
    /// What the connection is asked for: as little as covers all that the workspace has of it.
    fn narrow(&self, narrow: &Narrow) -> Narrow {
        let of_here = self.workspace.assets.iter().filter(|asset| asset.connection() == self.connection);
        let schemas: BTreeSet<&str> = of_here.map(Asset::schema).collect();
        let only = Some(&schemas).filter(|schemas| schemas.len() == 1).and_then(|schemas| schemas.first());
        let schema = only.filter(|schema| !schema.contains('%')).map(|schema| (*schema).to_owned());
        Narrow { schema, param: narrow.param.clone(), column: narrow.column.clone(), ..Narrow::default() }
    }

    /// The row under each name that the workspace has for what it tells of.
    fn renamed(&self, row: &Row) -> Vec<Row> {
        let labels = labels(self.facet);
        let place = |label: &str| labels.iter().position(|(known, _)| *known == label);
        let sides: &[[&str; 3]] = match self.facet {
            Facet::Procedures | Facet::ProcedureParameters => {
                &[["PROCEDURE_CATALOG", "PROCEDURE_SCHEMA", "PROCEDURE_NAME"]]
            }
            Facet::PrimaryKeys | Facet::Indexes => &[["TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"]],
            Facet::ImportedKeys | Facet::ExportedKeys => {
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

    /// Puts the workspace's names in where a row tells of other tables than its own; those that it does not have are
    /// left out.
    fn rename_beside(&self, row: &mut Row) {
        let text = |row: &Row, at: usize| match row.get(at) {
            Some(Cell::Text(text)) => Some(text.clone().into_owned()),
            _ => None,
        };
        let cell = |name: Option<String>| name.map_or(Cell::Null, |name| Cell::Text(name.into()));
        match self.facet {
            Facet::Columns => {
                let at = place(self.facet, "REFERENCES");
                let referred = text(row, at).and_then(|column| self.column(&column));
                if let Some(it) = row.get_mut(at) {
                    *it = cell(referred);
                }
            }
            Facet::TableDetails => {
                let [schema, name] = ["PARENT_SCHEMA", "PARENT_NAME"].map(|label| place(self.facet, label));
                let of = text(row, schema).zip(text(row, name));
                let parent = of.and_then(|(schema, name)| self.names(&schema, &name).into_iter().next());
                let (folder, alias) = parent.unzip();
                // A schema's comment is none of the folder's.
                let of_schema = (place(self.facet, "SCHEMA_REMARKS"), None);
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
        let is_procedure = matches!(self.facet, Facet::Procedures | Facet::ProcedureParameters);
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

/// Whether a failure of this kind concerns one view, and not its connections.
const fn is_of_view(kind: Kind) -> bool {
    matches!(kind, Kind::NotFound | Kind::Forbidden | Kind::Invalid | Kind::Rejected)
}

/// The rows of `facet` that tell of a view.
async fn of_view(
    federation: &Federation,
    directory: &Directory,
    reachable: &Reachable,
    facet: Facet,
    view: &View,
    asking: &Asking,
) -> Result<Vec<Row>> {
    let text = |text: &str| Cell::Text(text.to_owned().into());
    let known: BTreeMap<&str, Cell<'static>> = [
        ("TABLE_CATALOG", text(&reachable.workspace.name)),
        ("TABLE_SCHEMA", text(view.folder())),
        ("TABLE_NAME", text(&view.name)),
    ]
    .into();
    let row = |more: BTreeMap<&str, Cell<'static>>| -> Row {
        let cell = |(label, _): &(&str, _)| more.get(label).or_else(|| known.get(label)).cloned().unwrap_or(Cell::Null);
        labels(facet).iter().map(cell).collect()
    };
    match facet {
        Facet::Tables => {
            let remarks = view.description.as_deref().map_or(Cell::Null, text);
            Ok(vec![row([("TABLE_TYPE", text("VIEW")), ("REMARKS", remarks)].into())])
        }
        Facet::Columns => {
            let sql = Sql { text: view.query.to_string(), ..Sql::default() };
            let asking = Asking {
                by: Arc::clone(&asking.by),
                origin: asking.origin,
                limits: Limits { rows: None, ..asking.limits },
                notices: None,
            };
            let op = Op::Script(Mode::Describe, sql);
            let sent = SentStatements::default();
            let described = ask_workspace(federation, directory, reachable, op, asking, sent).await;
            let mut results = match described.and_then(Reply::into_results) {
                // Over what its reader may not see, or what is not there any more.
                Err(error) if is_of_view(error.kind) => return Ok(Vec::new()),
                results => results?,
            };
            let mut rows = Vec::new();
            while let Some(part) = results.next().await {
                let Part::Columns(columns) = part? else { continue };
                for (place, column) in columns.iter().enumerate() {
                    let number = |number: i64| Cell::Integer(number);
                    let size = if column.length > 0 { column.length } else { column.precision };
                    rows.push(row([
                        ("COLUMN_NAME", text(&column.label)),
                        ("DATA_TYPE", number(column.data_type.code().into())),
                        ("TYPE_NAME", text(&column.data_type.name().to_lowercase())),
                        ("COLUMN_SIZE", number(size)),
                        ("PRECISION", number(column.precision)),
                        ("SCALE", number(column.scale)),
                        ("ORDINAL_POSITION", number(i64::try_from(place + 1).unwrap_or(i64::MAX))),
                        ("IS_NULLABLE", Cell::Boolean(column.nullable)),
                        ("IS_KEY", Cell::Boolean(false)),
                        ("IS_AUTOINCREMENT", Cell::Boolean(false)),
                        ("IS_GENERATEDCOLUMN", Cell::Boolean(false)),
                    ]
                    .into()));
                }
            }
            Ok(rows)
        }
        _ => Ok(Vec::new()),
    }
}

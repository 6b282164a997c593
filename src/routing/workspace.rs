//! Runs statements of a workspace: at its only connection, or at the one that they write to, or in the engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use portico_actors::call::{Op, ProcedureCall};
use portico_actors::directory::Directory;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Principal, Rights, Scope};
use portico_actors::reply::Reply;
use portico_actors::workspace::{Asset, MAIN, View, Workspace};
use portico_actors::{near, sql};
use uuid::Uuid;

use super::ask::AskOptions;
use super::statement;
use crate::federation::{Federation, OverConnections, SentStatements};
use crate::workspace::Reachable;

impl Reachable {
    /// Returns the caller for the connections underneath: with read access to what the workspace contains, and
    /// without other rights.
    pub(crate) fn reader(&self, by: &Arc<Principal>) -> Arc<Principal> {
        Arc::new(Principal { rights: self.rights(Scope::Read), ..Principal::clone(by) })
    }

    /// Returns the caller for one of them: with the caller's scope in the workspace, and no rights elsewhere.
    pub(crate) fn writer(&self, by: &Arc<Principal>, connection: Uuid) -> Arc<Principal> {
        let rights = Rights::only([connection], self.scope);
        Arc::new(Principal { rights, ..Principal::clone(by) })
    }
}

/// Runs a statement over names of the workspace: at its only connection, or at the one that it writes to; else in
/// the engine.
///
/// # Errors
/// The engine's, or a connection's own.
pub(crate) async fn ask_workspace(
    federation: &Federation,
    directory: &Directory,
    reachable: &Reachable,
    op: Op,
    asking: AskOptions,
    sent: SentStatements,
) -> Result<Reply> {
    let op = match op {
        Op::Procedure(call) => return ask_procedure(directory, reachable, call, asking, sent).await,
        op => op,
    };
    let entries = reachable.entries(directory)?;
    let workspace = &reachable.workspace;
    keep_apart(workspace, directory, &asking.by, &op)?;
    if let Some(entry) = statement::connection(workspace, &entries, &op).await? {
        return statement::ask(directory, reachable, entry, op, asking, sent).await;
    }
    let AskOptions { by, origin, limits, .. } = asking;
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

/// Refuses names of the caller's connections, and a default schema that is not a folder.
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
            Err(Error::invalid(message)
                .hint("use only names of the workspace, or address connections without a workspace"))
        }
        None => Ok(()),
    }
}

/// Calls a procedure that the workspace lists, on its connection.
async fn ask_procedure(
    directory: &Directory,
    reachable: &Reachable,
    mut call: ProcedureCall,
    asking: AskOptions,
    sent: SentStatements,
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
    let (connection, schema, name) = found.ok_or_else(|| {
        let known: Vec<&str> = listed().map(|(_, _, known)| known.as_ref()).collect();
        let message =
            format!("procedure: there is no procedure {} in the workspace {}", call.procedure, workspace.name);
        Error::not_found(message).hint(near::suggestion_or_list(&name, "procedures: ", &known))
    })?;
    let entries = reachable.entries(directory)?;
    let entry = entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(connection));
    let entry = entry.ok_or_else(|| Error::internal("bug: a workspace names a connection that does not exist"))?;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    call.procedure = format!("{}.{}", quoted(schema), quoted(name));
    // It is of the workspace's folder.
    call.default_schema = None;
    statement::ask(directory, reachable, entry, Op::Procedure(call), asking, sent).await
}

/// The folders that there are.
pub(super) fn folders(workspace: &Workspace) -> BTreeSet<&str> {
    let assets = workspace.assets.iter().filter_map(|asset| Some(asset.place()?.0));
    assets.chain(workspace.views.iter().map(View::folder)).collect()
}

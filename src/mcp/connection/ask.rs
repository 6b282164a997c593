//! Calls the connections that a tool call addresses.

use std::sync::Arc;

use portico_actors::call::{Limits, MetadataFilter, MetadataKind, Op};
use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Result};
use portico_actors::pattern;
use portico_actors::reply::{Reply, Results};
use portico_actors::source::digest::TextCache;

use super::plan::CallTarget;
use super::workspace;
use crate::federation::SentStatements;
use crate::mcp::context::{Context, Summary};
use crate::mcp::target::{Catalog, Target};
use crate::routing;

/// The logger's name in log messages of several connections.
const LOGGER: &str = "portico";

/// Calls the `asked` connections, and names the logger of the call's log messages. The code for several connections
/// is boxed, so that a call of one does not need its memory.
pub(super) async fn ask(
    context: &Context<'_>,
    kept: &TextCache<workspace::WorkspaceInstructionsKey>,
    asked: CallTarget<'_>,
    op: Op,
    limits: Limits,
    summary: &mut Summary,
) -> (Result<Reply>, String) {
    match asked {
        CallTarget::One(member, addressing) => {
            let entry = &member.entry;
            context.note(entry, summary);
            summary.statement = context.audit.and_then(|audit| audit.statement(&op, [entry.driver.name]));
            let logger = format!("{LOGGER}.{}", entry.name);
            let asking = context.asking(summary, limits, context.request.notices(&logger));
            (routing::ask(context.directory, entry, addressing.as_ref(), op, asking).await, logger)
        }
        CallTarget::Several(members, addressing) => {
            let entries: Vec<ConnectionEntry> = members.iter().map(|member| member.entry.clone()).collect();
            let sent = SentStatements::default();
            summary.several = entries.iter().map(|entry| Arc::clone(&entry.name)).collect();
            let statement =
                context.audit.and_then(|audit| audit.statement(&op, entries.iter().map(|entry| entry.driver.name)));
            summary.statement = statement.map(|statement| statement.sending(&sent));
            let asking = context.asking(summary, limits, None);
            let (federation, directory) = (context.federation, context.directory);
            let asked = routing::ask_several(federation, directory, &entries, &addressing, op, asking, sent);
            (Box::pin(asked).await, LOGGER.to_owned())
        }
        CallTarget::Workspace(it) => {
            (Box::pin(workspace::ask(context, kept, it, op, limits, summary)).await, LOGGER.to_owned())
        }
        CallTarget::Listed(catalogs) => {
            if let [Catalog::Workspace(only)] = catalogs.as_slice() {
                let asked = workspace::ask(context, kept, only, op, limits, summary);
                return (Box::pin(asked).await, LOGGER.to_owned());
            }
            if let [Catalog::Connection(only)] = catalogs.as_slice() {
                context.note(&only.entry, summary);
            }
            (Box::pin(list(context, catalogs, op, limits, summary)).await.map(Reply::Results), LOGGER.to_owned())
        }
    }
}

/// The rows of all of `catalogs`.
async fn list(
    context: &Context<'_>,
    catalogs: Vec<Catalog<'_>>,
    op: Op,
    limits: Limits,
    summary: &Summary,
) -> Result<Results> {
    let Op::Describe(metadata, narrow) = op else { return Err(Error::internal("bug: a listing lists nothing")) };
    let connections = || catalogs.iter().filter_map(|it| it.connection());
    if let (MetadataKind::Catalogs, Target::All(all)) = (metadata, context.target) {
        let connections = connections().map(|member| Arc::clone(&member.entry.name));
        let workspaces = all.workspaces.iter().map(|it| &it.reachable.workspace.name);
        let is_wanted = |name: &&Arc<str>| pattern::matches(narrow.catalog.as_deref(), name);
        return Ok(routing::catalogs(connections.chain(workspaces.filter(is_wanted).cloned())));
    }
    let asking = || context.asking(summary, limits, None);
    let (federation, directory) = (context.federation, context.directory);
    let mut listed = Vec::new();
    for it in &catalogs {
        if let Catalog::Workspace(it) = it {
            let narrow = MetadataFilter { catalog: None, ..narrow.clone() };
            let rows = routing::list_workspace(federation, directory, &it.reachable, metadata, narrow, asking()).await;
            listed.push((Arc::clone(&it.reachable.workspace.name), rows));
        }
    }
    let wanted = connections().map(|member| member.entry.clone()).collect();
    routing::list(directory, wanted, listed, metadata, narrow, asking()).await
}

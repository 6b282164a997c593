//! Asks those whom a call of a tool addresses.

use std::sync::Arc;

use portico_actors::call::{Facet, Limits, Narrow, Op};
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::reply::Reply;
use portico_actors::source::digest::Kept;

use super::plan::Asked;
use super::workspace;
use crate::federation::SentStatements;
use crate::mcp::context::{Context, Summary};
use crate::mcp::target::Target;
use crate::routing;

/// Whose the log messages of several connections are.
const LOGGER: &str = "portico";

/// Asks `asked` for what is to be done, and says whose the log messages of the call are.
pub(super) async fn ask(
    context: &Context<'_>,
    kept: &Kept<workspace::Key>,
    asked: Asked<'_>,
    op: Op,
    limits: Limits,
    summary: &mut Summary,
) -> (Result<Reply>, String) {
    match asked {
        Asked::One(member, addressing) => {
            let entry = &member.entry;
            context.note(entry, summary);
            summary.statement = context.audit.and_then(|audit| audit.statement(&op, entry.driver.name));
            let logger = format!("{LOGGER}.{}", entry.name);
            let asking = context.asking(summary, limits, context.request.notices(&logger));
            (routing::ask(context.directory, entry, addressing.as_ref(), op, asking).await, logger)
        }
        Asked::Several(members, addressing) => {
            let entries: Vec<Entry> = members.iter().map(|member| member.entry.clone()).collect();
            let sent = SentStatements::default();
            summary.several = entries.iter().map(|entry| Arc::clone(&entry.name)).collect();
            let statement = context.audit.and_then(|audit| audit.statement(&op, entries.first()?.driver.name));
            summary.statement = statement.map(|statement| statement.sending(&sent));
            let asking = context.asking(summary, limits, None);
            let (federation, directory) = (context.federation, context.directory);
            let asked = routing::ask_several(federation, directory, &entries, &addressing, op, asking, sent).await;
            (asked, LOGGER.to_owned())
        }
        Asked::Workspace(it) => (workspace::ask(context, kept, it, op, limits, summary).await, LOGGER.to_owned()),
        Asked::Listed(members) => {
            if let [only] = members.as_slice() {
                context.note(&only.entry, summary);
            }
            if let (Target::All(all), Op::Describe(Facet::Catalogs, Narrow { catalog: None, .. })) =
                (context.target, &op)
            {
                let connections = members.iter().map(|member| Arc::clone(&member.entry.name));
                let workspaces = all.workspaces.iter().map(|it| Arc::clone(&it.reachable.workspace.name));
                return (Ok(Reply::Results(routing::catalogs(connections.chain(workspaces)))), LOGGER.to_owned());
            }
            let asking = context.asking(summary, limits, None);
            let wanted = members.iter().map(|member| member.entry.clone()).collect();
            let listed = if let Op::Describe(facet, narrow) = op {
                routing::list(context.directory, wanted, facet, narrow, asking).await
            } else {
                Err(Error::internal("a listing that lists nothing"))
            };
            (listed.map(Reply::Results), LOGGER.to_owned())
        }
    }
}

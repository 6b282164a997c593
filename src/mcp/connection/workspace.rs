//! What a workspace is asked, and what it says of itself.

use std::fmt::Write;
use std::sync::Arc;

use portico_actors::call::{Facet, Limits, Narrow, Op};
use portico_actors::error::{Error, Result};
use portico_actors::principal::Scope;
use portico_actors::reply::Reply;
use portico_actors::source::Access;
use serde_json::Value;

use crate::encode::{self, Caps, Format, Rest};
use crate::federation::SentStatements;
use crate::mcp::context::{Context, Summary};
use crate::mcp::target::WorkspaceTarget;
use crate::routing;

/// Bytes of the instructions at most: an agent reads them with every conversation.
const MOST: usize = 16 * 1024;
/// Bytes of the listing that they are made of.
const MOST_LISTED: usize = 1024 * 1024;

/// Asks the workspace.
pub(super) async fn ask(
    context: &Context<'_>,
    it: &WorkspaceTarget,
    op: Op,
    limits: Limits,
    summary: &mut Summary,
) -> Result<Reply> {
    summary.workspace = Some(Arc::clone(&it.reachable.workspace.name));
    summary.several = it.underneath.iter().map(|member| Arc::clone(&member.entry.name)).collect();
    if let Op::Instructions(_) = op {
        return instructions(context, it, limits, summary).await.map(Reply::Text);
    }
    let (federation, directory) = (context.federation, context.directory);
    let asking = context.asking(summary, limits, None);
    if let Op::Describe(facet, narrow) = op {
        let listed = routing::list_workspace(federation, directory, &it.reachable, facet, narrow, asking);
        return listed.await.map(Reply::Results);
    }
    let sent = SentStatements::default();
    let kind = it.underneath.first().map_or("", |member| member.entry.driver.name);
    let statement = context.audit.and_then(|audit| audit.statement(&op, kind));
    summary.statement = statement.map(|statement| statement.sending(&sent));
    routing::ask_workspace(federation, directory, &it.reachable, op, asking, sent).await
}

/// What an agent should know before its first query.
async fn instructions(
    context: &Context<'_>,
    it: &WorkspaceTarget,
    limits: Limits,
    summary: &Summary,
) -> Result<String> {
    let workspace = &it.reachable.workspace;
    let name = &workspace.name;
    let mut text = format!("# Workspace {name}\n\n");
    if let Some(description) = &workspace.description {
        let _ = writeln!(text, "{description}\n");
    }
    let may_write = it.access() == Access::ReadWrite && it.reachable.scope >= Scope::Write;
    let access = if may_write {
        "You may read, and write to tables of connections that can be written to; views only read."
    } else {
        "You may only read."
    };
    let dialect = match it.underneath.as_slice() {
        [only] => format!("Write the SQL of {}, whose tables these are.", only.entry.driver.product),
        _ => "Write SELECT statements in PostgreSQL's syntax with standard functions: what the databases have of their \
              own is not there. What writes is written in the SQL of the table's own database, and names tables of that \
              one alone."
            .to_owned(),
    };
    let _ = writeln!(
        text,
        "{access} Each call answers at most {} rows and {} bytes, and is cancelled after `timeout` seconds.\n\n\
         ## Names\n\nIt has tables of one or more databases under names of its own: `table`, `folder.table` or \
         `{name}.folder.table`; what lies in no folder is in `main`. {dialect}",
        workspace.max_rows, workspace.max_bytes,
    );
    if let Some(words) = &workspace.instructions {
        let _ = writeln!(text, "\n## From the administrator\n\n{}", words.trim());
    }
    if !workspace.relations.is_empty() {
        text.push_str("\n## How tables belong together\n\n");
        for relation in &workspace.relations {
            let _ = writeln!(text, "- {} = {}", relation.from, relation.to);
        }
    }
    text.push_str("\n## Tables\n\n");
    let rows = tables(context, it, limits, summary).await?;
    for (at, row) in rows.iter().enumerate() {
        let of = |place: usize| row[place].as_str().unwrap_or_default();
        let remarks = row[4].as_str().map(|remarks| format!(": {}", remarks.replace('\n', " "))).unwrap_or_default();
        let line = format!("- {}.{} ({}){remarks}\n", of(1), of(2), of(3).to_lowercase());
        // Room for the last line is kept.
        if text.len() + line.len() + 80 > MOST {
            let _ = writeln!(text, "- … and {} more: get_tables lists them all", rows.len() - at);
            break;
        }
        text.push_str(&line);
    }
    Ok(text)
}

/// The tables of the workspace, each a row of their listing.
async fn tables(context: &Context<'_>, it: &WorkspaceTarget, limits: Limits, summary: &Summary) -> Result<Vec<Value>> {
    let asking = context.asking(summary, limits, None);
    let (federation, directory) = (context.federation, context.directory);
    let (facet, narrow) = (Facet::Tables, Narrow::default());
    let listed = routing::list_workspace(federation, directory, &it.reachable, facet, narrow, asking).await?;
    let caps = Caps { rows: u64::MAX, bytes: MOST_LISTED, rows_bound: u64::MAX, rest: Rest::Narrow };
    let table = encode::tabulate(listed, caps, Format::Json, |_, octets| context.request.prepare(octets)).await?;
    let mut table: Value = serde_json::from_str(&table.json.to_string()).map_err(Error::internal)?;
    Ok(match table["rows"].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    })
}

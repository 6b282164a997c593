//! Statements over names of a workspace that a single connection runs, in its own dialect: all of a workspace over
//! one connection, and writes. The connection's parser replaces the names by its own.

use std::collections::HashSet;
use std::sync::Arc;

use portico_actors::call::{Op, ProcedureCall, Sql, WorkspaceContext};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::{Error, Result};
use portico_actors::reply::Reply;
use portico_actors::sql::{self, Dialect};
use portico_actors::workspace::{ResolvedName, Workspace};

use super::ask::AskOptions;
use crate::federation::SentStatements;
use crate::workspace::Reachable;

/// A text over this many bytes is read on a thread for blocking work.
const LARGE_TEXT: usize = 16 * 1024;

/// Returns the connection among `entries`, those underneath, that runs the statement; `None` if the engine does.
///
/// # Errors
/// The statement writes to several connections, to a view, or to a table that the workspace does not have.
pub(super) async fn connection<'e>(
    workspace: &Workspace,
    entries: &'e [ConnectionEntry],
    op: &Op,
) -> Result<Option<&'e ConnectionEntry>> {
    let (Op::Execute(_, statement) | Op::Script(_, statement)) = op else { return Ok(None) };
    if let [only] = entries {
        return Ok(Some(only).filter(|_| workspace.connections().len() == 1));
    }
    let mut dialects = vec![Dialect::POSTGRESQL];
    for entry in entries {
        if !dialects.contains(&entry.driver.dialect) {
            dialects.push(entry.driver.dialect);
        }
    }
    let given = given(op);
    let Some(written) = (if statement.text.len() > LARGE_TEXT {
        let text = statement.text.clone();
        let read = move || written(&text, &dialects, &given);
        // A large text is parsed on a thread that may block.
        tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
    } else {
        written(&statement.text, &dialects, &given)
    })?
    else {
        return Ok(None);
    };
    let mut found: Option<&ConnectionEntry> = None;
    for parts in &written {
        let name = target(workspace, statement.default_schema.as_deref(), parts)?;
        let entry = entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
        let entry = entry.ok_or_else(|| Error::internal("bug: a workspace names a connection that does not exist"))?;
        match found {
            Some(other) if other.id != entry.id => {
                let message = format!(
                    "query: a statement that writes addresses one connection, and this one writes to {} and {name}",
                    other.name
                );
                return Err(Error::invalid(message).hint("send one statement for each of them"));
            }
            _ => found = Some(entry),
        }
    }
    match found {
        None => Err(Error::invalid("query: it is not clear what this writes to or locks")
            .hint("send it to the connection itself")),
        found => Ok(found),
    }
}

/// The names of the values that are given.
fn given(op: &Op) -> HashSet<String> {
    let first = op.statement().and_then(|(_, sets)| sets.first().copied()).unwrap_or_default();
    first.iter().map(|value| value.name.trim_start_matches('@').to_owned()).collect()
}

/// Returns what the text writes to, in the first dialect in which it writes.
fn written(text: &str, dialects: &[Dialect], given: &HashSet<String>) -> Result<Option<Vec<Vec<String>>>> {
    let mut failure = None;
    for dialect in dialects {
        match sql::written(text, *dialect, given) {
            Ok(None) => {}
            Ok(written) => return Ok(written),
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    failure.map_or(Ok(None), Err)
}

/// The connection of the table that a statement writes to under this name.
fn target<'w>(workspace: &'w Workspace, folder: Option<&'w str>, parts: &'w [String]) -> Result<&'w str> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match workspace.resolve(&parts, folder)?.1 {
        ResolvedName::Table { connection, .. } => Ok(connection),
        ResolvedName::View(view) => {
            Err(Error::invalid(format!("query: {} is a view of the workspace, and views only read", view.name)))
        }
    }
}

/// Asks the connection to run it for the caller, as far as the workspace lets them go there.
///
/// # Errors
/// The connection's own.
pub(super) async fn ask(
    directory: &Directory,
    reachable: &Reachable,
    entry: &ConnectionEntry,
    mut op: Op,
    asking: AskOptions,
    sent: SentStatements,
) -> Result<Reply> {
    let AskOptions { by, origin, limits, notices, effects } = asking;
    let within = WorkspaceContext {
        workspace: Arc::clone(&reachable.workspace),
        is_reached: by.rights.covers(entry.id),
        sent: Arc::new(move |connection, statement| sent.add(connection, statement)),
    };
    if let Op::Execute(_, Sql { within: place, .. })
    | Op::Script(_, Sql { within: place, .. })
    | Op::Procedure(ProcedureCall { within: place, .. }) = &mut op
    {
        *place = Some(within);
    }
    let by = reachable.writer(&by, entry.id);
    directory.ask_and_note(entry, origin, by, op, limits, (notices, effects)).await
}

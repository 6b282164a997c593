//! `get_instructions` of several connections: the list of them, and the instructions of each, shortened so that all
//! fit into one text. For a single one its full text is returned.

use std::fmt::Write;

use futures_util::{StreamExt, stream};
use portico_actors::call::Op;
use portico_actors::principal::Scope;
use portico_actors::reply::Reply;
use portico_actors::source::Access;
use portico_actors::source::digest::TextCache;
use portico_actors::workspace::Workspace;

use super::{relations, workspace};
use crate::federation;
use crate::mcp::context::{Context, Summary};
use crate::mcp::target::{Catalog, Target, TargetConnection};
use crate::routing::AskOptions;
use crate::tools::ResolvedCall;

/// Bytes of the whole text at most: an agent reads it with every conversation.
const MOST: usize = 24_000;
/// The approximate number of bytes for statements over several connections.
const MOST_DIALECT: usize = 1_000;
/// Bytes of the list of connections.
const MOST_LISTED: usize = 8_000;
/// The minimal number of bytes for one connection; with less, its instructions have to be requested separately.
const LEAST: usize = 1_500;
/// The number of characters of an administrator's text in the list.
const REMARK_LENGTH: usize = 120;
/// Bytes of the list of workspaces, give or take a line.
const MOST_WORKSPACES: usize = 2_000;
/// Bytes of a token, as budgets count them.
const TOKEN: usize = 4;
/// Connections that are asked at the same time.
const AT_ONCE: usize = 4;

const HEAD: &str = "# Connections\n\n\
    Name tables `connection.schema.table`, or say the connection in `catalogName`. A statement for one connection is \
    written in the SQL of that one. Examples below leave the connection's name out: give `catalogName` with them. \
    `get_instructions` with `catalogName` tells all about one connection.\n\n";

const WORKSPACES: &str = "\n# Workspaces\n\n\
    Tables of one or more connections under names of their own. With `catalogName` of one of them every tool means that \
    workspace, and names no connection; `get_instructions` tells its tables.\n\n";

/// Writes the instructions of `each` connection, and of each workspace with tables that they do not have.
pub(super) async fn write(
    context: &Context<'_>,
    kept: &TextCache<workspace::WorkspaceInstructionsKey>,
    each: Vec<(ResolvedCall, Catalog<'_>)>,
    summary: &mut Summary,
) -> String {
    let told = each.len().min((MOST - HEAD.len() - MOST_DIALECT - MOST_LISTED) / LEAST);
    let members: Vec<&TargetConnection> = each.iter().filter_map(|(_, it)| it.connection()).collect();
    // Each connection writes the most important parts into its share.
    let share = (MOST - HEAD.len() - MOST_DIALECT - MOST_LISTED) / told.max(1) / TOKEN;
    let (parent, trace) = (summary.parent, summary.trace);
    let asked = each.into_iter().take(told).map(|(mut resolved, catalog)| async move {
        if let Op::Instructions(options) = &mut resolved.op {
            options.tokens = options.tokens.min(share);
        }
        let mut summary = Summary { parent, trace, ..Summary::default() };
        let answer = match catalog {
            Catalog::Connection(member) => {
                let AskOptions { by, origin, limits, .. } = context.asking(&summary, resolved.limits, None);
                context.directory.ask(&member.entry, origin, by, resolved.op, limits).await
            }
            Catalog::Workspace(it) => {
                workspace::ask(context, kept, it, resolved.op, resolved.limits, &mut summary).await
            }
        };
        (catalog, answer)
    });
    let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let own = answers.into_iter().map(|(catalog, answer)| match answer {
        Ok(Reply::Text(text)) => text,
        Ok(Reply::Results(_)) => String::new(),
        Err(error) => {
            summary.note_failure(&error);
            let what = if catalog.connection().is_some() { "Connection" } else { "Workspace" };
            format!("# {what} {}\n\nIt does not answer now: {}\n", catalog.name(), error.message)
        }
    });
    let own: Vec<String> = own.collect();
    // After the answers: the kind of a source is known once it was called.
    let mut text = overview(context, &members);
    for (at, words) in own.iter().enumerate() {
        text.push('\n');
        let share = (MOST - text.len()) / (own.len() - at);
        append(&mut text, words, share);
    }
    text
}

/// Returns the first part: the connections and the workspaces, and how to query them together.
fn overview(context: &Context<'_>, members: &[&TargetConnection]) -> String {
    let mut text = String::new();
    if !members.is_empty() {
        text.push_str(HEAD);
        let functions = federation::functions();
        if !functions.is_empty() {
            let _ = write!(
                text,
                "One SELECT may join tables of several connections, in PostgreSQL's syntax with these functions: {functions}.\n\n",
            );
        }
        list(context, members, &mut text);
    }
    if let Target::All(all) = context.target {
        let reaches = |name: &str| all.members().iter().any(|member| member.entry.name.eq_ignore_ascii_case(name));
        let workspaces = || all.workspaces.iter().map(|it| it.reachable.workspace.as_ref());
        list_workspaces(workspaces(), &mut text);
        text = text.trim_start().to_owned();
        relations::write(workspaces(), reaches, &mut text);
    }
    text
}

/// A line for each connection.
fn list(context: &Context<'_>, members: &[&TargetConnection], text: &mut String) {
    let end = text.len() + MOST_LISTED;
    for (at, member) in members.iter().enumerate() {
        let line = describe(context, member);
        // Room for the last line is kept.
        if text.len() + line.len() + 80 > end {
            let _ = writeln!(text, "- … and {} more: get_catalogs lists them all", members.len() - at);
            return;
        }
        text.push_str(&line);
    }
}

/// Writes a line for each workspace; nothing without any.
fn list_workspaces<'w>(workspaces: impl Iterator<Item = &'w Workspace>, text: &mut String) {
    let end = text.len() + MOST_WORKSPACES;
    for (at, workspace) in workspaces.enumerate() {
        if at == 0 {
            text.push_str(WORKSPACES);
        }
        if text.len() > end {
            text.push_str("- …: get_catalogs lists them all\n");
            return;
        }
        let _ = write!(text, "- {}", workspace.name);
        if let Some(description) = workspace.description.as_deref().and_then(|words| words.trim().lines().next()) {
            remark(description, text);
        }
        text.push('\n');
    }
}

/// Appends the start of an administrator's text.
fn remark(words: &str, text: &mut String) {
    text.push_str(". ");
    text.extend(words.chars().take(REMARK_LENGTH));
    if words.chars().nth(REMARK_LENGTH).is_some() {
        text.push('…');
    }
}

fn describe(context: &Context<'_>, TargetConnection { entry, settings }: &TargetConnection) -> String {
    let now = context.directory.get(entry.id);
    let profile = now.as_ref().unwrap_or(entry).profile();
    let product = profile.as_ref().map_or(entry.driver.name, |profile| profile.product.as_str());
    let may_write = entry.access == Access::ReadWrite && context.by.at(entry.id).may(Scope::Write);
    let access = if may_write { "you may read and write" } else { "you may only read" };
    let mut line = format!("- {}: {product}, {access}", entry.name);
    if let Some(words) = settings.instructions.as_deref().and_then(|words| words.trim().lines().next()) {
        remark(words, &mut line);
    }
    line.push('\n');
    line
}

/// Appends as many lines of `words` as fit into `most` bytes, and a sign where some are missing.
fn append(text: &mut String, words: &str, most: usize) {
    const MORE: &str = "… get_instructions with this connection's catalogName tells the rest\n";
    if words.len() < most {
        text.push_str(words);
        return;
    }
    let end = (text.len() + most).saturating_sub(MORE.len() + 1);
    for line in words.split_inclusive('\n') {
        if text.len() + line.len() > end {
            break;
        }
        text.push_str(line);
    }
    text.push_str(MORE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_to_be_missing() {
        let words = (0..100).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n") + "\n";
        let mut text = "head\n".to_owned();
        append(&mut text, &words, 200);
        assert!(text.starts_with("head\nline 0\nline 1\n") && text.ends_with("tells the rest\n"), "{text}");
        assert!(text.len() <= 205, "{}", text.len());
        append(&mut text, "short\n", 200);
        assert!(text.ends_with("rest\nshort\n"), "{text}");
    }
}

//! The text that clients get with their first request (MCP, `initialize` and `server/discover`): what is here, what
//! the caller may do, and the calls to start with. Clients show it to a model before anything else, so it is short.

use std::fmt::Write;
use std::slice;

use super::offers;
use crate::mcp::context::Context;
use crate::mcp::target::{Target, WorkspaceTarget};
use crate::tools::{self, Offer};

/// Characters of it at most.
const MOST: usize = 2_000;
/// The maximal number of names of connections and workspaces.
const MOST_NAMES: usize = 20;
/// The calls to start with, and their purpose.
const CALLS: [(&str, &str); 3] = [
    ("get_instructions", "the tables with keys, allowed values and comments, and how to write for them; call it first"),
    ("execute_select", "one SELECT, with values as @name"),
    ("get_columns", "more of some tables"),
];

/// Writes the instructions that `initialize` and `server/discover` answer.
pub(super) fn write(context: &Context<'_>) -> String {
    offers::with(context, |offers| {
        let mut text = String::new();
        let alone = match context.target {
            Target::Workspace(it) => Some(it.as_ref()),
            Target::All(all) => all.only_workspace(),
            Target::Connection(_) => None,
        };
        if let (Some(it), [offer]) = (alone, offers) {
            of_workspace(&mut text, it, offer);
            return cut(text);
        }
        match (context.target, offers) {
            (Target::Connection(member), [offer]) => {
                let entry = &member.entry;
                let product = offer.profile.map_or(entry.driver.product, |profile| profile.product.as_str());
                let dialect = entry.driver.dialect.name;
                let _ = write!(text, "{}: {product}; write {dialect} SQL. {}", entry.name, access(offer));
                begin(&mut text, offers);
                words(&mut text, member.settings.instructions.as_deref());
            }
            (target, _) => {
                text.push_str(if target.members().is_empty() {
                    "The workspaces that your credential opens, which are tables of one or more databases under names of \
                     their own; say in catalogName which one you mean, and name tables table or folder.table."
                } else {
                    "Every database connection that your credential opens; name tables connection.schema.table, or say \
                     the connection in catalogName. One SELECT may join tables of several."
                });
                let each = target.members().iter().zip(offers).map(|(member, offer)| {
                    let product = offer.profile.map_or(member.entry.driver.product, |profile| profile.product.as_str());
                    let writes = if offer.may_write() { ", writable" } else { "" };
                    format!("{} ({product}{writes})", member.entry.name)
                });
                names(&mut text, "Connections", each);
                if let Target::All(all) = target {
                    names(
                        &mut text,
                        "Workspaces",
                        all.workspaces.iter().map(|it| it.reachable.workspace.name.to_string()),
                    );
                }
                begin(&mut text, offers);
            }
        }
        cut(text)
    })
}

fn of_workspace(text: &mut String, it: &WorkspaceTarget, offer: &Offer<'_>) {
    let workspace = &it.reachable.workspace;
    let dialect = match it.underneath.as_slice() {
        [only] => only.entry.driver.dialect.name,
        _ => "PostgreSQL",
    };
    let _ = write!(
        text,
        "{}: a workspace, which is tables of one or more databases under names of its own; write {dialect} SQL. {}",
        workspace.name,
        access(offer),
    );
    begin(text, slice::from_ref(offer));
    words(text, workspace.description.as_deref());
    words(text, workspace.instructions.as_deref());
}

fn access(offer: &Offer<'_>) -> &'static str {
    if offer.may_write() { "You may read and write." } else { "You may only read." }
}

/// Names the calls to begin with, as far as they are there.
fn begin(text: &mut String, offers: &[Offer<'_>]) {
    let there: Vec<String> = CALLS
        .into_iter()
        .filter(|(name, _)| tools::find(offers, name).is_ok())
        .map(|(name, about)| format!("{name} ({about})"))
        .collect();
    if !there.is_empty() {
        let _ = write!(text, "\nBegin with: {}.", there.join("; "));
    }
}

fn names(text: &mut String, what: &str, names: impl Iterator<Item = String>) {
    let all: Vec<String> = names.collect();
    if all.is_empty() {
        return;
    }
    let more = all.len().saturating_sub(MOST_NAMES);
    let _ = write!(text, "\n{what}: {}", all.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", "));
    text.push_str(&if more > 0 { format!(", and {more} more.") } else { ".".to_owned() });
}

/// An administrator's words.
fn words(text: &mut String, words: Option<&str>) {
    if let Some(words) = words {
        let _ = write!(text, "\n{}", words.trim());
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MOST - 1) {
        Some((at, _)) if text.chars().nth(MOST).is_some() => format!("{}…", text.get(..at).unwrap_or_default()),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_cut_at_its_bound() {
        assert_eq!(cut("ä".repeat(MOST)), "ä".repeat(MOST));
        let long = cut("ä".repeat(MOST + 1));
        assert!(long.ends_with('…') && long.chars().count() == MOST);
    }
}

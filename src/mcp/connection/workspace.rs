//! Calls to a workspace, and its instructions: a text that is cached until a source underneath is read again.

use std::fmt::Write;
use std::sync::{Arc, Weak};

use portico_actors::call::{AllowedStatements, InstructionsOptions, Limits, MetadataFilter, MetadataKind, Op, Sql};
use portico_actors::error::{Kind, Result};
use portico_actors::principal::Scope;
use portico_actors::reply::{Reply, Results};
use portico_actors::source::digest::{
    self, Facts, MOST_LOOKUP_ROWS, MOST_TABLES, QualifiedName, Style, TextCache, quoted,
};
use portico_actors::source::{Access, Procedure, Profile, TextRow, texts};
use portico_actors::workspace::{self, Asset, MAIN, Workspace};
use uuid::Uuid;

use crate::federation;
use crate::federation::SentStatements;
use crate::mcp::context::{Context, Summary};
use crate::mcp::target::{TargetConnection, WorkspaceTarget};
use crate::routing;

/// Bytes of a token, as budgets count them.
const TOKEN: usize = 4;
/// A part of the room, in percent, is for procedures.
const PROCEDURES: usize = 25;
/// Bytes that the tables have in any case.
const LEAST_TABLES: usize = 512;
/// Bytes of the administrator's words, which come on top.
const MOST_WORDS: usize = 4 * 1024;
/// Columns that are read at most.
const MOST_COLUMNS: usize = 40_000;

/// Everything that a text of instructions depends on.
#[derive(Clone)]
pub(super) struct WorkspaceInstructionsKey {
    workspace: Weak<Workspace>,
    scope: Scope,
    options: InstructionsOptions,
    /// For each connection underneath its last profile, how often it was read, and the caller's role.
    underneath: Vec<(Uuid, Weak<Profile>, u64, Option<String>)>,
}

impl PartialEq for WorkspaceInstructionsKey {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.workspace, &other.workspace)
            && self.scope == other.scope
            && self.options == other.options
            && self.underneath.len() == other.underneath.len()
            && self.underneath.iter().zip(&other.underneath).all(|(one, other)| {
                one.0 == other.0 && Weak::ptr_eq(&one.1, &other.1) && one.2 == other.2 && one.3 == other.3
            })
    }
}

impl WorkspaceInstructionsKey {
    fn new(context: &Context<'_>, it: &WorkspaceTarget, options: &InstructionsOptions) -> Self {
        let by = it.reachable.reader(&context.by);
        let member = |member: &TargetConnection| {
            let now = context.directory.get(member.entry.id);
            let entry = now.as_ref().unwrap_or(&member.entry);
            let role = member.settings.identity.as_ref().and_then(|mapping| mapping.role(&entry.name, &by).ok());
            let profile = entry.profile().map_or_else(Weak::new, |profile| Arc::downgrade(&profile));
            (entry.id, profile, entry.refreshes(), role)
        };
        Self {
            workspace: Arc::downgrade(&it.reachable.workspace),
            scope: it.reachable.scope,
            options: options.clone(),
            underneath: it.underneath.iter().map(member).collect(),
        }
    }

    /// Returns true if `newer` is equal, or this one is of a workspace that is gone or was read earlier.
    fn is_replaced_by(&self, newer: &Self) -> bool {
        let is_older = Weak::ptr_eq(&self.workspace, &newer.workspace)
            && self.underneath.iter().zip(&newer.underneath).any(|(one, newer)| one.2 < newer.2);
        self == newer || is_older || self.workspace.strong_count() == 0
    }
}

/// Asks the workspace.
pub(super) async fn ask(
    context: &Context<'_>,
    kept: &TextCache<WorkspaceInstructionsKey>,
    it: &WorkspaceTarget,
    op: Op,
    limits: Limits,
    summary: &mut Summary,
) -> Result<Reply> {
    summary.workspace = Some(Arc::clone(&it.reachable.workspace.name));
    match it.underneath.as_slice() {
        [only] => summary.connection = Some(only.entry.clone()),
        several => summary.several = several.iter().map(|member| Arc::clone(&member.entry.name)).collect(),
    }
    if let Op::Instructions(options) = op {
        // Before anything is read: what is read meanwhile is newer than the key.
        let key = WorkspaceInstructionsKey::new(context, it, &options);
        if let Some(text) = kept.get(|it| *it == key) {
            return Ok(Reply::Text(text.to_string()));
        }
        let reading = Reading { context, it, limits, summary };
        let (text, is_whole) = reading.write(&options).await?;
        if is_whole && key == WorkspaceInstructionsKey::new(context, it, &options) {
            kept.put(key.clone(), text.as_str().into(), |it| it.is_replaced_by(&key));
        }
        return Ok(Reply::Text(text));
    }
    let (federation, directory) = (context.federation, context.directory);
    let asking = context.asking(summary, limits, None);
    if let Op::Describe(metadata, narrow) = op {
        let listed = routing::list_workspace(federation, directory, &it.reachable, metadata, narrow, asking);
        return listed.await.map(Reply::Results);
    }
    let sent = SentStatements::default();
    let kinds = it.underneath.iter().map(|member| member.entry.driver.name);
    let statement = context.audit.and_then(|audit| audit.statement(&op, kinds));
    summary.statement = statement.map(|statement| statement.sending(&sent));
    routing::ask_workspace(federation, directory, &it.reachable, op, asking, sent).await
}

/// The input for the instructions.
struct Reading<'a> {
    context: &'a Context<'a>,
    it: &'a WorkspaceTarget,
    limits: Limits,
    summary: &'a Summary,
}

impl Reading<'_> {
    /// Returns the instructions, and whether all of the data could be read.
    async fn write(&self, options: &InstructionsOptions) -> Result<(String, bool)> {
        let workspace = &self.it.reachable.workspace;
        let (facts, is_whole) = self.facts(options).await?;
        let may_write = self.it.access() == Access::ReadWrite && self.it.reachable.scope >= Scope::Write;
        let mut text = self.introduction(options, may_write);
        self.add_procedures(&mut text, options, may_write);
        let _ = write!(text, "\n## Tables\n\n{}", digest::LEGEND);
        let style = Style { default_schema: Some(MAIN), may_write, without_remarks: false };
        let functions = match self.it.underneath.as_slice() {
            [_] => String::new(),
            _ => format!("\nFunctions: {}\n", federation::functions()),
        };
        let room = (options.tokens * TOKEN).saturating_sub(text.len() + functions.len()).max(LEAST_TABLES);
        text.push_str(&digest::write(
            &facts,
            &style,
            room,
            "get_columns tells them, get_tables with search finds more",
        ));
        text.push_str(&functions);
        add_relations(&mut text, workspace, &facts);
        if let Some(words) = &workspace.instructions {
            let words = words.trim();
            let end = words.floor_char_boundary(MOST_WORDS);
            let _ = writeln!(text, "\n## From the administrator\n\n{}", words.get(..end).unwrap_or_default());
        }
        Ok((text, is_whole))
    }

    /// Describes the workspace, and how its tables are named and queried.
    fn introduction(&self, options: &InstructionsOptions, may_write: bool) -> String {
        let workspace = &self.it.reachable.workspace;
        let name = &workspace.name;
        let mut text = format!("# Workspace {name}\n\n");
        if let Some(description) = &workspace.description {
            let _ = writeln!(text, "{description}\n");
        }
        let access = if may_write {
            "which you may read, and write where a table's connection can be written to; views only read"
        } else {
            "which you may only read"
        };
        let dialect = match self.it.underneath.as_slice() {
            [only] => format!("Write {} SQL", only.entry.driver.dialect.name),
            _ if may_write => {
                "Write SELECT in PostgreSQL's syntax with the functions below, and what writes in the SQL of \
                               the table's own database, which it names alone"
                    .to_owned()
            }
            _ => "Write SELECT in PostgreSQL's syntax with the functions below".to_owned(),
        };
        let _ = writeln!(
            text,
            "Tables of one or more databases under names of its own, {access}. {dialect}; name tables `table` (in \
             `{MAIN}`), `folder.table` or `{name}.folder.table`. Give values as `@name` with `parameters`.\nA result is \
             cut at {} rows and {} bytes unless `maxRows` asks for more: filter and aggregate in SQL.",
            options.max_rows, options.max_bytes,
        );
        text
    }

    /// The procedures that the workspace lists and its reader may call.
    fn add_procedures(&self, text: &mut String, options: &InstructionsOptions, may_write: bool) {
        let members = &self.it.underneath;
        let lines = self.it.reachable.workspace.assets.iter().flat_map(|asset| {
            let Asset::Procedure { connection, schema, name } = asset else { return Vec::new() };
            let member = members.iter().find(|member| member.entry.name == *connection);
            let Some(profile) = member.and_then(|member| member.entry.profile()) else { return Vec::new() };
            let style = Style { default_schema: Some(schema), may_write, without_remarks: false };
            let is_it = |it: &&Procedure| it.schema == **schema && it.name == **name && (may_write || it.reads_only);
            let found = profile.procedures.iter().filter(is_it);
            found.map(|procedure| format!("- {}", digest::signature(procedure, &style))).collect()
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() || !options.tools.contains(&"execute_procedure") {
            return;
        }
        text.push_str("\n## Procedures (execute_procedure)\n\n");
        let most = options.tokens * TOKEN * PROCEDURES / 100;
        digest::write_list(text, lines.into_iter(), most, "get_procedures lists them all");
    }

    async fn facts(&self, options: &InstructionsOptions) -> Result<(Facts, bool)> {
        let tables = self.list(MetadataKind::Tables, MOST_TABLES).await?;
        let mut is_whole = true;
        let mut noted = |listed: Result<Vec<TextRow>>| {
            is_whole &= listed.is_ok();
            listed.unwrap_or_default()
        };
        let details = noted(self.list(MetadataKind::TableDetails, MOST_TABLES).await);
        let keys = noted(self.list(MetadataKind::ImportedKeys, MOST_COLUMNS).await);
        let mut facts = Facts::new(&tables, &details, &keys, Some(MAIN));
        facts.describe(&noted(self.list(MetadataKind::Columns, MOST_COLUMNS).await));
        for relation in &self.it.reachable.workspace.relations {
            if let (Some((from, column)), Some((to, to_column))) = (column(&relation.from), column(&relation.to)) {
                facts.relate((from, column), (to, to_column));
            }
        }
        let may_select = ["execute_select", "execute_sql"].iter().any(|tool| options.tools.contains(tool));
        if options.lookup_rows && may_select {
            for ((folder, name), columns) in facts.lookups() {
                let columns: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
                let text = format!("SELECT {} FROM {}.{}", columns.join(", "), quoted(&folder), quoted(&name));
                let rows = match self.select(text).await {
                    Ok(results) => texts(results, MOST_LOOKUP_ROWS + 1).await,
                    Err(error) => Err(error),
                };
                let rows = match rows {
                    // A caller without access gets nothing.
                    Err(error)
                        if matches!(error.kind, Kind::Invalid | Kind::Forbidden | Kind::NotFound | Kind::Rejected) =>
                    {
                        Vec::new()
                    }
                    rows => noted(rows),
                };
                facts.add_lookup(&(folder, name), rows);
            }
        }
        Ok((facts, is_whole))
    }

    async fn list(&self, metadata: MetadataKind, most: usize) -> Result<Vec<TextRow>> {
        let asking = self.context.asking(self.summary, self.limits, None);
        let (federation, directory) = (self.context.federation, self.context.directory);
        let reachable = &self.it.reachable;
        let listed =
            routing::list_workspace(federation, directory, reachable, metadata, MetadataFilter::default(), asking)
                .await?;
        texts(listed, most).await
    }

    /// Runs a statement that the caller could send.
    async fn select(&self, text: String) -> Result<Results> {
        let limits = Limits { rows: Some(MOST_LOOKUP_ROWS as u64 + 1), ..self.limits };
        let asking = self.context.asking(self.summary, limits, None);
        let (federation, directory) = (self.context.federation, self.context.directory);
        let op = Op::Execute(AllowedStatements::Select, Sql { text, ..Sql::default() });
        let sent = SentStatements::default();
        routing::ask_workspace(federation, directory, &self.it.reachable, op, asking, sent).await?.into_results()
    }
}

/// Adds the relations of columns without keys of their own, such as those of views: no listing of keys contains
/// them.
fn add_relations(text: &mut String, workspace: &Workspace, facts: &Facts) {
    let refers = |from: &str| column(from).is_some_and(|(of, it)| facts.refers(&of, it));
    let mut relations = workspace.relations.iter().filter(|relation| !refers(&relation.from)).peekable();
    if relations.peek().is_none() {
        return;
    }
    text.push_str("\nThese belong together:");
    for relation in relations {
        let _ = write!(text, " {} → {};", relation.from, relation.to);
    }
    text.push('\n');
}

/// The table of a column that a relation names, and its own name.
fn column(name: &str) -> Option<(QualifiedName, &str)> {
    workspace::column(name).map(|(folder, table, column)| ((folder.to_owned(), table.to_owned()), column))
}

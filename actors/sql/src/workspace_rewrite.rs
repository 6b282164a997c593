//! Rewrites statements over names of a workspace for the one connection that they run on: each relation becomes the
//! connection's table under the workspace's name, or a view's query.

use std::ops::Range;

use portico_core::error::{Error, Kind as Failure, Result};
use portico_core::workspace::{Asset, MAIN, ResolvedName, View, Workspace};

use crate::dialect::Dialect;
use crate::lexing::bracket;
use crate::lexing::guard;
use crate::lexing::lexer;
use crate::lexing::placeholder::{self, ParameterNames};
use crate::lexing::split;
use crate::lexing::token::{Kind, Token, identifier, words};
use crate::parsed::class::Class;
use crate::parsed::mask::mask;
use crate::parsed::names::{self, NameKind, NameReference};
use crate::parsed::relations::{Relation, Usage, relations};
use crate::rewrite::Edit;
use crate::statement::{Statement, assemble, is_open, reading, verb};

/// Views over views at most.
const MOST_VIEWS: usize = 32;
/// The words that a statement of a workspace may start with.
const VERBS: &[&str] =
    &["SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "EXPLAIN", "("];

/// Where the names of a statement are found.
#[derive(Clone, Copy)]
pub struct InWorkspace<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The connection that the statement runs on.
    pub connection: &'a str,
    /// The folder of names without one, before the main one.
    pub folder: Option<&'a str>,
    /// The schema that has a table, where the workspace has a pattern of schemas.
    pub schema_of: &'a dyn Fn(&Asset, &str) -> Option<String>,
}

/// A table that was put in the place of a workspace's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The folder in the workspace.
    pub folder: String,
    /// The name there.
    pub name: String,
    /// The schema at the source.
    pub schema: String,
    /// The table there.
    pub table: String,
}

/// Reads `text` as statements over names of a workspace, and rewrites each for the connection. Also returns which
/// tables replaced names.
///
/// # Errors
/// As [`statements`](super::statements); [`Failure::Invalid`] for a statement that is not understood, for a write
/// to a view and for tables of another connection, [`Failure::NotFound`] for names that the workspace does not
/// have.
pub fn statements_within(
    text: &str,
    dialect: Dialect,
    within: InWorkspace<'_>,
    given: &ParameterNames,
) -> Result<(Vec<Statement>, Vec<Renamed>)> {
    let mut rewriter = Rewriter { dialect, within, renamed: Vec::new(), depth: 0, room: guard::MAX_BYTES };
    let statements = rewriter.statements(text, given)?;
    Ok((statements, rewriter.renamed))
}

/// Returns the names of the relations that the statements of `text` write to, each in its parts. Returns `None` if
/// all of them only read, or do something else than reading and changing rows.
///
/// # Errors
/// As [`statements`](super::statements); [`Failure::Invalid`] if a writing statement is not fully understood.
pub fn written(text: &str, dialect: Dialect, given: &ParameterNames) -> Result<Option<Vec<Vec<String>>>> {
    guard::check_text(text)?;
    let tokens = lexer::tokens_with(text, dialect, given);
    guard::admit_tokens(text, &tokens)?;
    let (mut written, mut writes) = (Vec::new(), false);
    for tokens in split::split(text, &tokens, dialect) {
        let words = words(tokens);
        let reading = reading(text, tokens, &words, dialect)?;
        if !matches!(reading.class, Class::Insert | Class::Update) {
            continue;
        }
        writes = true;
        let start = tokens.first().map_or(0, |first| first.start);
        let masked = reading.sure.then(|| mask(text, tokens, dialect));
        let found = masked.and_then(|masked| relations(&masked, &words, start, dialect.with_is_recursive));
        for relation in found.ok_or_else(not_understood)?.iter().filter(|it| it.usage == Usage::Write) {
            written.push(relation.names(&words).map(|word| identifier(word.text(text)).into_owned()).collect());
        }
    }
    Ok(writes.then_some(written))
}

fn not_understood() -> Error {
    Error::invalid("query: this statement is not fully understood, as a statement over names of a workspace has to be")
        .hint("write it in standard SQL, or address the connection itself")
}

struct Rewriter<'a> {
    dialect: Dialect,
    within: InWorkspace<'a>,
    renamed: Vec<Renamed>,
    depth: usize,
    /// Octets that the queries of views may still come to.
    room: usize,
}

impl Rewriter<'_> {
    fn statements(&mut self, text: &str, given: &ParameterNames) -> Result<Vec<Statement>> {
        guard::check_text(text)?;
        let tokens = lexer::tokens_with(text, self.dialect, given);
        guard::admit_tokens(text, &tokens)?;
        let parts = split::split(text, &tokens, self.dialect);
        guard::admit_statements(parts.len())?;
        if parts.is_empty() {
            return Err(Error::invalid("query holds no statement"));
        }
        let (mut statements, mut marks) = (Vec::with_capacity(parts.len()), 0);
        for tokens in parts {
            let start = tokens.first().map_or(0, |first| first.start);
            let before = text.get(..start).unwrap_or_default().chars().count();
            statements.push(self.statement(text, tokens, before, &mut marks)?);
        }
        Ok(statements)
    }

    /// One statement; `before` is the number of characters in front of it.
    fn statement(&mut self, text: &str, tokens: &[Token], before: usize, marks: &mut usize) -> Result<Statement> {
        let words = words(tokens);
        let reading = reading(text, tokens, &words, self.dialect)?;
        if matches!(reading.class, Class::Transaction | Class::Session) {
            // These are never run for a caller.
            return Ok(assemble(text, tokens, self.dialect, reading, Vec::new(), (before, "")));
        }
        let verb = verb(text, &words);
        let changes_rows = matches!(reading.class, Class::Select | Class::Insert | Class::Update);
        if !changes_rows || !VERBS.contains(&verb.as_str()) {
            let what = if verb.is_empty() { "this".to_owned() } else { verb };
            return Err(Error::invalid(format!(
                "query: {what} is not supported in a workspace, whose statements read and change rows"
            ))
            .hint("address the connection itself to define objects, call procedures or change settings"));
        }
        let start = tokens.first().map_or(0, |first| first.start);
        let understood = reading.sure.then(|| mask(text, tokens, self.dialect));
        let recursive = self.dialect.with_is_recursive;
        let found = understood.and_then(|masked| relations(&masked, &words, start, recursive));
        let mut edits = Vec::new();
        let found = found.ok_or_else(not_understood)?;
        for relation in &found {
            self.relation(text, &words, relation, &mut edits)?;
        }
        for reference in &reading.references {
            self.column(text, &words, reference, &found, &mut edits);
        }
        let taken: Vec<Range<usize>> = edits.iter().map(|edit| edit.range.clone()).collect();
        let is_taken =
            |edit: &Edit| taken.iter().any(|range| range.start <= edit.range.start && edit.range.end <= range.end);
        let mut others = Vec::new();
        let placeholders = placeholder::number(text, &words, self.dialect, marks, &mut others)?;
        if !self.dialect.bracket_names {
            bracket::requote(text, &words, &mut others);
        }
        others.retain(|edit| !is_taken(edit));
        edits.extend(others);
        let place = (before, self.within.workspace.name.as_ref());
        let statement = assemble(text, tokens, self.dialect, reading, edits, place);
        Ok(Statement { placeholders, ..statement })
    }

    /// Replaces a relation's name by what it resolves to.
    fn relation(&mut self, text: &str, words: &[Token], relation: &Relation, edits: &mut Vec<Edit>) -> Result<()> {
        let named: Vec<Token> = relation.names(words).copied().collect();
        let parts: Vec<String> = named.iter().map(|word| identifier(word.text(text)).into_owned()).collect();
        let position = |error: Error| {
            let start = named.first().map_or(0, |first| first.start);
            error.position(text.get(..start).unwrap_or_default().chars().count() + 1)
        };
        if relation.is_common_table(text, words, self.dialect) {
            return Ok(());
        }
        if named.iter().any(|word| matches!(word.text(text).as_bytes(), [b'u' | b'U', b'&', ..])) {
            let error = Error::invalid("query: a name with U& escapes is not supported in a workspace");
            return Err(position(error.hint("write the name itself, in quotes where it needs them")));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let found = self.within.workspace.resolve(&parts, self.within.folder);
        let ((folder, found), name) = (found.map_err(position)?, *parts.last().unwrap_or(&""));
        self.check(name, found, relation.usage).map_err(position)?;
        let replacement = match found {
            ResolvedName::Table { asset, schema, table, .. } => {
                self.table(folder, name, asset, schema, table).map_err(position)?
            }
            ResolvedName::View(view) => self.view(view)?,
        };
        edits.push(self.edit(text, words, relation, name, &replacement)?);
        Ok(())
    }

    /// Refuses a table of another connection, and a view where no query may stand.
    fn check(&self, name: &str, found: ResolvedName<'_>, usage: Usage) -> Result<()> {
        match found {
            ResolvedName::Table { connection, .. } if !connection.eq_ignore_ascii_case(self.within.connection) => {
                Err(crossing(name, connection, self.within.connection))
            }
            ResolvedName::View(View { name, .. }) if usage == Usage::Write => {
                Err(Error::invalid(format!("query: {name} is a view of the workspace, and views only read")))
            }
            ResolvedName::View(View { name, .. }) if usage != Usage::Read => {
                Err(Error::invalid(format!("query: {name} is a view of the workspace: write SELECT * FROM {name}")))
            }
            ResolvedName::Table { .. } | ResolvedName::View(_) => Ok(()),
        }
    }

    /// Returns the edit that replaces a relation's name and keeps `name` as its alias.
    fn edit(&self, text: &str, words: &[Token], relation: &Relation, name: &str, replacement: &str) -> Result<Edit> {
        let mut end = relation.words.end;
        let alias = match (relation.usage, relation.is_aliased) {
            (Usage::Read | Usage::Write, false) => {
                // `orders *` is the table with its children.
                end += usize::from(words.get(end).is_some_and(|word| word.text(text) == "*"));
                format!(" AS {}", self.dialect.quoted(name))
            }
            _ => String::new(),
        };
        let star = if end > relation.words.end { " *" } else { "" };
        let (Some(first), Some(last)) = (words.get(relation.words.start), words.get(end.saturating_sub(1))) else {
            return Err(Error::internal("bug: a relation has no words"));
        };
        Ok(Edit { range: first.start..last.end, replacement: format!("{replacement}{star}{alias}") })
    }

    fn table(&mut self, folder: &str, name: &str, asset: &Asset, schema: &str, table: &str) -> Result<String> {
        let schema = if schema.contains('%') {
            let found = (self.within.schema_of)(asset, table);
            found.ok_or_else(|| self.within.workspace.unknown(folder, name))?
        } else {
            schema.to_owned()
        };
        let replacement = format!("{}.{}", self.dialect.quoted(&schema), self.dialect.quoted(table));
        let renamed = Renamed { folder: folder.to_owned(), name: name.to_owned(), schema, table: table.to_owned() };
        if !self.renamed.contains(&renamed) {
            self.renamed.push(renamed);
        }
        Ok(replacement)
    }

    /// Returns the query of a view for use within another statement. Its names are resolved in the view's own
    /// folder.
    fn view(&mut self, view: &View) -> Result<String> {
        let of_view = |mut error: Error| {
            error.message = format!("view {}: {}", view.name, error.message);
            error.without_position()
        };
        if self.depth == MOST_VIEWS {
            return Err(Error::invalid(format!("view {}: views nest deeper than {MOST_VIEWS}", view.name)));
        }
        self.depth += 1;
        let folder = self.within.folder.take();
        let read = self.statements(&view.query, &ParameterNames::new());
        self.within.folder = folder;
        self.depth -= 1;
        let statements = read.map_err(of_view)?;
        let [statement] = statements.as_slice() else { return Err(of_view(Error::invalid("this is not one SELECT"))) };
        if statement.class != Class::Select || statement.verb == "EXPLAIN" || !statement.placeholders.is_empty() {
            return Err(of_view(Error::invalid("this is not one SELECT without parameters")));
        }
        if is_open(&statement.text, self.dialect) {
            return Err(of_view(Error::invalid("its query ends within a comment or a literal").hint("close it")));
        }
        self.room = self.room.checked_sub(statement.text.len()).ok_or_else(|| {
            Error::new(Failure::TooLarge, format!("query is longer than {} bytes with its views", guard::MAX_BYTES))
        })?;
        // A comment at its end ends there.
        Ok(format!("({}\n)", statement.text))
    }

    /// Removes the workspace and the folder from the qualifier of a column, since the table has its plain name
    /// there; and replaces the name in a call by the procedure's own name.
    fn column(
        &self,
        text: &str,
        words: &[Token],
        reference: &NameReference,
        found: &[Relation],
        edits: &mut Vec<Edit>,
    ) {
        let inside = words.get(reference.words.clone()).unwrap_or_default();
        let named: Vec<Token> = inside.iter().copied().filter(|word| word.is_name()).collect();
        let star = inside.last().is_some_and(|last| last.kind == Kind::Operator);
        let parts: Vec<_> = named.iter().map(|word| identifier(word.text(text))).collect();
        let workspace = self.within.workspace;
        let is_workspace = |part: &str| part.eq_ignore_ascii_case(&workspace.name);
        match reference.role {
            NameKind::Column => {
                let length = parts.len() + usize::from(star);
                let returned = found.iter().filter(|_| self.dialect.returning_knows_no_alias).find(|relation| {
                    let range = relation.returning.as_ref().filter(|_| !relation.is_aliased);
                    range.is_some_and(|range| range.contains(&reference.words.start))
                });
                let is_target = |table: &str| {
                    let name = returned.and_then(|relation| words.get(relation.words.end.checked_sub(1)?));
                    name.is_some_and(|name| identifier(name.text(text)).eq_ignore_ascii_case(table))
                };
                let taken = match parts.as_slice() {
                    // It has but one table there, by the source's own name.
                    [.., table, _] if !star && is_target(table) => parts.len() - 1,
                    [first, folder, ..] if length >= 4 && is_workspace(first) && workspace.has_folder(folder) => 2,
                    [folder, table, ..] if length == 3 && workspace.find(folder, table).is_some() => 1,
                    _ => return,
                };
                if let (Some(first), Some(next)) = (named.first(), named.get(taken)) {
                    let glue = names::glue_before(text, first.start);
                    edits.push(Edit { range: first.start..next.start, replacement: glue.to_owned() });
                }
            }
            NameKind::Call => {
                let name = match parts.as_slice() {
                    [name] => name,
                    [folder, name] if folder.eq_ignore_ascii_case(MAIN) => name,
                    [first, folder, name] if is_workspace(first) && folder.eq_ignore_ascii_case(MAIN) => name,
                    _ => return,
                };
                let procedure = workspace.assets.iter().find_map(|asset| match asset {
                    Asset::Procedure { connection, schema, name: own }
                        if own.eq_ignore_ascii_case(name)
                            && connection.eq_ignore_ascii_case(self.within.connection) =>
                    {
                        Some(format!("{}.{}", self.dialect.quoted(schema), self.dialect.quoted(own)))
                    }
                    _ => None,
                });
                if let (Some(procedure), Some(first), Some(last)) = (procedure, named.first(), named.last()) {
                    edits.push(Edit { range: first.start..last.end, replacement: procedure });
                }
            }
            NameKind::Object | NameKind::Type | NameKind::Operator => {}
        }
    }
}

/// The refusal of a table that another connection has.
fn crossing(name: &str, of: &str, here: &str) -> Error {
    Error::invalid(format!(
        "query: {name} is a table of {of}, and this statement runs on {here}: a statement that writes addresses one \
         connection"
    ))
    .hint(format!("read what it needs from {of} in a separate statement, and pass that as values"))
}

//! A workspace: tables of any number of connections under names of its own, and views over them. Its folders are its
//! schemas.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::naming::near;
use crate::naming::pattern::speaks_of;

/// The folder of objects without a folder.
pub const MAIN: &str = "main";

/// Splits a name into folder, table and column: `folder.table.column`, or `table.column` in [`MAIN`].
pub fn column(name: &str) -> Option<(&str, &str, &str)> {
    match name.split('.').collect::<Vec<_>>()[..] {
        [table, column] => Some((MAIN, table, column)),
        [folder, table, column] => Some((folder, table, column)),
        _ => None,
    }
}

/// Returns a name as it is shown: one of the main folder stands alone.
pub fn shown(folder: &str, name: &str) -> String {
    if folder == MAIN { name.to_owned() } else { format!("{folder}.{name}") }
}

/// A workspace as an administrator declared it. Names of connections are spelled as in their own tables of the
/// configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its name, in one namespace with the connections.
    pub name: Arc<str>,
    /// Its description.
    pub description: Option<Arc<str>>,
    /// Instructions for agents.
    pub instructions: Option<Arc<str>>,
    /// The maximal number of tokens of the instructions and the description of the tables.
    pub instructions_tokens: usize,
    /// Whether instructions include the rows of small lookup tables.
    pub lookup_rows: bool,
    /// The maximal number of rows in a tool's result.
    pub max_rows: u64,
    /// The maximal number of bytes in a tool's result.
    pub max_bytes: usize,
    /// The number of rows in a tool's result, unless the call asks for more.
    pub tool_rows: u64,
    /// The number of bytes in a tool's result, unless the call asks for more rows.
    pub tool_bytes: usize,
    /// The maximal number of tools made from its procedures; 0 means all.
    pub max_source_tools: usize,
    /// Tables and procedures of connections.
    pub assets: Vec<Asset>,
    /// Views over them and over one another, without cycles.
    pub views: Vec<View>,
    /// Relations between its tables.
    pub relations: Vec<Relation>,
}

/// An object of a connection that a workspace contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asset {
    /// A table or view, or all that match a pattern.
    Table {
        /// The connection.
        connection: Arc<str>,
        /// The schema there; with `%` in it, a pattern in which `_` is literal ([`speaks_of`]).
        schema: Arc<str>,
        /// The table there, or a pattern.
        table: Arc<str>,
        /// Its name in the workspace, if it differs; never with a pattern.
        alias: Option<Arc<str>>,
        /// Its folder.
        folder: Option<Arc<str>>,
    },
    /// A procedure.
    Procedure {
        /// The connection.
        connection: Arc<str>,
        /// The schema there.
        schema: Arc<str>,
        /// The procedure there.
        name: Arc<str>,
    },
}

/// A view over assets and other views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name in the workspace.
    pub name: Arc<str>,
    /// Its folder.
    pub folder: Option<Arc<str>>,
    /// Its description.
    pub description: Option<Arc<str>>,
    /// One SELECT over names of the workspace.
    pub query: Arc<str>,
}

/// What a workspace's name resolves to.
#[derive(Clone, Copy, Debug)]
pub enum ResolvedName<'a> {
    /// A table or view of a connection.
    Table {
        /// The asset that the workspace has it by.
        asset: &'a Asset,
        /// The connection.
        connection: &'a str,
        /// The schema there, or a pattern.
        schema: &'a str,
        /// The table there.
        table: &'a str,
    },
    /// A view of the workspace.
    View(&'a View),
}

/// The workspace of a statement that is on its way to a connection underneath.
#[derive(Clone)]
pub struct WorkspaceContext {
    /// The workspace that the names belong to.
    pub workspace: Arc<Workspace>,
    /// Whether the caller also reaches the connection directly, and so may see its own names.
    pub is_reached: bool,
    /// Receives the connection's name and the statement that is sent to it.
    pub sent: Arc<dyn Fn(&str, &str) + Send + Sync>,
}

impl fmt::Debug for WorkspaceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceContext").field("workspace", &self.workspace.name).finish_non_exhaustive()
    }
}

/// Two related columns of the workspace: `folder.table.column`, or `table.column` in [`MAIN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The referencing column.
    pub from: Arc<str>,
    /// The referenced column.
    pub to: Arc<str>,
}

impl Workspace {
    /// Returns the names of the connections underneath, each once.
    pub fn connections(&self) -> BTreeSet<&str> {
        self.assets.iter().map(Asset::connection).collect()
    }

    /// Returns what `name` in `folder` resolves to. Names match in any case, so that unquoted names are found.
    pub fn find<'a>(&'a self, folder: &str, name: &'a str) -> Option<ResolvedName<'a>> {
        let is_here = |place: &str| place.eq_ignore_ascii_case(folder);
        let mut views = self.views.iter();
        if let Some(view) = views.find(|view| is_here(view.folder()) && view.name.eq_ignore_ascii_case(name)) {
            return Some(ResolvedName::View(view));
        }
        let exact = self.assets.iter().find(|asset| {
            asset.place().is_some_and(|(place, own)| is_here(place) && own.is_some_and(|own| own == name))
        });
        let folded = || {
            self.assets.iter().find(|asset| {
                let own = asset.place().filter(|(place, _)| is_here(place)).and_then(|(_, own)| own);
                own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            })
        };
        let pattern = || {
            self.assets.iter().find(|asset| {
                matches!(asset.place(), Some((place, None)) if is_here(place)) && asset.is(asset.schema(), name)
            })
        };
        match exact.or_else(folded).or_else(pattern)? {
            asset @ Asset::Table { connection, schema, table, .. } => {
                let table = if asset.is_pattern() { name } else { table };
                Some(ResolvedName::Table { asset, connection, schema, table })
            }
            Asset::Procedure { .. } => None,
        }
    }

    /// Resolves a name of a statement, and returns its folder too: `name`, `folder.name` or
    /// `workspace.folder.name`. An unqualified name is looked up in `default_folder`, then in the main folder.
    ///
    /// # Errors
    /// [`Kind::NotFound`] for a name that the workspace does not have.
    pub fn resolve<'a>(
        &'a self,
        parts: &[&'a str],
        default_folder: Option<&'a str>,
    ) -> Result<(&'a str, ResolvedName<'a>)> {
        let (folders, name) = match *parts {
            [name] => ([default_folder, Some(MAIN)], name),
            [folder, name] => ([Some(folder), None], name),
            [catalog, folder, name] if catalog.eq_ignore_ascii_case(&self.name) => ([Some(folder), None], name),
            [catalog, ..] => {
                let error = Error::not_found(format!("query: {catalog} is not part of the workspace {}", self.name));
                return Err(error.hint(format!("write table, folder.table or {}.folder.table", self.name)));
            }
            [] => return Err(Error::internal("bug: a name has no parts")),
        };
        let mut folders = folders.into_iter().flatten();
        let first = folders.clone().next().unwrap_or(MAIN);
        let found = folders.find_map(|folder| Some((folder, self.find(folder, name)?)));
        found.ok_or_else(|| self.unknown(first, name))
    }

    /// Returns true if something is in `folder`.
    pub fn has_folder(&self, folder: &str) -> bool {
        let is_it = |place: &str| place.eq_ignore_ascii_case(folder);
        self.assets.iter().any(|asset| asset.place().is_some_and(|(place, _)| is_it(place)))
            || self.views.iter().any(|view| is_it(view.folder()))
    }

    /// Returns where a name may be that only a pattern of another folder matches.
    fn in_pattern(&self, folder: &str, name: &str) -> Option<String> {
        let patterns =
            || self.assets.iter().filter_map(|asset| Some((asset, asset.place()?.0))).filter(|(it, _)| it.is_pattern());
        let folders: Vec<&str> = patterns().map(|(_, place)| place).collect();
        let is_misspelt = !self.has_folder(folder);
        let near = if is_misspelt { near::nearest(folder, folders.iter().copied()) } else { Vec::new() };
        let (_, place) = patterns().find(|(asset, place)| {
            let is_meant = if is_misspelt && folder != MAIN { near.contains(place) } else { *place != folder };
            is_meant && asset.is(asset.schema(), name)
        })?;
        Some(format!("it would be {} if {place} has it", shown(place, name)))
    }

    /// Returns the error for an unknown name; it mentions only names of the workspace.
    pub fn unknown(&self, folder: &str, name: &str) -> Error {
        let assets =
            self.assets.iter().filter_map(|asset| asset.place().and_then(|(folder, name)| Some((folder, name?))));
        let views = self.views.iter().map(|view| (view.folder(), view.name.as_ref()));
        let wanted = shown(folder, name);
        // The wanted name itself must not be suggested: it could not be used.
        let names = assets.chain(views).map(|(folder, name)| shown(folder, name));
        let names: Vec<String> = names.filter(|known| !known.eq_ignore_ascii_case(&wanted)).collect();
        let error = Error::not_found(format!("query: there is no table {wanted} in the workspace {}", self.name))
            .sqlstate("42P01");
        let elsewhere = names.iter().find(|known| known.rsplit('.').next() == Some(name)).cloned();
        let near = elsewhere.map(|known| format!("did you mean {known}?"));
        let near = near.or_else(|| near::suggestion(&wanted, names.iter().map(String::as_str)));
        let hints: Vec<String> = [near, self.in_pattern(folder, name)].into_iter().flatten().collect();
        match Some(hints.join(" ")).filter(|hint| !hint.is_empty()) {
            Some(hint) => error.hint(hint),
            None => error.hint("get_tables lists what there is"),
        }
    }
}

/// SQLSTATEs whose messages contain no names of the source: division by zero, numeric and datetime values out of
/// range.
const NAMELESS: [&str; 3] = ["22012", "22003", "22008"];

/// Removes the source's text from an error, for a reader who reaches the source only through a workspace: the text
/// may contain names that the workspace hides or renames.
#[must_use]
pub fn without_names(error: Error) -> Error {
    let state = error.get_sqlstate().map(str::to_owned);
    let is_nameless = state.as_deref().is_some_and(|state| NAMELESS.contains(&state));
    let is_of_source = match error.kind {
        Kind::Rejected | Kind::Conflict | Kind::NotFound | Kind::Invalid => true,
        // Without an SQLSTATE it is a refusal of our own.
        Kind::Forbidden => state.is_some(),
        _ => false,
    };
    if !is_of_source || is_nameless {
        return error;
    }
    let words =
        format!("{}{}", error.message, error.get_detail().map(|detail| format!(" ({detail})")).unwrap_or_default());
    let mut told = Error::new(error.kind, "the source refused the statement; its message is withheld").because(words);
    if let Some(state) = state {
        told = told.sqlstate(state);
    }
    told.hint("ask someone with access to the connection itself: they are shown the source's message")
}

impl Asset {
    /// Returns the connection that has it.
    pub fn connection(&self) -> &str {
        match self {
            Self::Table { connection, .. } | Self::Procedure { connection, .. } => connection,
        }
    }

    /// Returns its schema there.
    pub fn schema(&self) -> &str {
        match self {
            Self::Table { schema, .. } | Self::Procedure { schema, .. } => schema,
        }
    }

    /// Returns its folder and its name in the workspace; a pattern has only a folder, a procedure neither.
    pub fn place(&self) -> Option<(&str, Option<&str>)> {
        let Self::Table { table, alias, folder, .. } = self else { return None };
        let folder = folder.as_deref().unwrap_or(MAIN);
        let name = alias.as_deref().unwrap_or(table);
        Some((folder, (!self.is_pattern()).then_some(name)))
    }

    /// Returns true if it is, or its pattern matches, the object with this name at the connection.
    pub fn is(&self, in_schema: &str, named: &str) -> bool {
        let (Self::Table { schema, table: name, .. } | Self::Procedure { schema, name, .. }) = self;
        if self.is_pattern() {
            return speaks_of(schema, in_schema) && speaks_of(name, named);
        }
        schema.as_ref() == in_schema && name.as_ref() == named
    }

    /// Returns true if it is a pattern.
    pub fn is_pattern(&self) -> bool {
        matches!(self, Self::Table { schema, table, .. } if schema.contains('%') || table.contains('%'))
    }
}

impl View {
    /// Returns its folder.
    pub fn folder(&self) -> &str {
        self.folder.as_deref().unwrap_or(MAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_what_it_names_and_a_pattern_all_that_match() {
        let table = |schema: &str, table: &str| Asset::Table {
            connection: "sales".into(),
            schema: schema.into(),
            table: table.into(),
            alias: None,
            folder: None,
        };
        let known = [("public", "orders"), ("public", "order_lines"), ("Public", "orders"), ("archive", "orders")];
        let found = |asset: &Asset| known.iter().filter(|(schema, name)| asset.is(schema, name)).count();
        let counts = [("public", "orders"), ("public", "order%"), ("%", "orders"), ("public", "order_"), ("%", "%")];
        assert_eq!(counts.map(|(schema, name)| found(&table(schema, name))), [1, 3, 3, 0, 4]);
        assert_eq!(table("public", "orders").place(), Some((MAIN, Some("orders"))));
        assert_eq!(table("public", "order%").place(), Some((MAIN, None)));
    }
}

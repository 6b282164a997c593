//! The catalogues that the names of a statement are looked up in: connections, their schemas and their tables, or the
//! folders of a workspace, its tables and its views.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::config::CatalogOptions;
use datafusion::common::{Result as EngineResult, TableReference};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as Parsed;
use datafusion::sql::planner::object_name_to_table_reference;
use futures_util::future::try_join_all;

use super::main_folder;
use super::table::{self, Table, TableLocation};
use crate::connections::Connections;
use crate::external_error::external;
use crate::failure::{engine_error, of_connection};
use crate::plan::columns::origin::Origins;
use crate::plan::text::keys::{self, KeyedTable};
use crate::plan::text::parse;
use crate::statement::Deadline;
use portico_core::error::{Error, Kind, Result};
use portico_core::mutex::lock;
use portico_core::near;
use portico_core::reply::Column;
use portico_core::workspace::{self, MAIN, View, Workspace};

/// The tables that a statement names, each looked up once.
#[derive(Debug)]
pub(crate) struct Tables {
    connections: Arc<dyn Connections>,
    workspace: Option<Arc<Workspace>>,
    origins: Origins,
    deadline: Deadline,
    /// The state that the statement is planned with, which refers to these tables.
    state: OnceLock<Weak<SessionState>>,
    known: Mutex<HashMap<Name, Arc<Table>>>,
}

/// A name in full: catalogue, schema and table.
pub(crate) type Name = (String, String, String);

/// What a name resolves to.
enum ResolvedRelation<'a> {
    /// A table of the connection at this place, by its schema and name there.
    Table(usize, &'a str, &'a str),
    /// A view of the workspace.
    View(&'a View),
}

impl Tables {
    pub(crate) fn new(
        connections: Arc<dyn Connections>,
        workspace: Option<Arc<Workspace>>,
        origins: Origins,
        deadline: Deadline,
    ) -> Arc<Self> {
        let (state, known) = (OnceLock::new(), Mutex::default());
        Arc::new(Self { connections, workspace, origins, deadline, state, known })
    }

    /// Sets the state that the statement is planned with: its views use it too.
    pub(crate) fn plan_with(&self, state: &Arc<SessionState>) {
        let _ = self.state.set(Arc::downgrade(state));
    }

    /// Returns the state for planning views: their names are qualified unless they are in the main folder.
    fn state_of_views(&self) -> Result<SessionState> {
        let state = self.state.get().and_then(Weak::upgrade);
        let state = state.ok_or_else(|| Error::internal("bug: a view is planned outside of a statement"))?;
        let mut state = SessionState::clone(&state);
        MAIN.clone_into(&mut state.config_mut().options_mut().catalog.default_schema);
        Ok(state)
    }

    /// Qualifies names with the main folder that the statement's default folder does not contain.
    pub(crate) fn say_main_folder(&self, parsed: &mut Parsed, state: &SessionState) {
        let folder = &state.config_options().catalog.default_schema;
        if let (Some(workspace), Parsed::Statement(statement)) = (&self.workspace, parsed)
            && !folder.eq_ignore_ascii_case(MAIN)
        {
            main_folder::qualify(statement, workspace, folder);
        }
    }

    /// Looks up all of the tables, including those of views, concurrently by connection.
    ///
    /// # Errors
    /// The error of the first table that cannot be looked up.
    pub(crate) async fn ask(&self, names: Vec<Name>) -> Result<()> {
        let (mut names, mut all) = (VecDeque::from(names), BTreeSet::new());
        while let Some(name) = names.pop_front() {
            if all.contains(&name) {
                continue;
            }
            // An error in a view is reported when it is planned.
            if let ResolvedRelation::View(view) = self.find(&name)?
                && let Ok(query) = parse::query(&view.query, &[])
            {
                names.extend(named(&query.parsed, &self.state_of_views()?)?);
            }
            all.insert(name);
        }
        let located = try_join_all(all.into_iter().map(|name| self.located(name))).await?;
        let mut of_connections: BTreeMap<usize, Vec<Located>> = BTreeMap::new();
        for located in located.into_iter().flatten() {
            of_connections.entry(located.connection).or_default().push(located);
        }
        try_join_all(of_connections.into_values().map(|located| self.describe(located))).await.map(drop)
    }

    /// Returns the number of columns of the widest table that was looked up.
    pub(crate) fn widest(&self) -> usize {
        let known = lock(&self.known);
        known.values().map(|table| table.schema().fields().len()).max().unwrap_or_default()
    }

    /// Applies the keys of the tables that were looked up to the statement.
    pub(crate) fn say_determined(&self, parsed: &mut Parsed, state: &SessionState) {
        let Parsed::Statement(statement) = parsed else { return };
        let catalog = &state.config_options().catalog;
        keys::say_determined(statement, &|name| {
            let name = in_full(object_name_to_table_reference(name.clone(), true).ok()?, catalog);
            let known = lock(&self.known);
            let table = known.get(&name)?;
            let columns = table.columns.iter().map(|column| column.name.clone()).collect();
            Some(KeyedTable { columns, key: table.key.clone() })
        });
    }

    /// Resolves a name of the statement: in a workspace only to what it contains.
    fn find<'a>(&'a self, (catalog, schema, name): &'a Name) -> Result<ResolvedRelation<'a>> {
        let Some(workspace) = &self.workspace else {
            let connection = self.connection(catalog).ok_or_else(|| self.unknown(catalog))?;
            return Ok(ResolvedRelation::Table(connection, schema, name));
        };
        match workspace.resolve(&[catalog, schema, name], None)?.1 {
            workspace::ResolvedName::View(view) => Ok(ResolvedRelation::View(view)),
            workspace::ResolvedName::Table { connection, schema, table, .. } => {
                let place = self.connection(connection);
                let place =
                    place.ok_or_else(|| Error::internal("bug: a workspace names a connection that does not exist"))?;
                Ok(ResolvedRelation::Table(place, schema, table))
            }
        }
    }

    fn connection(&self, name: &str) -> Option<usize> {
        let members = self.connections.members();
        let exact = members.iter().position(|member| *member.name == *name);
        exact.or_else(|| members.iter().position(|member| member.name.eq_ignore_ascii_case(name)))
    }

    fn unknown(&self, name: &str) -> Error {
        let names: Vec<&str> = self.connections.members().iter().map(|member| member.name.as_ref()).collect();
        Error::not_found(format!("query: there is no connection {name:?} for this caller"))
            .hint(near::suggestion_or_list(name, "write connection.schema.table; connections: ", &names))
    }

    async fn provider(&self, name: Name) -> Result<Arc<dyn TableProvider>> {
        if let ResolvedRelation::View(view) = self.find(&name)? {
            return self.view(view).await;
        }
        Ok(self.table(name).await?)
    }

    async fn view(&self, view: &View) -> Result<Arc<dyn TableProvider>> {
        let state = self.state_of_views()?;
        let of_view = |mut error: Error| {
            error.message = format!("view {}: {}", view.name, error.message);
            error
        };
        let mut query = parse::query(&view.query, &[]).map_err(of_view)?;
        self.say_determined(&mut query.parsed, &state);
        let plan = state.statement_to_plan(query.parsed).await;
        let plan = plan.and_then(|plan| query.written.checked(plan));
        let plan = plan.map_err(|error| of_view(engine_error(error)))?;
        Ok(Arc::new(ViewTable::new(plan, Some(view.query.to_string()))))
    }

    async fn table(&self, name: Name) -> Result<Arc<Table>> {
        let known = |name: &Name| lock(&self.known).get(name).cloned();
        if let Some(table) = known(&name) {
            return Ok(table);
        }
        let located = self
            .located(name.clone())
            .await?
            .ok_or_else(|| Error::internal("bug: a view was resolved where a table was expected"))?;
        self.describe(vec![located]).await?;
        known(&name).ok_or_else(|| Error::internal("bug: a table is missing after it was described"))
    }

    /// Returns the location of the table of this name; `None` for a view, which is planned later.
    async fn located(&self, name: Name) -> Result<Option<Located>> {
        let ResolvedRelation::Table(connection, schema, table) = self.find(&name)? else { return Ok(None) };
        // A workspace may have a pattern of schemas; without one `%` is a part of the name.
        let schema = match &self.workspace {
            Some(workspace) if schema.contains('%') => {
                let source = TableLocation { connection, schema, table };
                let found = table::schema_of(self.connections.as_ref(), source, self.deadline.limits()?);
                found.await?.ok_or_else(|| workspace.unknown(&name.1, &name.2))?
            }
            _ => schema.to_owned(),
        };
        let table = table.to_owned();
        Ok(Some(Located { name, connection, schema, table }))
    }

    /// Stores the descriptions of these tables of one connection.
    async fn describe(&self, tables: Vec<Located>) -> Result<()> {
        let sources: Vec<TableLocation<'_>> = tables.iter().map(Located::source).collect();
        match table::columns(self.connections.as_ref(), &sources, self.deadline.limits()?).await {
            Ok(columns) => {
                let described = tables.iter().zip(columns).map(|(located, columns)| self.add(located, columns));
                try_join_all(described).await.map(drop)
            }
            // Each is looked up alone to find out which of them is missing.
            Err(_) if tables.len() > 1 => {
                let alone = tables.into_iter().map(|located| Box::pin(self.describe(vec![located])));
                try_join_all(alone).await.map(drop)
            }
            Err(error) => Err(match tables.first() {
                Some(located) => self.of_table(located, error),
                None => error,
            }),
        }
    }

    /// Adds a table with these columns.
    async fn add(&self, located: &Located, columns: Arc<[Column]>) -> Result<()> {
        let shown = self.workspace.as_ref().map(|_| &located.name);
        let (connections, limits) = (self.connections.as_ref(), self.deadline.limits()?);
        let table = Table::new(connections, located.source(), columns, shown, &self.origins, limits).await;
        let table = Arc::new(table.map_err(|error| self.of_table(located, error))?);
        lock(&self.known).insert(located.name.clone(), table);
        Ok(())
    }

    /// Returns a source's error about a table, with the caller's names.
    fn of_table(&self, located: &Located, error: Error) -> Error {
        let member = self.connections.members().get(located.connection).map_or("", |member| member.name.as_ref());
        match &self.workspace {
            // It mentions only its own names.
            Some(workspace) if error.kind == Kind::NotFound => workspace.unknown(&located.name.1, &located.name.2),
            _ => of_connection(member, error),
        }
    }
}

/// A table of the statement, and where it is.
struct Located {
    name: Name,
    connection: usize,
    schema: String,
    table: String,
}

impl Located {
    fn source(&self) -> TableLocation<'_> {
        TableLocation { connection: self.connection, schema: &self.schema, table: &self.table }
    }
}

/// Completes the name with the defaults.
fn in_full(reference: TableReference, defaults: &CatalogOptions) -> Name {
    let name = reference.resolve(&defaults.default_catalog, &defaults.default_schema);
    (name.catalog.to_string(), name.schema.to_string(), name.table.to_string())
}

/// Catalogue, schema and name of each table that the statement names.
///
/// # Errors
/// Says which one is named without its connection or its schema.
pub(crate) fn named(parsed: &Parsed, state: &SessionState) -> Result<Vec<Name>> {
    let options = &state.config_options().catalog;
    let references = state.resolve_table_references(parsed).map_err(engine_error)?;
    let named = references.into_iter().map(|reference| {
        let (catalog, schema, table) = in_full(reference, options);
        if catalog.is_empty() || schema.is_empty() {
            let said = if catalog.is_empty() { "its connection" } else { "its schema" };
            return Err(Error::invalid(format!("query: table {table} is named without {said}"))
                .hint("write connection.schema.table, or give defaultCatalog and defaultSchema"));
        }
        Ok((catalog, schema, table))
    });
    named.collect()
}

/// The tables as the engine's list of catalogues.
#[derive(Debug)]
pub(crate) struct Catalogs(pub(crate) Arc<Tables>);

impl CatalogProviderList for Catalogs {
    fn register_catalog(&self, _: String, _: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        Some(Arc::new(Catalog { tables: Arc::clone(&self.0), name: name.to_owned() }))
    }
}

#[derive(Debug)]
struct Catalog {
    tables: Arc<Tables>,
    name: String,
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let (tables, catalog) = (Arc::clone(&self.tables), self.name.clone());
        Some(Arc::new(Schema { tables, catalog, name: name.to_owned() }))
    }
}

#[derive(Debug)]
struct Schema {
    tables: Arc<Tables>,
    catalog: String,
    name: String,
}

#[async_trait]
impl SchemaProvider for Schema {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> EngineResult<Option<Arc<dyn TableProvider>>> {
        let name = (self.catalog.clone(), self.name.clone(), name.to_owned());
        self.tables.provider(name).await.map(Some).map_err(external)
    }

    fn table_exist(&self, _: &str) -> bool {
        true
    }
}

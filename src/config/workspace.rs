//! `[[workspaces]]`: tables of any number of connections under names of their own, and views over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portico_actors::near;
use portico_actors::pattern;
use portico_actors::sql::{self, Class, Dialect, Naming, is_plain_name};
use portico_actors::workspace::{self, Asset, MAIN, Relation, View, Workspace};

use crate::config::connections::connection::Connection;
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Switch};
use crate::config::declared::setting::{SWITCH, Setting, TEXT, number, tables};
use crate::config::declared::table::{Table, settings};

settings! {
    /// Virtual schemas: tables of any number of connections under names of their own, and views over them. Who is
    /// given a workspace (`--workspace NAME`), or reaches every connection underneath, asks it by its name; each table
    /// is read with the caller's own rights. Its folders are its schemas; what lies in none is in main.
    /// Names are in small letters and no words of SQL. A workspace has no name that a connection has.
    pub(super) struct WorkspaceSettings {
        /// Its name: ?workspace=NAME, and the last part of its MCP address.
        name: Arc<str> = plain(TEXT).example("\"revenue\"").required("add the name that it is asked by"),
        /// What it is for.
        description: Option<Arc<str>> = TEXT.example("\"Orders with their customers' regions\""),
        /// Rows of a tool's result at most, as far as a call asks for them by `maxRows`. The SQL API streams without a cap.
        max_rows: u64 = number(1..=1_000_000).or(Number(1000)),
        /// Bytes of a tool's result at most. The SQL API streams without a cap.
        max_bytes: usize = number(1024..=1 << 30).or(Number(1024 * 1024)),
        /// Rows of a tool's result where the call does not say `maxRows`: what an agent reads with all that follows.
        tool_rows: u64 = number(1..=1_000_000).or(Number(200)),
        /// Bytes of a tool's result where the call does not ask for more than `tool_rows`; about four are a token.
        tool_bytes: usize = number(1024..=1 << 30).or(Number(24_000)),
        /// Tools made from its procedures that `tools/list` tells of, the first by name; 0 is all.
        max_source_tools: usize = number(0..=1_000_000).or(Number(20)),
        /// What agents should know, in your own words; `get_instructions` shows it.
        instructions: Option<Arc<str>> = TEXT.example("\"Turnover is without tax.\""),
        /// Tokens of `get_instructions` at most, counted as four bytes each; your own words come on top.
        instructions_tokens: usize = number(500..=100_000).or(Number(2000)),
        /// Whether `get_instructions` tells the rows of small lookup tables, on the terms of a connection's.
        lookup_rows: bool = SWITCH.or(Switch(true)),
    }
    tables {
        assets = tables::<AssetSettings>(),
        views = tables::<ViewSettings>(),
        relations = tables::<RelationSettings>(),
    }
}

settings! {
    /// What a workspace has of its connections: a table or a procedure each.
    struct AssetSettings {
        /// A table or view as connection.schema.table, spelt as it is there. % stands for anything in schema and table
        /// (_ is itself): all that match are in the workspace, under their own names.
        table: Option<String> = TEXT.example("\"sales.public.orders\""),
        /// Instead of that a procedure as connection.schema.name.
        procedure: Option<String> = TEXT.example("\"sales.public.close_month\""),
        /// The name that the table has here, if it is another one.
        alias: Option<Arc<str>> = plain(TEXT).example("\"invoices\""),
        /// The folder that the table lies in.
        folder: Option<Arc<str>> = plain(TEXT).example("\"people\""),
    }
}

settings! {
    /// Views of a workspace: each is one SELECT over its tables and other views. They only read.
    struct ViewSettings {
        /// Its name.
        name: Arc<str> = plain(TEXT).example("\"by_region\"").required("add the view's name"),
        /// The folder that it lies in.
        folder: Option<Arc<str>> = plain(TEXT).example("\"reports\""),
        /// What it shows, for agents and people.
        description: Option<Arc<str>> = TEXT.example("\"Turnover by region\""),
        /// The SELECT. Names without a folder are those of main.
        query: Arc<str> = TEXT.required("add the SELECT")
            .example("\"SELECT region, sum(amount) AS turnover FROM orders GROUP BY region\""),
    }
}

settings! {
    /// Columns that belong together, for agents; keys of the sources are known without.
    struct RelationSettings {
        /// The column that refers: table.column, or folder.table.column.
        from: Arc<str> = TEXT.example("\"orders.customer_id\"").required("write table.column"),
        /// The column that it refers to.
        to: Arc<str> = TEXT.example("\"people.customers.id\"").required("write table.column"),
    }
}

const fn plain(setting: Setting) -> Setting {
    setting.checked(
        is_plain_name,
        "{} cannot stand in every statement without quotes",
        "use small letters, digits and _, begin with a letter, and use no keyword of SQL",
    )
}

/// Reads every workspace of the file.
pub(super) fn read_all(root: &Section<'_>, connections: &[Arc<Connection>]) -> Vec<Arc<Workspace>> {
    let mut workspaces: Vec<Arc<Workspace>> = Vec::new();
    for section in root.tables("workspaces") {
        let workspace = read(&section, connections);
        if connections.iter().any(|connection| connection.name.eq_ignore_ascii_case(&workspace.name)) {
            section.problem("name", "a connection has this name", "give it another name");
        }
        if workspaces.iter().any(|other| other.name == workspace.name) {
            section.taken("workspace", &workspace.name);
        }
        workspaces.push(Arc::new(workspace));
    }
    workspaces
}

fn read(section: &Section<'_>, connections: &[Arc<Connection>]) -> Workspace {
    let settings = WorkspaceSettings::read(section);
    // The names in each folder; in any case, as sources compare them.
    let mut taken = Taken::default();
    let mut assets = Vec::new();
    let sections = section.tables("assets");
    if sections.is_empty() && !section.is_blamed(&["assets"]) {
        section.problem("assets", "there is nothing in it", "add a table as connection.schema.table");
    }
    for section in sections {
        let Some(asset) = asset(&section, connections) else { continue };
        let key = if matches!(asset, Asset::Procedure { .. }) { "procedure" } else { "table" };
        match asset.place() {
            None if assets.contains(&asset) => section.problem(key, "another asset is the same", "remove one of them"),
            Some((folder, Some(name))) => taken.take(&section, key, folder, name, "give it an alias or a folder"),
            Some((folder, None)) if assets.iter().any(|other| is_ambiguous(&asset, other)) => {
                let message = format!("{folder} has another pattern, and a table's name may match both");
                section.problem(key, message, "give each pattern a folder of its own, or name the tables one by one");
            }
            _ => {}
        }
        assets.push(asset);
    }
    let mut workspace = Workspace {
        name: settings.name,
        description: settings.description,
        instructions: settings.instructions,
        instructions_tokens: settings.instructions_tokens,
        lookup_rows: settings.lookup_rows,
        max_rows: settings.max_rows,
        max_bytes: settings.max_bytes,
        tool_rows: settings.tool_rows,
        max_source_tools: settings.max_source_tools,
        tool_bytes: settings.tool_bytes,
        assets,
        views: Vec::new(),
        relations: Vec::new(),
    };
    workspace.views = views(section, &workspace, connections, &mut taken);
    workspace.relations = relations(section, &workspace);
    workspace
}

/// Whether both are patterns in one folder that match different tables of one name.
fn is_ambiguous(one: &Asset, other: &Asset) -> bool {
    let (Some((folder, None)), Some((other_folder, None))) = (one.place(), other.place()) else { return false };
    let (Asset::Table { table, .. }, Asset::Table { table: other_table, .. }) = (one, other) else { return false };
    // Of one schema both mean the same table.
    let is_one_schema = one.connection() == other.connection() && one.schema() == other.schema();
    let folded = |table: &Arc<str>| table.to_lowercase();
    let (one, other) = (folded(table), folded(other_table));
    let ends = |table: &str| {
        let (start, _) = table.split_once('%').unwrap_or((table, ""));
        let (_, end) = table.rsplit_once('%').unwrap_or(("", table));
        (start.to_owned(), end.to_owned())
    };
    let ((start, end), (other_start, other_end)) = (ends(&one), ends(&other));
    folder.eq_ignore_ascii_case(other_folder)
        && !is_one_schema
        && (start.starts_with(&other_start) || other_start.starts_with(&start))
        && (end.ends_with(&other_end) || other_end.ends_with(&end))
}

#[derive(Default)]
struct Taken(BTreeSet<(String, String)>);

impl Taken {
    fn take(&mut self, section: &Section<'_>, key: &str, folder: &str, name: &str, remedy: &str) {
        if !self.0.insert((folder.to_owned(), name.to_lowercase())) {
            section.problem(key, format!("{folder} has another {name:?}"), remedy);
        }
    }
}

/// Reads one asset; `None` if its kind is unclear.
fn asset(section: &Section<'_>, connections: &[Arc<Connection>]) -> Option<Asset> {
    let AssetSettings { table, procedure, alias, folder } = AssetSettings::read(section);
    let (key, text) = match (&table, &procedure) {
        (Some(table), None) => ("table", table),
        (None, Some(procedure)) => ("procedure", procedure),
        (Some(_), Some(_)) => {
            section.problem("procedure", "there is a table too", "write one table for each of them");
            return None;
        }
        (None, None) => {
            section.problem(
                "table",
                "neither table nor procedure is given",
                "add table or procedure, as connection.schema.name",
            );
            return None;
        }
    };
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let (connection, schema, name) = match parts.as_slice() {
        [connection, schema, name] if parts.iter().all(|part| !part.is_empty()) => (*connection, *schema, *name),
        _ => {
            section.problem(key, format!("{text:?} does not have three parts"), "write connection.schema.name");
            return None;
        }
    };
    let Some(known) = connections.iter().find(|known| known.name.eq_ignore_ascii_case(connection)) else {
        let names: Vec<&str> = connections.iter().map(|known| known.name.as_ref()).collect();
        let remedy = near::suggestion_or_list(connection, "connections: ", &names);
        section.problem(key, format!("there is no connection {connection:?}"), &remedy);
        return None;
    };
    let (connection, schema, name) = (Arc::clone(&known.name), Arc::from(schema), Arc::from(name));
    if key == "procedure" {
        for key in ["alias", "folder"].into_iter().filter(|key| section.has(key)) {
            section.problem(key, "a procedure is called by the names that it has at its source", "remove this key");
        }
        if text.contains('%') {
            section.problem(key, "procedures are named one by one", "write connection.schema.name");
        }
        return Some(Asset::Procedure { connection, schema, name });
    }
    let asset = Asset::Table { connection, schema, table: name, alias, folder };
    if asset.is_pattern() && section.has("alias") {
        section.problem("alias", "what a pattern matches keeps its name", "remove this key, or name one table");
    }
    Some(asset)
}

fn views(
    section: &Section<'_>,
    workspace: &Workspace,
    connections: &[Arc<Connection>],
    taken: &mut Taken,
) -> Vec<View> {
    // The only connection's own SQL, or the engine's.
    let underneath = workspace.connections();
    let mut drivers = connections.iter().filter(|known| underneath.contains(known.name.as_ref()));
    let dialect = match (drivers.next(), drivers.next()) {
        (Some(only), None) => only.location.driver().dialect,
        _ => Dialect::POSTGRESQL,
    };
    let others: Vec<&str> = connections.iter().map(|known| known.name.as_ref()).collect();
    let naming = Naming { connection: &workspace.name, others: &others };
    let (mut views, mut names) = (Vec::new(), Vec::new());
    let sections = section.tables("views");
    for section in &sections {
        let ViewSettings { name, folder, description, query } = ViewSettings::read(section);
        let view = View { name, folder, description, query };
        taken.take(section, "name", view.folder(), &view.name, "give it another name or folder");
        names.push(named(section, &view.query, dialect, naming));
        views.push(view);
    }
    let places: BTreeMap<(&str, &str), usize> =
        views.iter().enumerate().map(|(at, view)| ((view.folder(), view.name.as_ref()), at)).collect();
    let reads: Vec<BTreeSet<usize>> = names
        .iter()
        .map(|names| {
            let place = |(folder, name): &(String, String)| places.get(&(folder.as_str(), name.as_str())).copied();
            names.iter().filter_map(place).collect()
        })
        .collect();
    for (at, section) in sections.iter().enumerate() {
        if let Some(circle) = circle(at, &reads) {
            let through: Vec<&str> = circle.iter().filter_map(|at| Some(views.get(*at)?.name.as_ref())).collect();
            let message = format!("it reads itself: {}", through.join(" -> "));
            let remedy = "take one of these views out of another one's query; what WITH names needs a name of its own";
            section.problem("query", message, remedy);
        }
    }
    views
}

/// Returns the folders and names that a view's query reads, including names of WITH: if one is also the name of a
/// view, only its position in the query tells which is meant.
fn named(section: &Section<'_>, query: &str, dialect: Dialect, naming: Naming<'_>) -> Vec<(String, String)> {
    let statements = match sql::statements(query, dialect, naming) {
        Ok(statements) => statements,
        Err(error) => {
            section.error("query", error, "write one SELECT over the workspace's tables");
            return Vec::new();
        }
    };
    let is_query = |statement: &sql::Statement| {
        statement.understood
            && statement.class == Class::Select
            && ["SELECT", "WITH", "VALUES", "TABLE", "("].contains(&statement.verb.as_str())
    };
    match statements.as_slice() {
        [statement] if is_query(statement) => {
            if let Some(placeholder) = statement.placeholders.first() {
                let message = format!("@{placeholder} has no value in a view");
                section.problem("query", message, "write the value itself");
            }
            let names = statement.names.iter().filter(|named| !named.called);
            let places = names.filter_map(|named| match named.parts.as_slice() {
                [name] => Some((MAIN.to_owned(), name.clone())),
                [folder, name] => Some((folder.clone(), name.clone())),
                _ => None,
            });
            places.collect()
        }
        _ => {
            section.problem("query", "this is not one SELECT", "write one SELECT over the workspace's tables");
            Vec::new()
        }
    }
}

/// Returns the shortest cycle from a view back to itself, by the indexes of views and of those that each of them
/// reads.
fn circle(start: usize, reads: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
    let mut ways = std::collections::VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|at| reads.get(*at)).into_iter().flatten() {
            let longer = || way.iter().copied().chain([*next]).collect();
            if *next == start {
                return Some(longer());
            }
            if seen.insert(*next) {
                ways.push_back(longer());
            }
        }
    }
    None
}

fn relations(section: &Section<'_>, workspace: &Workspace) -> Vec<Relation> {
    let mut relations = Vec::new();
    for section in section.tables("relations") {
        let RelationSettings { from, to } = RelationSettings::read(&section);
        for (key, column) in [("from", &from), ("to", &to)] {
            let Some((folder, name, _)) = workspace::column(column) else {
                let remedy = "write table.column or folder.table.column";
                section.problem(key, format!("{column:?} names no column"), remedy);
                continue;
            };
            if !has(workspace, folder, name) {
                let places = workspace.assets.iter().filter_map(|asset| asset.place()?.1);
                let known: Vec<&str> = places.chain(workspace.views.iter().map(|view| view.name.as_ref())).collect();
                let remedy = near::suggestion_or_list(name, "known here: ", &known);
                section.problem(key, format!("the workspace has no {folder}.{name}"), &remedy);
            }
        }
        relations.push(Relation { from, to });
    }
    relations
}

/// Whether the workspace has a table or view of that name, or a pattern that may match one.
fn has(workspace: &Workspace, folder: &str, name: &str) -> bool {
    let is_it = |asset: &Asset| match (asset, asset.place()) {
        (_, Some((place, Some(own)))) => place == folder && own.eq_ignore_ascii_case(name),
        (Asset::Table { table, .. }, Some((place, None))) => place == folder && pattern::speaks_of(table, name),
        _ => false,
    };
    workspace.assets.iter().any(is_it)
        || workspace.views.iter().any(|view| view.folder() == folder && view.name.eq_ignore_ascii_case(name))
}

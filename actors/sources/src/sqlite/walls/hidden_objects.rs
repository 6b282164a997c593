//! What of a file's schema is hidden from callers, by the engine's own names. When it is checked is up to
//! `authorizer` and `visible_schema`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::Exposure;
use crate::sqlite::failure::unavailable_here;
use crate::sqlite::schema::{SCHEMA, lossy};
use portico_core::error::{Error, Kind as ErrorKind};
use portico_sql::{Dialect, Kind, tokens};

/// In front of a table's name.
const SCHEMA_DOT: &str = "main.";

/// The kind of a row of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Table,
    Virtual,
    View,
    Index,
    Trigger,
}

/// One row of the schema.
pub(crate) struct Object {
    pub(crate) what: ObjectKind,
    pub(crate) name: String,
    /// The table or view that it belongs to; for a table or view its own name.
    pub(crate) table: String,
    /// The statement that created it; empty for objects that the engine created.
    pub(crate) sql: String,
}

/// Reads the schema, without the engine's own tables.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut statement =
        connection.prepare_cached("SELECT type, name, tbl_name, coalesce(sql, '') FROM main.sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        let (kind, sql) = (lossy(row, 0)?, lossy(row, 3)?);
        let what = match kind.as_str() {
            "view" => ObjectKind::View,
            "index" => ObjectKind::Index,
            "trigger" => ObjectKind::Trigger,
            _ if module(&sql).is_some() => ObjectKind::Virtual,
            _ => ObjectKind::Table,
        };
        Ok(Object { what, name: lossy(row, 1)?, table: lossy(row, 2)?, sql })
    })?;
    rows.filter(|row| row.as_ref().is_ok_and(|object| !is_engine(&object.name)) || row.is_err()).collect()
}

/// Whether `name` is one that the engine keeps for itself.
pub(crate) fn is_engine(name: &str) -> bool {
    name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}

/// The module of a virtual table that `sql` made.
fn module(sql: &str) -> Option<String> {
    let mut words = tokens(sql, Dialect::SQLITE).into_iter().filter(|token| token.kind != Kind::Blank);
    if !(words.next()?.is_word(sql, "CREATE") && words.next()?.is_word(sql, "VIRTUAL")) {
        return None;
    }
    words.find(|token| token.is_word(sql, "USING"))?;
    words.next()?.name(sql).map(Cow::into_owned)
}

/// Returns the suffixes of the tables that a module keeps its content in. `None`: the module is not known.
fn shadows(module: &str) -> Option<&'static [&'static str]> {
    match module.to_ascii_lowercase().as_str() {
        "fts3" | "fts4" => Some(&["content", "segments", "segdir", "docsize", "stat"]),
        "fts5" => Some(&["data", "idx", "content", "docsize", "config"]),
        "rtree" | "rtree_i32" | "geopoly" => Some(&["node", "rowid", "parent"]),
        _ => None,
    }
}

/// The virtual table that each table behind one belongs to, by names in small letters.
pub(crate) fn owners<'a>(tables: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> HashMap<String, String> {
    let virtuals: Vec<(String, String)> =
        tables.clone().filter_map(|(name, sql)| Some((name.to_ascii_lowercase(), module(sql)?))).collect();
    let mut owners = HashMap::new();
    for (name, _) in tables {
        let name = name.to_ascii_lowercase();
        let behind = virtuals.iter().filter(|(owner, module)| {
            let suffix = name.strip_prefix(owner.as_str()).and_then(|rest| rest.strip_prefix('_'));
            suffix.is_some_and(|suffix| shadows(module).is_none_or(|known| known.contains(&suffix)))
        });
        if let Some((owner, _)) = behind.max_by_key(|(owner, _)| owner.len()) {
            owners.insert(name, owner.clone());
        }
    }
    owners
}

/// Names, in small letters.
#[derive(Debug, Default)]
pub(crate) struct FoldedNames(HashSet<String>);

impl FoldedNames {
    /// Whether this name is among them, however it is written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(&name.to_ascii_lowercase())
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The names of one state of a schema.
#[derive(Debug, Default)]
pub(crate) struct HiddenObjects {
    /// Tables and views that exist for callers.
    pub(crate) shown: FoldedNames,
    /// Tables and views that are hidden.
    pub(crate) hidden: FoldedNames,
    /// Indexes and triggers of hidden tables.
    pub(crate) belongings: FoldedNames,
    /// Views and triggers, which may read and write as their owner wrote them.
    pub(crate) agents: FoldedNames,
    /// Tables with the content of virtual ones.
    pub(crate) behind: FoldedNames,
    /// Virtual tables, which read and write on their own.
    pub(crate) virtuals: FoldedNames,
}

impl HiddenObjects {
    /// Determines what `exposure` hides of `objects`.
    pub(crate) fn new(objects: &[Object], exposure: &Exposure) -> Self {
        let is_table =
            |object: &&Object| matches!(object.what, ObjectKind::Table | ObjectKind::Virtual | ObjectKind::View);
        let owners = owners(objects.iter().filter(is_table).map(|object| (object.name.as_str(), object.sql.as_str())));
        let mut hiding = Self::default();
        for object in objects.iter().filter(is_table) {
            let name = object.name.to_ascii_lowercase();
            let shown = match owners.get(&name) {
                // Its owner is known only by its name: what the lists hide by that name stays hidden.
                Some(owner) => exposure.shows_table(SCHEMA, owner) && !exposure.hides_table(SCHEMA, &name),
                None => exposure.shows_table(SCHEMA, &object.name),
            };
            if object.what == ObjectKind::Virtual {
                hiding.virtuals.0.insert(name.clone());
            }
            let side = if shown { &mut hiding.shown } else { &mut hiding.hidden };
            side.0.insert(name);
        }
        hiding.behind = FoldedNames(owners.into_keys().collect());
        for object in objects {
            let name = object.name.to_ascii_lowercase();
            if matches!(object.what, ObjectKind::Index | ObjectKind::Trigger) && hiding.hidden.has(&object.table) {
                hiding.belongings.0.insert(name.clone());
            }
            if matches!(object.what, ObjectKind::View | ObjectKind::Trigger) {
                hiding.agents.0.insert(name);
            }
        }
        hiding
    }

    /// Removes the text of `error`, of a statement that `uses` something hidden, if it contains hidden names; with
    /// `unasked` always. The error of a statement that uses nothing hidden contains only its caller's own words,
    /// unless it takes an existing name: to remove them would distinguish a hidden name from a free one.
    pub(crate) fn withhold(&self, error: Error, uses: bool, unasked: bool) -> Error {
        if !(uses || unasked || error.get_sqlstate() == Some("42P07")) {
            return error;
        }
        let words = error.message.to_ascii_lowercase();
        if !(unasked || self.hidden.0.iter().chain(&self.belongings.0).any(|name| has_name(&words, name))) {
            return error;
        }
        if error.get_sqlstate() == Some("42P07") {
            return unavailable_here("the name").because(error.message);
        }
        let told = match error.kind {
            ErrorKind::Conflict => "a constraint was violated in a table that is not exposed on this connection",
            _ => "the statement failed in something that is not exposed on this connection",
        };
        let sqlstate = error.get_sqlstate().unwrap_or("42000").to_owned();
        Error::new(error.kind, told).sqlstate(sqlstate).because(error.message)
    }
}

/// Returns true if `name` is in `words` on its own, and not as the name of a table's column.
fn has_name(words: &str, name: &str) -> bool {
    let in_name = |each: char| each.is_alphanumeric() || matches!(each, '_' | '$');
    words.match_indices(name).any(|(at, _)| {
        let before = words.get(..at).unwrap_or_default();
        let behind = words.get(at + name.len()..).and_then(|behind| behind.chars().next());
        let of_schema = before.strip_suffix(SCHEMA_DOT).is_some_and(|rest| !rest.ends_with(in_name));
        let is_column = before.ends_with('.') && !of_schema;
        !before.ends_with(in_name) && !behind.is_some_and(in_name) && !is_column
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_behind_a_virtual_one_belong_to_it() {
        let tables = [
            ("Docs", "CREATE VIRTUAL TABLE Docs USING fts5(body)"),
            ("docs_data", "CREATE TABLE 'docs_data'(id, block)"),
            ("docs_archive", "CREATE TABLE docs_archive(a)"),
            ("places", "CREATE VIRTUAL TABLE places /* \" */ USING \"rtree\"(id, a, b)"),
            ("places_node", "CREATE TABLE places_node(a)"),
            ("odd", "create virtual table odd using unknown(x)"),
            ("odd_anything", "CREATE TABLE odd_anything(a)"),
            ("plain", "CREATE TABLE plain(a) -- USING fts5"),
            ("plain_data", "CREATE TABLE plain_data(a)"),
        ];
        let found = owners(tables.into_iter());
        let mut found: Vec<_> = found.iter().map(|(name, owner)| format!("{name} of {owner}")).collect();
        found.sort();
        assert_eq!(found, ["docs_data of docs", "odd_anything of odd", "places_node of places"]);
    }

    #[test]
    fn words_that_name_what_is_hidden_are_withheld() {
        let hiding =
            HiddenObjects { hidden: FoldedNames(HashSet::from(["people".to_owned()])), ..HiddenObjects::default() };
        let told = |message: &str| hiding.withhold(Error::new(ErrorKind::Conflict, message), true, false).message;
        for message in
            ["UNIQUE constraint failed: People.email", "no such table: main.people", "error in view people: x"]
        {
            assert!(told(message).contains("not exposed"), "{message}");
        }
        for message in ["UNIQUE constraint failed: peoples.email", "NOT NULL constraint failed: cities.people"] {
            assert_eq!(told(message), message);
        }
        let taken = Error::new(ErrorKind::Rejected, "there is already a table named people").sqlstate("42P07");
        assert_eq!(hiding.withhold(taken, false, false).message, "the name is not available on this connection");
    }

    #[test]
    fn what_is_hidden_by_its_own_name_does_not_belong_to_what_is_shown() {
        let object = |name: &str, sql: &str, what| Object {
            what,
            name: name.to_owned(),
            table: name.to_owned(),
            sql: sql.to_owned(),
        };
        let objects = [
            object("docs", "CREATE VIRTUAL TABLE docs USING fts4(body, content='')", ObjectKind::Virtual),
            object("docs_stat", "CREATE TABLE docs_stat(a)", ObjectKind::Table),
            object("docs_segdir", "CREATE TABLE docs_segdir(a)", ObjectKind::Table),
        ];
        let tables = crate::Names { shown: None, hidden: vec!["docs_stat".to_owned()] };
        let hiding = HiddenObjects::new(&objects, &Exposure { tables, ..Exposure::default() });
        assert!(hiding.hidden.has("docs_stat") && hiding.shown.has("docs_segdir") && hiding.virtuals.has("Docs"));
    }
}

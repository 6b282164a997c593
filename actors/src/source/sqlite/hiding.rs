//! What of a file's schema is hidden from callers, by the engine's own names. Who asks for it, and
//! when, is for `authorizer` and `mirror`.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::catalog::{SCHEMA, lossy};
use super::lexer::{Kind, tokens};
use crate::error::{Error, Kind as ErrorKind};
use crate::source::Exposure;

/// What a row of the schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Table,
    Virtual,
    View,
    Index,
    Trigger,
}

/// One row of the schema.
pub(super) struct Object {
    pub(super) what: What,
    pub(super) name: String,
    /// The table or view that it belongs to; of those itself.
    pub(super) table: String,
    /// The statement that made it; empty for what the engine made.
    pub(super) sql: String,
}

/// Reads the schema, without the engine's own tables.
pub(super) fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut statement =
        connection.prepare_cached("SELECT type, name, tbl_name, coalesce(sql, '') FROM main.sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        let (kind, sql) = (lossy(row, 0)?, lossy(row, 3)?);
        let what = match kind.as_str() {
            "view" => What::View,
            "index" => What::Index,
            "trigger" => What::Trigger,
            _ if module(&sql).is_some() => What::Virtual,
            _ => What::Table,
        };
        Ok(Object { what, name: lossy(row, 1)?, table: lossy(row, 2)?, sql })
    })?;
    rows.filter(|row| row.as_ref().is_ok_and(|object| !is_engine(&object.name)) || row.is_err()).collect()
}

/// Whether `name` is one that the engine keeps for itself.
pub(super) fn is_engine(name: &str) -> bool {
    name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}

/// The module of a virtual table that `sql` made.
fn module(sql: &str) -> Option<String> {
    let mut words = tokens(sql).filter(|token| !token.is_comment());
    if !(words.next()?.is_word("CREATE") && words.next()?.is_word("VIRTUAL")) {
        return None;
    }
    words.find(|token| token.kind == Kind::Word && token.is_word("USING"))?;
    words.next()?.name()
}

/// What a module keeps its table's content in: suffixes of names. `None`: the module is not known.
fn shadows(module: &str) -> Option<&'static [&'static str]> {
    match module.to_ascii_lowercase().as_str() {
        "fts3" | "fts4" => Some(&["content", "segments", "segdir", "docsize", "stat"]),
        "fts5" => Some(&["data", "idx", "content", "docsize", "config"]),
        "rtree" | "rtree_i32" | "geopoly" => Some(&["node", "rowid", "parent"]),
        _ => None,
    }
}

/// The virtual table that each table behind one belongs to, by names in small letters.
pub(super) fn owners<'a>(tables: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> HashMap<String, String> {
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

/// The names of one state of a schema, in small letters.
#[derive(Debug, Default)]
pub(super) struct Hiding {
    /// Tables and views that exist for callers.
    shown: HashSet<String>,
    /// Tables and views that do not.
    hidden: HashSet<String>,
    /// Indexes and triggers of what is hidden.
    belongings: HashSet<String>,
    /// Views and triggers: what may read on its owner's behalf.
    agents: HashSet<String>,
    /// Tables behind virtual ones.
    behind: HashSet<String>,
    /// Whether there are virtual tables, which read and write on their own.
    pub(super) has_virtual: bool,
}

impl Hiding {
    /// What `exposure` hides of `objects`.
    pub(super) fn new(objects: &[Object], exposure: &Exposure) -> Self {
        let is_table = |object: &&Object| matches!(object.what, What::Table | What::Virtual | What::View);
        let owners = owners(objects.iter().filter(is_table).map(|object| (object.name.as_str(), object.sql.as_str())));
        let mut hiding = Self::default();
        for object in objects.iter().filter(is_table) {
            let name = object.name.to_ascii_lowercase();
            let judged = owners.get(&name).map_or(object.name.as_str(), String::as_str);
            let side = if exposure.shows_table(SCHEMA, judged) { &mut hiding.shown } else { &mut hiding.hidden };
            side.insert(name);
            hiding.has_virtual |= object.what == What::Virtual;
        }
        hiding.behind = owners.into_keys().collect();
        for object in objects {
            let name = object.name.to_ascii_lowercase();
            if matches!(object.what, What::Index | What::Trigger) && hiding.hides(&object.table) {
                hiding.belongings.insert(name.clone());
            }
            if matches!(object.what, What::View | What::Trigger) {
                hiding.agents.insert(name);
            }
        }
        hiding
    }

    /// Whether callers may use the table or view `name`.
    pub(super) fn shows(&self, name: &str) -> bool {
        self.shown.contains(&name.to_ascii_lowercase())
    }

    /// Whether there is a table or view `name` of which callers know nothing.
    pub(super) fn hides(&self, name: &str) -> bool {
        self.hidden.contains(&name.to_ascii_lowercase())
    }

    /// Whether the table `name` holds what is in a virtual one.
    pub(super) fn is_behind(&self, name: &str) -> bool {
        self.behind.contains(&name.to_ascii_lowercase())
    }

    /// Whether the index or trigger `name` is one of a hidden table.
    pub(super) fn hides_part(&self, name: &str) -> bool {
        self.belongings.contains(&name.to_ascii_lowercase())
    }

    /// Whether a view or trigger of this name reads and writes as its owner made it.
    pub(super) fn is_agent(&self, name: &str) -> bool {
        self.agents.contains(&name.to_ascii_lowercase())
    }

    /// `error` without its words where they name something hidden that `text`, the caller's own,
    /// does not name. With `unasked` they are withheld in any case.
    pub(super) fn withhold(&self, error: Error, text: &str, unasked: bool) -> Error {
        let (words, text) = (error.message.to_ascii_lowercase(), text.to_ascii_lowercase());
        let tells = |name: &String| has_name(&words, name) && !has_name(&text, name);
        if !(unasked || self.hidden.iter().chain(&self.belongings).any(tells)) {
            return error;
        }
        let told = match error.kind {
            ErrorKind::Conflict => "a constraint was violated in a table that is not exposed on this connection",
            _ => "the statement failed in something that is not exposed on this connection",
        };
        let sqlstate = error.get_sqlstate().unwrap_or("42000").to_owned();
        Error::new(error.kind, told).sqlstate(sqlstate).because(error.message)
    }
}

/// Whether `name` stands in `words` by itself.
fn has_name(words: &str, name: &str) -> bool {
    let in_name = |each: char| each.is_alphanumeric() || matches!(each, '_' | '$');
    words.match_indices(name).any(|(at, _)| {
        let before = words.get(..at).and_then(|before| before.chars().next_back());
        let behind = words.get(at + name.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(in_name) && !behind.is_some_and(in_name)
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
        let hiding = Hiding { hidden: HashSet::from(["people".to_owned()]), ..Hiding::default() };
        let told =
            |message: &str, text: &str| hiding.withhold(Error::new(ErrorKind::Conflict, message), text, false).message;
        assert!(told("UNIQUE constraint failed: People.email", "INSERT INTO t VALUES (1)").contains("not exposed"));
        for (message, text) in [
            ("UNIQUE constraint failed: peoples.email", ""),
            ("there is already a table named people", "CREATE TABLE People (a)"),
        ] {
            assert_eq!(told(message, text), message);
        }
    }
}

//! What callers may name, as an empty database in memory: the exposed tables of a file, and the columns of its
//! views. A caller's statement is compiled against it first, by an engine of the same build with the same settings,
//! so that hidden objects do not exist, however they are spelled; and an authorizer refuses access to the schema
//! tables. It contains no keys, no bodies of triggers and no definitions of views: every access comes from the
//! statement itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::Exposure;
use crate::sqlite::connect::limits::confine;
use crate::sqlite::failure::{no_table, unavailable_here};
use crate::sqlite::functions;
use crate::sqlite::functions::stop::StopSwitch;
use crate::sqlite::schema::lossy;
use crate::sqlite::walls::hidden_objects::{HiddenObjects, is_engine, objects};
use crate::sqlite::walls::visible_objects::{self, MODULES};
use portico_core::error::Error;
use portico_core::mutex::lock;
use portico_sql::Dialect;

/// The exposed part of one state of a file's schema.
pub(crate) struct VisibleSchema {
    pub(crate) connection: Connection,
    pub(crate) hiding: Arc<HiddenObjects>,
    /// The file's `schema_version` when this was made.
    pub(crate) version: i64,
    pub(crate) exposure: Arc<Exposure>,
    judge: Judge,
}

/// Why a statement was turned away.
pub(crate) enum CheckFailure {
    /// The authorizer said so.
    Refused(Error),
    /// The engine did not find a name, or did not understand the statement.
    Engine(rusqlite::Error),
}

impl From<rusqlite::Error> for CheckFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

/// Returns the schema version of `connection`, as its transaction sees it.
///
/// # Errors
/// SQLite's error.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))
}

impl VisibleSchema {
    /// Builds the visible schema of the file behind `connection`, whose authorizer must let this read the schema.
    ///
    /// # Errors
    /// SQLite's error while reading the schema.
    pub(crate) fn build(connection: &Connection, exposure: &Arc<Exposure>) -> rusqlite::Result<Self> {
        let version = version(connection)?;
        let objects = objects(connection)?;
        let hiding = Arc::new(HiddenObjects::new(&objects, exposure));
        let mut visible_schema = Connection::open_in_memory()?;
        // Each empty table and index takes a page.
        visible_schema.execute_batch("PRAGMA page_size = 512")?;
        confine(&visible_schema)?;
        // The same names with the same properties; nothing is computed here.
        functions::replace(&visible_schema, &StopSwitch::default())?;
        visible_schema.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
        visible_objects::create(connection, &visible_schema, &objects, &hiding)?;
        let judge = Judge::default();
        judge.lock().modules = names(&visible_schema, "SELECT lower(name) FROM pragma_module_list")?;
        let authorizer = judge.authorizer(&hiding, exposure);
        visible_schema.authorizer(Some(authorizer))?;
        Ok(Self { connection: visible_schema, hiding, version, exposure: Arc::clone(exposure), judge })
    }

    /// Refuses a caller's statement that uses hidden objects. Returns true if it has no effect, such as one that
    /// drops a missing object.
    ///
    /// # Errors
    /// Why it may not run.
    pub(crate) fn check(&self, text: &str) -> Result<bool, CheckFailure> {
        let (explains, asked) = self.compile(text, None)?;
        let checked = match (&asked.view, &asked.table) {
            _ if explains => Ok(()),
            (Some(view), _) => self.try_out(text, |_| {
                // What the view reads is checked only when the view is read.
                self.compile(&format!("SELECT * FROM main.{}", Dialect::SQLITE.quoted(view)), Some(view)).map(drop)
            }),
            (None, Some(table)) if !asked.selects && !is_engine(table) => {
                self.try_out(text, |before| self.keys(before))
            }
            (None, None) if asked.alters => self.try_out(text, |before| self.keys(before).and_then(|()| self.named())),
            _ => Ok(()),
        };
        checked.map(|()| asked.is_idle())
    }

    /// Refuses a new name that callers would not see: whether or not there is something that bears it.
    fn named(&self) -> Result<(), CheckFailure> {
        for name in names(&self.connection, "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")? {
            let stands_in = self.hiding.hidden.has(&name) && MODULES.contains(&name.to_ascii_lowercase().as_str());
            if !(is_engine(&name) || self.hiding.shown.has(&name) || stands_in) {
                free(&name, &self.exposure).map_or(Ok(()), |refusal| Err(CheckFailure::Refused(refusal)))?;
            }
        }
        Ok(())
    }

    /// Compiles a statement, which may use the view `made`. Returns whether it only asks for a plan, and what it
    /// accesses.
    fn compile(&self, text: &str, made: Option<&String>) -> Result<(bool, Asked), CheckFailure> {
        self.judge.lock().asked = Some(Asked { table: made.cloned(), ..Asked::default() });
        let prepared = self.connection.prepare(text);
        let asked = self.judge.lock().asked.take().unwrap_or_default();
        if let Some(refusal) = asked.refusal {
            return Err(CheckFailure::Refused(refusal));
        }
        Ok((prepared?.is_explain() != 0, asked))
    }

    /// Runs a statement of definition here, checks what it created, and rolls it back.
    fn try_out(
        &self,
        text: &str,
        look: impl FnOnce(&HashMap<String, i64>) -> Result<(), CheckFailure>,
    ) -> Result<(), CheckFailure> {
        self.connection.execute_batch("BEGIN")?;
        let looked = self.parents().map_err(CheckFailure::from).and_then(|before| {
            self.connection.execute_batch(text)?;
            look(&before)
        });
        self.connection.execute_batch("ROLLBACK")?;
        looked
    }

    /// How many keys refer to each table.
    fn parents(&self) -> rusqlite::Result<HashMap<String, i64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT f.\"table\", count(*) FROM pragma_table_list AS l JOIN pragma_foreign_key_list(l.name) AS f
              WHERE l.schema = 'main' AND f.seq = 0 GROUP BY 1",
        )?;
        let rows = statement.query_map([], |row| Ok((lossy(row, 0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// Refuses a new foreign key to a hidden table: it would reveal which values exist, and could change them.
    fn keys(&self, before: &HashMap<String, i64>) -> Result<(), CheckFailure> {
        for (parent, count) in self.parents()? {
            let is_new = before.get(&parent).is_none_or(|before| *before < count);
            let is_shown = self.hiding.shown.has(&parent)
                || (!self.hiding.hidden.has(&parent)
                    && (self.exposure.shows_table(crate::sqlite::schema::SCHEMA, &parent)
                        || self.has_table(&parent)?));
            if is_new && !is_shown {
                return Err(CheckFailure::Refused(no_table(&parent)));
            }
        }
        Ok(())
    }

    fn has_table(&self, name: &str) -> rusqlite::Result<bool> {
        self.connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE)",
            [name],
            |row| row.get(0),
        )
    }
}

/// Returns why callers may not use this name for a table or view of their own.
fn free(name: &str, exposure: &Exposure) -> Option<Error> {
    let free = exposure.shows_table(crate::sqlite::schema::SCHEMA, name);
    (!free).then(|| unavailable_here(&format!("the name {name}")))
}

fn names(connection: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(query)?;
    let names = statement.query_map([], |row| lossy(row, 0))?;
    names.collect()
}

/// The authorizer's side that the visible schema holds.
#[derive(Clone, Default)]
struct Judge(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Present while a caller's statement is compiled.
    asked: Option<Asked>,
    /// The modules of virtual tables, in small letters.
    modules: Vec<String>,
}

/// What a statement accessed while it was compiled.
#[derive(Default)]
struct Asked {
    refusal: Option<Error>,
    selects: bool,
    alters: bool,
    /// The table that it makes.
    table: Option<String>,
    /// The view that it makes.
    view: Option<String>,
    /// Whether the engine has begun to write the schema: from then on it reads there for itself.
    defines: bool,
}

impl Judge {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    fn authorizer(
        &self,
        hiding: &Arc<HiddenObjects>,
        exposure: &Arc<Exposure>,
    ) -> impl for<'c> FnMut(AuthContext<'c>) -> Authorization + Send + 'static {
        let (judge, hiding, exposure) = (self.clone(), Arc::clone(hiding), Arc::clone(exposure));
        move |context| {
            let mut state = judge.lock();
            let State { asked, modules } = &mut *state;
            let Some(asked) = asked else { return Authorization::Allow };
            match asked.refuses(&context.action, (&hiding, &exposure), modules) {
                None => Authorization::Allow,
                Some(refusal) => {
                    asked.refusal.get_or_insert(refusal);
                    Authorization::Deny
                }
            }
        }
    }
}

impl Asked {
    /// Returns true if the engine accessed nothing.
    fn is_idle(&self) -> bool {
        !(self.selects || self.alters || self.defines) && self.table.is_none() && self.view.is_none()
    }

    fn refuses(
        &mut self,
        action: &AuthAction<'_>,
        (hiding, exposure): (&HiddenObjects, &Exposure),
        modules: &[String],
    ) -> Option<Error> {
        use AuthAction as A;
        match *action {
            A::Select => self.selects = true,
            A::CreateTable { table_name } => {
                self.table = Some(table_name.to_owned());
                return free(table_name, exposure);
            }
            A::CreateView { view_name } => {
                self.view = Some(view_name.to_owned());
                return free(view_name, exposure);
            }
            // Under its new name others could seem to belong to it.
            A::AlterTable { table_name, .. } if hiding.virtuals.has(table_name) => {
                return Some(unavailable_here("ALTER TABLE of a virtual table"));
            }
            A::AlterTable { .. } => (self.alters, self.defines) = (true, true),
            A::CreateIndex { .. }
            | A::DropIndex { .. }
            | A::DropTable { .. }
            | A::DropTrigger { .. }
            | A::DropView { .. }
            | A::DropVtable { .. }
            | A::Reindex { .. }
            | A::Analyze { .. } => self.defines = true,
            A::Pragma { .. } => return Some(unavailable_here("PRAGMA")),
            A::CreateTrigger { .. } => return Some(unavailable_here("CREATE TRIGGER")),
            A::CreateVtable { .. } => return Some(unavailable_here("CREATE VIRTUAL TABLE")),
            A::Read { table_name, column_name } => return self.reads(table_name, column_name, hiding, modules),
            // The engine itself lets no statement write its own two tables.
            A::Update { table_name: "sqlite_master", .. } => {
                self.defines |= self.table.is_some() || self.view.is_some();
            }
            A::Insert { table_name: "sqlite_master" } | A::Delete { table_name: "sqlite_master" } => {}
            A::Insert { table_name } | A::Delete { table_name } | A::Update { table_name, .. } => {
                let known = hiding.shown.has(table_name) || self.makes(table_name);
                return (!known).then(|| no_table(table_name));
            }
            _ => {}
        }
        None
    }

    fn makes(&self, table: &str) -> bool {
        self.defines || self.table.as_ref().is_some_and(|made| made.eq_ignore_ascii_case(table))
    }

    fn reads(&self, table: &str, column: &str, hiding: &HiddenObjects, modules: &[String]) -> Option<Error> {
        if hiding.shown.has(table) {
            return None;
        }
        let folded = table.to_ascii_lowercase();
        if is_engine(table) {
            return (!self.defines).then(|| no_table(&table.replace("_master", "_schema")));
        }
        if MODULES.contains(&folded.as_str()) {
            return hiding.hidden.has(table).then(|| no_table(table));
        }
        if folded.starts_with("pragma_") {
            return Some(unavailable_here("PRAGMA"));
        }
        if modules.contains(&folded) {
            return Some(unavailable_here(table));
        }
        // Without a column it may be a name of the statement's own WITH.
        (!column.is_empty() && !self.makes(table)).then(|| no_table(table))
    }
}

//! Opens a session's connection to the file with every lock and limit in place. It never creates a file, and knows
//! nothing of statements.

use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use crate::Exposure;
use crate::sqlite::connect::limits::confine;
use crate::sqlite::connect::open_error::{read_only, unopened};
use crate::sqlite::functions;
use crate::sqlite::functions::Replaced;
use crate::sqlite::functions::stop::StopSwitch;
use crate::sqlite::walls::authorizer::Authorizer;
use crate::sqlite::walls::visible_schema;
use crate::sqlite::walls::visible_schema::VisibleSchema;
use portico_core::error::{Error, Kind, Result};

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// Its file is opened read-only.
    Reader,
    /// Its file is opened for reading and writing.
    Writer,
}

/// An open connection with its authorizer.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) authorizer: Authorizer,
    pub(crate) role: SessionKind,
    file: Option<FileId>,
    exposure: Arc<Exposure>,
    /// The most recent ones, the latest first.
    visible_schemas: RefCell<Vec<Rc<VisibleSchema>>>,
    /// The stop switch that the functions of this session check.
    pub(crate) switch: StopSwitch,
    functions: Replaced,
    /// Whether LIKE is the engine's own just now.
    likes_as_engine: Cell<bool>,
    /// The version of the schema for which it is known whether an index helps LIKE, and the answer.
    like_index: Cell<Option<(i64, bool)>>,
}

/// Identifies the file that a path referred to when it was opened: the path may refer to another one later.
type FileId = (u64, u64);

/// The maximal number of visible schemas that a session keeps: its connection's own, and those of workspaces.
const MOST_SCHEMAS: usize = 4;

/// The name of the file's own schema.
const MAIN: &str = "main";

/// How long opening waits for another process that holds the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the file at `path`.
///
/// # Errors
/// [`Kind::Unavailable`] when it is missing, unreadable or no database; the path is in the cause alone.
pub(crate) fn open(path: &Path, role: SessionKind, exposure: &Arc<Exposure>) -> Result<OpenDatabase> {
    let access = match role {
        SessionKind::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
        SessionKind::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // Without SQLITE_OPEN_URI: a path that looks like a URI is still a path.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let unavailable = |error: rusqlite::Error| unopened(path, role == SessionKind::Writer, &error);
    let file = identity(path);
    let connection = Connection::open_with_flags(path, flags).map_err(unavailable)?;
    if role == SessionKind::Writer && connection.is_readonly(MAIN).unwrap_or(false) {
        return Err(read_only(path));
    }
    let authorizer = Authorizer::default();
    prepare(&connection, role).map_err(unavailable)?;
    let switch = StopSwitch::default();
    let functions = functions::replace(&connection, &switch).map_err(unavailable)?;
    let mut opened = OpenDatabase {
        connection,
        authorizer,
        role,
        file,
        exposure: Arc::clone(exposure),
        visible_schemas: RefCell::default(),
        switch,
        functions,
        likes_as_engine: Cell::new(false),
        like_index: Cell::new(None),
    };
    let authorizer = opened.authorizer.callback(role == SessionKind::Writer);
    opened.connection.authorizer(Some(authorizer)).map_err(unavailable)?;
    let commit_hook = opened.authorizer.commit_hook();
    opened.connection.commit_hook(Some(commit_hook)).map_err(unavailable)?;
    Ok(opened)
}

fn prepare(connection: &Connection, role: SessionKind) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    confine(connection)?;
    connection.set_prepared_statement_cache_capacity(16);
    match role {
        SessionKind::Reader => connection.pragma_update(None, "query_only", true)?,
        SessionKind::Writer => {
            // Lets readers go on while we write. Refused where the file system or another process
            // does not allow it; then readers and the writer wait for each other.
            let _mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        }
    }
    // Opening is lazy: this is the first time that SQLite looks into the file.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(())
}

impl OpenDatabase {
    /// Whether `path` still names the file that is open.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        self.file == identity(path)
    }

    /// Returns what callers may name in the file as it is now, within `narrower`; `None` if nothing is hidden.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if the schema cannot be read.
    pub(crate) fn visible_schema(&self, narrower: Option<&Exposure>) -> Result<Option<Rc<VisibleSchema>>> {
        let exposure = match narrower {
            Some(narrower) => Arc::new(self.exposure.intersection(narrower)),
            None => Arc::clone(&self.exposure),
        };
        if exposure.is_everything() {
            return Ok(None);
        }
        let current = self.authorizer.trusting(|| {
            let version = visible_schema::version(&self.connection)?;
            let mut known = self.visible_schemas.borrow_mut();
            known.retain(|known| known.version == version);
            let found = known.iter().position(|known| *known.exposure == *exposure);
            let found = found.map(|at| known.remove(at));
            found.map_or_else(|| VisibleSchema::build(&self.connection, &exposure).map(Rc::new), Ok)
        });
        let current = current.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => {
                Error::new(Kind::Abandoned, "the statement was interrupted").sqlstate("57014").because(error)
            }
            _ => Error::new(Kind::Unavailable, "the database's schema cannot be read").because(error),
        })?;
        let mut known = self.visible_schemas.borrow_mut();
        known.insert(0, Rc::clone(&current));
        known.truncate(MOST_SCHEMAS);
        Ok(Some(current))
    }

    /// Installs the LIKE that can be stopped, which is the default for every statement.
    ///
    /// # Errors
    /// SQLite's error.
    pub(crate) fn like_as_ever(&self) -> rusqlite::Result<()> {
        if self.likes_as_engine.replace(false) { self.functions.like(&self.connection) } else { Ok(()) }
    }

    /// Installs the engine's own LIKE if `text`, which uses LIKE, can then use an index. Returns true if the
    /// statement must be compiled again. A statement that only asks for its plan always gets the engine's own.
    ///
    /// # Errors
    /// SQLite's error.
    pub(crate) fn like_by_index(&self, text: &str, values: &[Value], explains: bool) -> rusqlite::Result<bool> {
        let version = visible_schema::version(&self.connection)?;
        let helps = match self.like_index.get() {
            Some((known, helps)) if known == version => helps,
            _ => self.connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema AS s, pragma_index_xinfo(s.name, 'main') AS x
                  WHERE s.type = 'index' AND x.key AND x.coll = 'NOCASE' COLLATE NOCASE)",
                [],
                |row| row.get(0),
            )?,
        };
        self.like_index.set(Some((version, helps)));
        if !helps {
            return Ok(false);
        }
        let without = if explains { None } else { Some(self.plan(text, values)?) };
        self.likes_as_engine.set(true);
        self.functions.engines_like(&self.connection)?;
        if without.is_some_and(|without| self.plan(text, values).is_ok_and(|with| with == without)) {
            self.like_as_ever()?;
        }
        Ok(true)
    }

    fn plan(&self, text: &str, values: &[Value]) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
        for (at, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(at + 1, value)?;
        }
        let mut rows = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next()? {
            plan.push(row.get(3)?);
        }
        Ok(plan)
    }

    /// The version that [`OpenDatabase::visible_schema`] last saw.
    pub(crate) fn mirrored(&self) -> Option<i64> {
        self.visible_schemas.borrow().first().map(|visible_schema| visible_schema.version)
    }

    /// Drops what [`OpenDatabase::visible_schema`] saw in a transaction that was rolled back.
    pub(crate) fn forget_mirror(&self) {
        self.visible_schemas.borrow_mut().clear();
    }
}

fn identity(path: &Path) -> Option<FileId> {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

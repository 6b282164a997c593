//! Opens a session's connection to the file with every lock and limit in place. It never creates
//! a file, and knows nothing of statements.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::authorizer::Warden;
use crate::error::{Error, Kind, Result};

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its file is opened read-only.
    Reader,
    /// Its file is opened for reading and writing.
    Writer,
}

/// An open connection with its warden.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) warden: Warden,
    pub(super) role: Role,
    file: Option<Identity>,
}

/// Which file a path named when it was opened: another one may stand there later.
type Identity = (u64, u64);

/// Limits of one connection (<https://www.sqlite.org/limits.html>), tighter than SQLite's own
/// because the statements come from strangers.
const LIMITS: &[(Limit, i32)] = &[
    // A value or a row: it is in memory more than once on its way out.
    (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 4 << 20),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // Matching takes time in the product of pattern and text.
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 100),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// How long opening waits for another process that holds the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the file at `path`.
///
/// # Errors
/// [`Kind::Unavailable`] when it is missing, unreadable or no database; the path is in the cause alone.
pub(super) fn open(path: &Path, role: Role) -> Result<Opened> {
    let access = match role {
        Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Role::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // Without SQLITE_OPEN_URI: a path is a path, whatever it looks like.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let unavailable = |error: rusqlite::Error| {
        Error::new(Kind::Unavailable, "the database file cannot be opened or read")
            .because(format!("{}: {error}", path.display()))
    };
    let file = identity(path);
    let connection = Connection::open_with_flags(path, flags).map_err(unavailable)?;
    let warden = Warden::default();
    prepare(&connection, role).map_err(unavailable)?;
    let mut opened = Opened { connection, warden, role, file };
    let authorizer = opened.warden.authorizer(role == Role::Writer);
    opened.connection.authorizer(Some(authorizer)).map_err(unavailable)?;
    let commit_hook = opened.warden.commit_hook();
    opened.connection.commit_hook(Some(commit_hook)).map_err(unavailable)?;
    Ok(opened)
}

fn prepare(connection: &Connection, role: Role) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    for (limit, most) in LIMITS {
        connection.set_limit(*limit, *most)?;
    }
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        // A misspelt "column" is an error, not a string.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
    ] {
        connection.set_db_config(setting, on)?;
    }
    connection.set_prepared_statement_cache_capacity(16);
    match role {
        Role::Reader => connection.pragma_update(None, "query_only", true)?,
        Role::Writer => {
            // Lets readers go on while we write. Refused where the file system or another process
            // does not allow it; then readers and the writer wait for each other.
            let _mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        }
    }
    // Opening is lazy: this is the first time that SQLite looks into the file.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(())
}

impl Opened {
    /// Whether `path` still names the file that is open.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.file == identity(path)
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}

//! The store in a SQLite file: opened, made for its owner alone, asked.

mod revision;
mod schema;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Statement, ffi};

use super::connection::{Failure, Given, Read, Row, broken};
use crate::error::{Error, Kind, Result};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// A file's device and inode: another file under the same name, such as a restored backup, would stay unnoticed by an
/// open connection.
pub(crate) type Identity = (u64, u64);

/// Which file is at `path` now. Only a `stat`: opening and closing it here would drop SQLite's own locks on it.
pub(crate) fn identity(path: &Path) -> Result<Identity> {
    let metadata = path.metadata().map_err(|error| cannot_open().because(format!("{}: {error}", path.display())))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Opens the store at `path`. A missing file is made, an older format is brought up to date.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let cannot = |error: io::Error| cannot_open().because(format!("{}: {error}", path.display()));
    let directory = make_directory(path).map_err(cannot)?;
    let _turn = take_turns(directory);
    make_file(path).map_err(cannot)?;
    let mut connection = connect(path)?;
    schema::migrate(&mut connection)?;
    revision::count_changes(&mut connection)?;
    Ok(connection)
}

/// Opens a store that another process made, and changes nothing about it.
pub(super) fn open_existing(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    schema::check(&connection)?;
    Ok(connection)
}

/// Whether the file has exactly the format that this program reads.
pub(super) fn check(connection: &Connection) -> Result<()> {
    schema::check(connection)
}

/// A number that changes whenever another connection has written.
pub(super) fn data_version(connection: &Connection) -> Read<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Moves the log into the file and empties it. False where a reader still needs it.
pub(super) fn empty_log(connection: &Connection) -> Read<bool> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

/// Runs one statement; how many rows it concerned.
pub(super) fn execute(connection: &Connection, sql: &str, given: &Given<'_>) -> Read<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, given)?;
    Ok(statement.raw_execute()?)
}

/// Every row of one statement.
pub(super) fn query<T>(
    connection: &Connection,
    sql: &str,
    given: &Given<'_>,
    mut read: impl FnMut(&Row<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, given)?;
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(&Row::File(row))?);
    }
    Ok(all)
}

fn bind(statement: &mut Statement<'_>, given: &Given<'_>) -> Read<()> {
    for (place, (name, value)) in given.iter().enumerate() {
        let place = match name {
            None => place + 1,
            Some(name) => {
                let unknown = || rusqlite::Error::InvalidParameterName((*name).to_owned());
                statement.parameter_index(name)?.ok_or_else(unknown)?
            }
        };
        statement.raw_bind_parameter(place, value)?;
    }
    Ok(())
}

/// Makes the directory of `path` if there is none, and names it.
fn make_directory(path: &Path) -> io::Result<&Path> {
    match path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        None => Ok(Path::new(".")),
        Some(directory) => {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            Ok(directory)
        }
    }
}

/// Lets only one process at a time make a store in `directory`, until the answer is dropped: the
/// switch of a fresh file to WAL fails for all but one, and does not wait. Where directories cannot
/// be locked, that failure is all that can happen.
fn take_turns(directory: &Path) -> Option<File> {
    let turn = File::open(directory).ok()?;
    turn.lock().ok()?;
    Some(turn)
}

/// Makes an empty file, which is an empty database, if there is none. One that exists is not even
/// opened: closing it again would drop the database's locks that this process holds.
fn make_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let cannot = |error: rusqlite::Error| cannot_open().because(format!("{}: {error}", path.display()));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(cannot)?;
    connection.busy_timeout(PATIENCE).map_err(cannot)?;
    // `secure_delete`: a retired key and a removed digest do not linger in free pages.
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;").map_err(cannot)?;
    Ok(connection)
}

fn cannot_open() -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens cannot be opened")
        .hint("check that its directory exists and that this user may read and write the file")
}

/// The store's own words for SQLite's.
fn failed(error: rusqlite::Error) -> Error {
    broken(Failure::from(error))
}

/// Whether `error` says that a name is taken.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    let taken = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];
    error.sqlite_error().is_some_and(|error| taken.contains(&error.extended_code))
}

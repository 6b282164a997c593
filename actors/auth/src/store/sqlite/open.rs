//! The store in a SQLite file: opened, and made for its owner alone.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::store::sqlite::{revision, schema};
use portico_core::error::{Error, Kind, Result};

const UNOPENED: &str = "the store of users and tokens cannot be opened";

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// A file's device and inode: an open connection would not notice another file under the same name, such as a
/// restored backup.
pub(crate) type FileId = (u64, u64);

/// Which file is at `path` now. Only a `stat`: opening and closing it here would drop SQLite's own locks on it.
pub(crate) fn identity(path: &Path) -> Result<FileId> {
    let metadata = path.metadata().map_err(|error| cannot_open().because(format!("{}: {error}", path.display())))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Opens the store at `path`. A missing file is made, an older format is brought up to date.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    let cannot = |error: io::Error| cannot_make(&error).because(format!("{}: {error}", path.display()));
    let directory = make_directory(path).map_err(cannot)?;
    let _turn = take_turns(directory);
    make_file(path).map_err(cannot)?;
    let mut connection = connect(path)?;
    schema::migrate(&mut connection)?;
    revision::count_changes(&mut connection)?;
    Ok(connection)
}

/// Opens a store that another process has created, without changing it.
pub(crate) fn open_existing(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    schema::check(&connection)?;
    Ok(connection)
}

/// Creates the directory of `path` if it is missing, and returns it.
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

/// Creates an empty file, which is an empty database, if it is missing. An existing one is not even opened: closing
/// it again would release the database locks that this process holds.
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

/// Returns the remedy if the file or its folder cannot be created.
fn cannot_make(error: &io::Error) -> Error {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk of store.url",
        io::ErrorKind::ReadOnlyFilesystem => {
            "its disk is mounted read-only: name a folder that can be written, as store.directory or in store.url"
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not write there: run it as the service's own user, give that user the folder, or name another \
             one as store.directory or in store.url"
        }
        _ => return cannot_open(),
    };
    Error::new(Kind::Unavailable, UNOPENED).hint(remedy)
}

fn cannot_open() -> Error {
    Error::new(Kind::Unavailable, UNOPENED)
        .hint("check that its directory exists and that this user may read and write the file")
}

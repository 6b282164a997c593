//! The sample: a shop with about 50,000 rows that look real, its customers' support beside it, each a SQLite file, and
//! the configuration with which the demonstration serves them, with procedures and a workspace over both.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use self::words::Words;

mod crm;
mod dice;
mod generate;
mod words;

#[cfg(test)]
mod tests;

/// What a service of the sample is configured with, in the folder of its files.
pub const CONFIGURATION: &str = include_str!("config.toml");

/// What holds the rows. Every comment is a remark that callers read in the catalogue; the order of statements is the
/// order of their making.
const TABLES: &str = include_str!("tables.sql");
/// What makes reading fast and easy; run when the rows are there.
const INDEXES_AND_VIEWS: &str = include_str!("views.sql");

/// The same of the customers' support.
const CRM_TABLES: &str = include_str!("crm.sql");
const CRM_INDEXES: &str = include_str!("crm_views.sql");

/// Makes the shop at `path`: the same octets every time, and either all of it or nothing.
/// Blocks for some tenths of a second; not for an async thread.
///
/// # Errors
/// The kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something is there already: a database is never
/// replaced under those who have it open. Writing, renaming or flushing the file failed, or SQLite did.
pub fn create(path: &Path) -> io::Result<()> {
    make(path, fill_shop)
}

/// Makes the support of the shop's customers at `path`, as [`create`] makes the shop. Its customers and orders are those
/// of a shop that nobody has changed.
///
/// # Errors
/// As [`create`].
pub fn create_crm(path: &Path) -> io::Result<()> {
    make(path, |connection, words| {
        let shop = Connection::open_in_memory()?;
        fill_shop(&shop, words)?;
        connection.execute_batch(CRM_TABLES)?;
        crm::fill(connection, &shop, words)?;
        connection.execute_batch(CRM_INDEXES)
    })
}

fn fill_shop(connection: &Connection, words: &Words) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    generate::fill(connection, words)?;
    connection.execute_batch(INDEXES_AND_VIEWS)
}

fn make(path: &Path, fill: impl FnOnce(&Connection, &Words) -> rusqlite::Result<()>) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        if beside(path, suffix).symlink_metadata().is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a database already"));
        }
    }
    let unfinished = beside(path, &format!(".{}.part", std::process::id()));
    // Left over from a process of the same number that was killed.
    discard(&unfinished)?;
    let words = toml::from_str(words::TEXT).map_err(io::Error::other)?;
    let made = build(&unfinished, &words, fill).map_err(io::Error::other).and_then(|()| {
        File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, path)?;
        flush_directory(path)
    });
    if made.is_err() {
        // The first failure is the one to tell.
        let _discarded = discard(&unfinished);
    }
    made
}

fn build(
    path: &Path,
    words: &Words,
    fill: impl FnOnce(&Connection, &Words) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    // Nobody else sees the file before it is whole: neither journal nor flushing is needed.
    connection.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.execute_batch("BEGIN")?;
    fill(&connection, words)?;
    connection.execute_batch("COMMIT; ANALYZE")?;
    // Readers and the writer then do not wait for each other; the file remembers it.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)
}

/// The path with `suffix` behind its file name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn discard(unfinished: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(unfinished, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Makes the new name last through a loss of power.
fn flush_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

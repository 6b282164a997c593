//! The sample: a shop with about 50,000 realistic rows, its customers' support beside it, each a SQLite file, and
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

/// The configuration of a service of the sample, in the folder of its files.
pub const CONFIGURATION: &str = include_str!("config.toml");

/// The tables. Every comment is a remark that callers read in the catalogue; statements are in the order of
/// creation.
const TABLES: &str = include_str!("tables.sql");
/// Indexes and views; created after the rows.
const INDEXES_AND_VIEWS: &str = include_str!("views.sql");

/// The same of the customers' support.
const CRM_TABLES: &str = include_str!("crm.sql");
const CRM_INDEXES: &str = include_str!("crm_views.sql");

/// Creates the shop at `path`: always the same bytes, and either completely or not at all. Blocks for some tenths
/// of a second; not for an async thread.
///
/// # Errors
/// The kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a file already: a database is never
/// replaced while others may have it open. Writing, renaming or flushing the file failed, or SQLite did.
pub fn create(path: &Path) -> io::Result<()> {
    make(path, fill_shop)
}

/// Creates the support of the shop's customers at `path`, as [`create`] creates the shop. Its customers and orders
/// are those of an unmodified shop.
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
        // The first error is the one to report.
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
    // The file is not visible to others before it is complete: neither journal nor flushing is needed.
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

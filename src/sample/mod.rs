//! The sample shop: a SQLite file with about 50,000 rows that look real, and the configuration with which the
//! demonstration serves it, with procedures on it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

mod dice;
mod generate;
mod schema;
mod words;

#[cfg(test)]
mod tests;

/// What a service of the shop is configured with, in the folder of its file.
pub const CONFIGURATION: &str = include_str!("config.toml");

/// Why the sample could not be made.
#[derive(Debug)]
pub enum Error {
    /// Writing, renaming or flushing the file failed.
    File(io::Error),
    /// SQLite failed.
    Database(rusqlite::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(error) => write!(f, "the sample cannot be written: {error}"),
            Self::Database(error) => write!(f, "the sample cannot be made: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::Database(error) => Some(error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// Makes the sample at `path`: the same octets every time, and either all of it or nothing.
/// Blocks for some tenths of a second; not for an async thread.
///
/// # Errors
/// [`Error::File`] of kind [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something is
/// there already: a database is never replaced under those who have it open.
pub fn create(path: &Path) -> Result<(), Error> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        if beside(path, suffix).symlink_metadata().is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a database already").into());
        }
    }
    let unfinished = beside(path, &format!(".{}.part", std::process::id()));
    // Left over from a process of the same number that was killed.
    discard(&unfinished)?;
    let made = build(&unfinished).and_then(|()| {
        File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, path)?;
        flush_directory(path)?;
        Ok(())
    });
    if made.is_err() {
        // The first failure is the one to tell.
        let _discarded = discard(&unfinished);
    }
    made
}

fn build(path: &Path) -> Result<(), Error> {
    let connection = Connection::open(path)?;
    // Nobody else sees the file before it is whole: neither journal nor flushing is needed.
    connection.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.execute_batch("BEGIN")?;
    connection.execute_batch(schema::TABLES)?;
    generate::fill(&connection)?;
    connection.execute_batch(schema::INDEXES_AND_VIEWS)?;
    connection.execute_batch("COMMIT; ANALYZE")?;
    // Readers and the writer then do not wait for each other; the file remembers it.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
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
#[cfg(unix)]
fn flush_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn flush_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

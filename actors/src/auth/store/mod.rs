//! The store of users, tokens, service accounts and keys: one file, written by the command line,
//! also while a server runs. The only place that opens it; nothing here judges a credential.

mod accounts;
mod clients;
mod columns;
mod contents;
mod grants;
mod keys;
mod revision;
mod revoked;
mod schema;
mod sessions;
mod tokens;
mod trail;
mod users;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, ffi};

pub(crate) use self::contents::Contents;
pub use self::trail::NewRecord;
pub(crate) use self::users::email_key;

use super::clock::{Clock, Timestamp};
use super::sealing::StoreKey;
use super::secret::{CLIENT_SECRET_PREFIX, PAT_PREFIX};
use crate::error::{Error, Kind, Result};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names are for people and for tables on a terminal.
const LONGEST_NAME: usize = 100;

/// An open store. Its methods block: for the command line, and for a thread of one's own.
///
/// Every method fails with [`Kind::Unavailable`] when the file cannot be read or written;
/// [`Error::cause`] says why.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    clock: Clock,
    /// What private keys are encrypted with; without one they are stored as they are.
    key: Option<StoreKey>,
}

impl Store {
    /// Opens the store at `path`. A missing file is made, for its owner alone (mode 0600), a
    /// missing directory too (0700); an older format is brought up to date.
    ///
    /// # Errors
    /// [`Kind::Invalid`] when the file is not a store, or a newer program's.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Clock::system())
    }

    /// [`Store::open`] with a clock of one's own.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(path: impl AsRef<Path>, clock: Clock) -> Result<Self> {
        let path = path.as_ref();
        let cannot = |error: io::Error| cannot_open().because(format!("{}: {error}", path.display()));
        let directory = make_directory(path).map_err(cannot)?;
        let _turn = take_turns(directory);
        make_file(path).map_err(cannot)?;
        let mut store = Self { connection: connect(path)?, clock, key: None };
        schema::migrate(&mut store.connection)?;
        revision::count_changes(&mut store.connection)?;
        Ok(store)
    }

    /// Encrypts private keys with `key` from now on, and reads those that are encrypted with it.
    #[must_use]
    pub fn sealed_with(mut self, key: Option<StoreKey>) -> Self {
        self.key = key;
        self
    }

    /// Opens a store that another process made, and changes nothing about it.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is none.
    pub fn open_existing(path: &Path, key: Option<StoreKey>) -> Result<Self> {
        let connection = connect(path)?;
        schema::check(&connection)?;
        Ok(Self { connection, clock: Clock::system(), key })
    }

    /// A number that changes whenever another connection has written.
    pub(crate) fn data_version(&self) -> Result<i64> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version").map_err(broken)?;
        statement.query_row([], |row| row.get(0)).map_err(broken)
    }

    pub(crate) fn wait_at_most(&self, patience: Duration) -> Result<()> {
        self.connection.busy_timeout(patience).map_err(broken)
    }

    /// Runs `change` in one transaction that no other writer can come between.
    fn write<T>(&mut self, change: impl FnOnce(&Connection, Timestamp) -> Result<T>) -> Result<T> {
        let now = self.clock.now();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
        let done = change(&transaction, now)?;
        transaction.commit().map_err(broken)?;
        Ok(done)
    }
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

fn broken(error: rusqlite::Error) -> Error {
    Error::new(Kind::Unavailable, "the store of users and tokens cannot be read or written").because(error)
}

/// Whether `error` says that a name is taken.
fn is_taken(error: &rusqlite::Error) -> bool {
    let taken = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];
    error.sqlite_error().is_some_and(|error| taken.contains(&error.extended_code))
}

/// Refuses what could not be told apart or would spoil a listing.
fn check_name(what: &str, name: &str) -> Result<()> {
    if name.trim() != name || name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(Error::invalid(format!(
            "the name of {what} has 1 to {LONGEST_NAME} characters, with no white space around them"
        )));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("the name of {what} has no control characters")));
    }
    if name.starts_with("ptc_") {
        return Err(Error::invalid(format!("the name of {what} does not begin with ptc_, as ids and secrets do")));
    }
    Ok(())
}

/// `asked` as a message may repeat it: a secret in the place of a name is not repeated.
fn shown(asked: &str) -> String {
    if asked.starts_with(PAT_PREFIX) || asked.starts_with(CLIENT_SECRET_PREFIX) {
        "by that secret".to_owned()
    } else {
        format!("named {asked:?}")
    }
}

/// "Did you mean …", or how to find out.
fn hint(near: &[&str], listing: &str) -> String {
    match near {
        [] => format!("`{listing}` shows what there is"),
        near => format!("did you mean {}?", near.join(" or ")),
    }
}

//! The store of users, tokens, service accounts and keys: a SQLite file, or a schema of a PostgreSQL
//! database. It is written by the command line, also while servers run. The only place that opens it;
//! nothing here judges a credential.

mod accounts;
mod actor;
mod change;
mod clients;
mod columns;
mod connection;
mod consents;
mod contents;
mod endings;
mod file;
mod grants;
mod handle;
mod keys;
mod namesakes;
mod origins;
mod place;
mod remote;
mod revoked;
mod sessions;
mod subjects;
mod tokens;
mod trail;
mod users;

use std::time::Duration;

use self::actor::Actor;
pub use self::change::Change;
use self::change::Changes;
use self::connection::{Connection, broken};
pub(crate) use self::contents::{Contents, TokenRow};
pub(crate) use self::file::{Identity, identity};
pub use self::handle::Handle;
pub use self::origins::OfUnknownOrigin;
pub use self::place::Place;
use self::remote::Remote;
pub use self::trail::NewRecord;
pub(crate) use crate::name::key as email_key;

use super::clock::{Clock, Now};
use super::sealing::StoreKey;
use super::secret::{CLIENT_SECRET_PREFIX, PAT_PREFIX};
use crate::error::{Error, Result};
use crate::name;

/// When a store that is away is worth another attempt.
const RETRY: Duration = Duration::from_secs(1);

/// Names are for people and for tables on a terminal.
const LONGEST_NAME: usize = 100;

/// An open store. Its methods block: for the command line, and for a thread of one's own.
///
/// Every method fails with [`Kind::Unavailable`](crate::error::Kind::Unavailable) when the store
/// cannot be read or written; [`Error::cause`] says why.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    clock: Clock,
    /// What private keys are encrypted with; without one they are stored as they are.
    key: Option<StoreKey>,
    changes: Changes,
    /// On whose behalf it is worked with.
    actor: Actor,
}

/// What another session tells.
pub(crate) enum Notification<'a> {
    /// Something that is kept has changed.
    Changed,
    /// What [`Store::notify_catalogue`] was given.
    Catalogue(&'a str),
}

/// Changes whenever somebody has changed who may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// How many changes there were.
    number: i64,
    /// The transaction of the last one, where that is known: a backup that was restored begins to
    /// count anew.
    transaction: i64,
}

impl Store {
    /// Opens the store at `place`, and brings an older format up to date. A missing file is made, for
    /// its owner alone (mode 0600), a missing directory too (0700); so is a missing schema of a
    /// PostgreSQL database.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when the place holds something else, or a newer
    /// program's store.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        Self::open_with(place, Clock::system())
    }

    /// [`Store::open`] with a clock of one's own.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(place: impl Into<Place>, clock: Clock) -> Result<Self> {
        let connection = match place.into() {
            Place::File(path) => Connection::File(file::open(&path)?),
            Place::Postgres(address) => {
                let remote = Remote::open(&address)?;
                remote::schema::migrate(&remote)?;
                Connection::Postgres(remote)
            }
        };
        Ok(Self { connection, clock, key: None, changes: Changes::default(), actor: Actor::Operator })
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
    pub fn open_existing(place: &Place, key: Option<StoreKey>, clock: Clock) -> Result<Self> {
        let connection = match place {
            Place::File(path) => Connection::File(file::open_existing(path)?),
            Place::Postgres(address) => {
                let remote = Remote::open(address)?;
                remote::schema::check(&remote)?;
                Connection::Postgres(remote)
            }
        };
        Ok(Self { connection, clock, key, changes: Changes::default(), actor: Actor::Operator })
    }

    /// A number that changes whenever another connection has written to the same file; `None` where
    /// nothing tells.
    pub(crate) fn data_version(&self) -> Result<Option<i64>> {
        match &self.connection {
            Connection::File(connection) => file::data_version(connection).map(Some).map_err(broken),
            Connection::Postgres(_) => Ok(None),
        }
    }

    /// How long a statement may wait for another process that has locked the file.
    pub(crate) fn wait_at_most(&self, patience: Duration) -> Result<()> {
        match &self.connection {
            Connection::File(connection) => connection.busy_timeout(patience).map_err(|error| broken(error.into())),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Tells of every change that sessions make, and what they say, as far as the database does. `hear` is called on
    /// another thread, and returns at once.
    pub(crate) fn listen(&self, hear: impl Fn(Notification<'_>) + Send + Sync + 'static) -> Result<()> {
        match &self.connection {
            Connection::File(_) => Ok(()),
            Connection::Postgres(remote) => remote.listen(hear),
        }
    }

    /// Tells whoever listens, in all processes, of the catalogue of a connection. Of a file there is
    /// one process.
    pub(crate) fn notify_catalogue(&self, payload: &str) -> Result<()> {
        match &self.connection {
            Connection::File(_) => Ok(()),
            Connection::Postgres(remote) => remote.notify_catalogue(payload),
        }
    }

    /// Which changes of who may call there were.
    pub(crate) fn revision(&self) -> Result<Revision> {
        let transaction = match &self.connection {
            Connection::File(_) => "0",
            Connection::Postgres(_) => "CAST(CAST(xmin AS text) AS bigint)",
        };
        let sql = format!("SELECT number, {transaction} FROM revision");
        let read = |row: &connection::Row<'_>| Ok(Revision { number: row.get(0)?, transaction: row.get(1)? });
        self.connection.query_row(&sql, (), read).map_err(broken)
    }

    /// Whether the store has exactly the format that this program reads: a newer one may have changed
    /// it under us.
    fn check(&self) -> Result<()> {
        match &self.connection {
            Connection::File(connection) => file::check(connection),
            Connection::Postgres(remote) => remote::schema::check(remote),
        }
    }

    /// Writes what was deleted over, also in the log of a file, and leaves that one empty. What a database keeps of
    /// former rows is its own business. False where somebody is still reading what was before; whatever empties
    /// the log next does it then.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn wipe(&self) -> Result<bool> {
        match &self.connection {
            Connection::File(connection) => file::empty_log(connection).map_err(broken),
            Connection::Postgres(_) => Ok(true),
        }
    }

    /// Whether the session with the database has ended.
    fn is_closed(&self) -> bool {
        matches!(&self.connection, Connection::Postgres(remote) if remote.is_closed())
    }

    /// Runs `change` in one transaction that no other writer can come between. What changes who may do what
    /// goes through [`Store::change`], which has it recorded.
    fn write<T>(&mut self, change: impl FnOnce(&Connection, Now) -> Result<T>) -> Result<T> {
        let now = self.clock.now();
        self.connection.write(|connection| change(connection, now))
    }
}

/// Refuses what could not be told apart or would spoil a listing.
fn check_name(what: &str, name: &str) -> Result<()> {
    if name.trim() != name || name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(Error::invalid(format!(
            "the name of {what} has 1 to {LONGEST_NAME} characters, with no white space around them"
        )));
    }
    if name::hides(name) {
        return Err(Error::invalid(format!(
            "the name of {what} has no control characters, and none that are not seen"
        )));
    }
    if name.starts_with("ptc_") {
        return Err(Error::invalid(format!("the name of {what} does not begin with ptc_, as ids and secrets do")));
    }
    Ok(())
}

/// Those of `known` that `which` names: in this very spelling, or where there are none, in any.
fn named<T>(mut known: Vec<T>, which: &str, name: impl Fn(&T) -> &str) -> Vec<T> {
    let key = name::key(which);
    known.retain(|each| name::key(name(each)) == key);
    if known.iter().any(|each| name(each) == which) {
        known.retain(|each| name(each) == which);
    }
    known
}

/// The one of `known` that `which` names, if there is one. There may be several from before names were
/// compared in any spelling.
fn one_named<T>(what: &str, known: Vec<T>, which: &str, name: impl Fn(&T) -> &str) -> Result<Option<T>> {
    let mut found = named(known, which, name);
    match (found.pop(), found.is_empty()) {
        (Some(_), false) => {
            Err(Error::invalid(format!("several {what} are {}", shown(which))).hint("name one by its client id"))
        }
        (found, _) => Ok(found),
    }
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

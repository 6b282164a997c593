//! An open store: opening it, changing it in a transaction, and on whose behalf.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Now};
use crate::keys::sealing::StoreKey;
use crate::recording::{AuditContext, AuditRecorder, Recording};
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::model::authority::{Actor, Authority};
use crate::store::model::change::Change;
use crate::store::model::location::StoreLocation;
use crate::store::postgres::{Notification, PostgresSession};
use crate::store::rows::trail;
use crate::store::sql::failure::broken;
use crate::store::sql::row::Row;
use crate::store::{postgres, sqlite};
use portico_core::error::{Error, Result};

/// An open store. Its methods block: for the command line, and for a thread of one's own.
///
/// Every method fails with [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) when the store
/// cannot be read or written; [`Error::cause`] says why.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: StoreConnection,
    pub(super) clock: Clock,
    /// The key that encrypts private keys; without one they are stored as they are.
    pub(super) key: Option<StoreKey>,
    changes: Changes,
    /// On whose behalf it is used.
    pub(super) actor: Actor,
}

/// Differs whenever rights were changed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// How many changes there were.
    number: i64,
    /// The transaction of the last change, if the database tells it: after a backup is restored, `number` counts anew.
    transaction: i64,
}

/// Where changes are recorded, and in which context they are asked for.
#[derive(Debug, Default)]
struct Changes {
    recording: Recording,
    audit_context: AuditContext,
    /// Why the last one could not be recorded, and was not made.
    refusal: Option<Error>,
}

impl Store {
    /// Opens the store at `place`, and migrates an older format. Creates a missing file, readable by its owner
    /// alone (mode 0600), a missing directory (0700), and a missing schema of a PostgreSQL database.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the place contains something else, or a newer
    /// version's store.
    pub fn open(place: impl Into<StoreLocation>) -> Result<Self> {
        Self::open_with(place, Clock::system())
    }

    /// [`Store::open`] with a clock of one's own.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(place: impl Into<StoreLocation>, clock: Clock) -> Result<Self> {
        let connection = match place.into() {
            StoreLocation::File(path) => StoreConnection::File(sqlite::open(&path)?),
            StoreLocation::Postgres(address) => {
                let remote = PostgresSession::open(&address)?;
                postgres::migrate(&remote)?;
                StoreConnection::Postgres(remote)
            }
        };
        Ok(Self { connection, clock, key: None, changes: Changes::default(), actor: Actor::Operator })
    }

    /// Encrypts private keys with `key` from now on, and decrypts those encrypted with it.
    #[must_use]
    pub fn sealed_with(mut self, key: Option<StoreKey>) -> Self {
        self.key = key;
        self
    }

    /// Opens a store that another process has created, without changing it.
    ///
    /// # Errors
    /// As [`Store::open`], and if there is none.
    pub fn open_existing(place: &StoreLocation, key: Option<StoreKey>, clock: Clock) -> Result<Self> {
        let connection = match place {
            StoreLocation::File(path) => StoreConnection::File(sqlite::open_existing(path)?),
            StoreLocation::Postgres(address) => {
                let remote = PostgresSession::open(address)?;
                postgres::check(&remote)?;
                StoreConnection::Postgres(remote)
            }
        };
        Ok(Self { connection, clock, key, changes: Changes::default(), actor: Actor::Operator })
    }

    /// Returns a number that changes whenever another connection has written to the same file; `None` if the
    /// database has none.
    pub(crate) fn data_version(&self) -> Result<Option<i64>> {
        match &self.connection {
            StoreConnection::File(connection) => sqlite::data_version(connection).map(Some),
            StoreConnection::Postgres(_) => Ok(None),
        }
    }

    /// How long a statement may wait for another process that has locked the file.
    pub(crate) fn wait_at_most(&self, patience: Duration) -> Result<()> {
        match &self.connection {
            StoreConnection::File(connection) => connection.busy_timeout(patience).map_err(broken),
            StoreConnection::Postgres(_) => Ok(()),
        }
    }

    /// Calls `hear` for every change by other sessions, and for their messages, if the database supports it. `hear`
    /// is called on another thread, and must return at once.
    pub(crate) fn listen(&self, hear: impl Fn(Notification<'_>) + Send + Sync + 'static) -> Result<()> {
        match &self.connection {
            StoreConnection::File(_) => Ok(()),
            StoreConnection::Postgres(remote) => remote.listen(hear),
        }
    }

    /// Notifies the subscribers in all processes that a connection's catalogue has changed. A file has one process.
    pub(crate) fn notify_catalog_changed(&self, payload: &str) -> Result<()> {
        match &self.connection {
            StoreConnection::File(_) => Ok(()),
            StoreConnection::Postgres(remote) => remote.notify_catalog_changed(payload),
        }
    }

    /// Returns the current revision of the rights.
    pub(crate) fn revision(&self) -> Result<Revision> {
        let transaction = match &self.connection {
            StoreConnection::File(_) => "0",
            StoreConnection::Postgres(_) => "CAST(CAST(xmin AS text) AS bigint)",
        };
        let sql = format!("SELECT number, {transaction} FROM revision");
        let read = |row: &Row<'_>| Ok(Revision { number: row.get(0)?, transaction: row.get(1)? });
        self.connection.query_one(&sql, (), read)
    }

    /// Whether the store has exactly the format that this program reads: a newer one may have changed
    /// it under us.
    pub(super) fn check(&self) -> Result<()> {
        match &self.connection {
            StoreConnection::File(connection) => sqlite::check(connection),
            StoreConnection::Postgres(remote) => postgres::check(remote),
        }
    }

    /// Overwrites deleted content, also in the log of a file, and empties the log. What a PostgreSQL database keeps
    /// of former rows is up to the database. Returns false if a reader still uses the former content; the next
    /// emptying of the log then does it.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn wipe(&self) -> Result<bool> {
        match &self.connection {
            StoreConnection::File(connection) => sqlite::empty_log(connection),
            StoreConnection::Postgres(_) => Ok(true),
        }
    }

    /// Whether the session with the database has ended.
    pub(super) fn is_closed(&self) -> bool {
        matches!(&self.connection, StoreConnection::Postgres(remote) if remote.is_closed())
    }

    /// Runs `change` in one transaction, exclusive of other writers. Changes of rights use [`Store::change`], which
    /// records them.
    pub(super) fn write<T>(&mut self, change: impl FnOnce(&StoreConnection, Now) -> Result<T>) -> Result<T> {
        let now = self.clock.now();
        self.connection.write(|connection| change(connection, now))
    }
}

/// Each change is recorded before it takes effect. The store has no method that changes rights without a record.
impl Store {
    /// Has each change recorded by `recorder`, as asked for in `audit_context`, before it takes effect.
    #[must_use]
    pub fn recording(mut self, recorder: Arc<dyn AuditRecorder>, audit_context: AuditContext) -> Self {
        self.changes = Changes { recording: Recording::by(recorder), audit_context, refusal: None };
        self
    }

    /// Does `work`, with its changes recorded as asked for in `audit_context`.
    ///
    /// # Errors
    /// The outer error is the store's or that of `work`. The inner error says that a change could not be recorded, and
    /// was not made.
    pub(crate) fn recorded<T>(
        &mut self,
        recording: &Recording,
        audit_context: &AuditContext,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T>> {
        let now = Changes { recording: recording.clone(), audit_context: audit_context.clone(), refusal: None };
        let before = std::mem::replace(&mut self.changes, now);
        let done = work(self);
        match std::mem::replace(&mut self.changes, before).refusal {
            Some(refusal) => Ok(Err(refusal)),
            None => done.map(Ok),
        }
    }

    /// Runs changes of rights in one transaction, and records them if something was changed.
    pub(super) fn change<T, C: IntoIterator<Item = Change>>(
        &mut self,
        change: impl FnOnce(&StoreConnection, Now) -> Result<(T, C)>,
    ) -> Result<T> {
        let now = self.clock.now();
        let Changes { recording, audit_context, refusal } = &mut self.changes;
        let mut recorded: Vec<Change> = Vec::new();
        let done = self.connection.write(|connection| {
            let (done, changes) = change(connection, now)?;
            let changes: Vec<Change> = changes.into_iter().collect();
            if !changes.is_empty() {
                let kept =
                    recording.record(&changes, audit_context).inspect_err(|error| *refusal = Some(error.clone()))?;
                recorded = changes;
                trail::append(connection, &kept.records, kept.most)?;
            }
            Ok(done)
        });
        if done.is_err() && !recorded.is_empty() {
            recording.unconfirmed(&recorded, audit_context);
        }
        done
    }
}

/// On whose behalf the store is used.
impl Store {
    /// Uses the store without authority: operations for administrators fail until one is named.
    pub(crate) fn of_nobody(mut self) -> Self {
        self.actor = Actor::Nobody;
        self
    }

    /// Runs `work` on behalf of the administrator in `session`.
    ///
    /// # Errors
    /// Those of `work`; [`Kind::Unauthenticated`](portico_core::error::Kind::Unauthenticated) if the session has
    /// ended, [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) if it is not an administrator's.
    pub(crate) fn acting<T>(&mut self, session: &Digest, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.actor, Actor::Session(*session));
        let done = self.authority().and_then(|_| work(self));
        self.actor = before;
        done
    }

    /// As [`Store::change`], with the authority on whose behalf the store is used.
    pub(super) fn administer<T, C: IntoIterator<Item = Change>>(
        &mut self,
        change: impl FnOnce(&StoreConnection, Now, &Authority) -> Result<(T, C)>,
    ) -> Result<T> {
        let actor = self.actor;
        self.change(|connection, now| change(connection, now, &actor.authority(connection, now)?))
    }

    /// Returns the current authority on whose behalf the store is used.
    pub(super) fn authority(&self) -> Result<Authority> {
        self.actor.authority(&self.connection, self.clock.now())
    }
}

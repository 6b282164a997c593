//! The store in PostgreSQL: a session in a schema of our own; transactions take turns by locking one row.

use std::rc::Rc;
use std::time::Duration;

use rusqlite::types::Value;

use crate::store::postgres::statements::{numbered, ours};
use crate::store::sql::failure::{broken, unavailable};
use crate::store::sql::format::quoted;
use crate::store::sql::params::Params;
use crate::store::sql::row::{BufferedRow, Row};
use portico_core::error::{Error, Kind, Result};
use portico_sources::Pooler;
use portico_sources::postgres::Address;
use portico_sources::postgres::blocking::{self, Session};

/// The schema, unless the URL or the role has a `search_path`.
const SCHEMA: &str = "portico";

/// How long an attempt to connect may take, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a statement may take, waiting for another writer included.
const PATIENCE: Duration = Duration::from_secs(3);

/// The channel of notifications of changes.
const CHANNEL: &str = "portico_store";

/// The channel on which processes notify each other of catalogue changes. All schemas of a database share it: the
/// ids of connections distinguish them.
const CATALOGUES: &str = "portico_catalogue";

/// Begins a writing transaction, of which only one runs at a time in all processes: as in SQLite, reading and then
/// writing in it is one step. Readers do not wait.
pub(crate) const WRITE: &str = "BEGIN; SELECT number FROM revision FOR UPDATE";

/// Begins a transaction that sees one moment.
pub(crate) const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The sources of a search path that was not set explicitly.
const UNCHOSEN: [&str; 2] = ["default", "configuration file"];

/// A notification of another session.
pub(crate) enum Notification<'a> {
    /// Something that is kept has changed.
    Changed,
    /// The payload given to [`PostgresSession::notify_catalog_changed`].
    CatalogChanged(&'a str),
}

/// A session with the store's tables in front.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    session: Session,
    schema: String,
}

impl PostgresSession {
    /// Connects, and finds out which schema is meant.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        if address.pooler == Pooler::Transaction {
            return Err(Error::invalid("the store cannot be behind a pooler in transaction mode")
                .hint("give the address of the server itself, or of a pooler in session mode"));
        }
        let session = Session::open(address, CONNECT, PATIENCE).map_err(away)?;
        let mut remote = Self { session, schema: String::new() };
        let sql = "SELECT source, setting, current_user::text FROM pg_catalog.pg_settings WHERE name = 'search_path'";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Vec<(String, String, String)> = remote.query(sql, Vec::new(), read)?;
        let (source, setting, own) = found.into_iter().next().unwrap_or_default();
        remote.schema = match first(&setting) {
            _ if UNCHOSEN.contains(&source.as_str()) => SCHEMA.to_owned(),
            first if first == "$user" => own,
            first if first.is_empty() => SCHEMA.to_owned(),
            first => first,
        };
        // Only temporary objects after it, so that no other schema's objects with our names are found.
        let path = format!("SET search_path = {}, pg_temp", quoted(&remote.schema));
        remote.batch(&path)?;
        Ok(remote)
    }

    /// The name of the schema.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// The schema's name as SQL writes it.
    pub(crate) fn quoted_schema(&self) -> String {
        quoted(&self.schema)
    }

    /// Whether the session has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Calls `hear` for every notification. Notifications may be lost with the session.
    pub(crate) fn listen(&self, hear: impl Fn(Notification<'_>) + Send + Sync + 'static) -> Result<()> {
        self.session.on_notification(move |channel, payload| {
            hear(if channel == CATALOGUES { Notification::CatalogChanged(payload) } else { Notification::Changed });
        });
        self.batch(&format!("LISTEN {CHANNEL}; LISTEN {CATALOGUES}"))
    }

    pub(crate) fn notify_catalog_changed(&self, payload: &str) -> Result<()> {
        let payload = vec![(None, Value::Text(payload.to_owned()))];
        let sql = format!("SELECT pg_catalog.pg_notify('{CATALOGUES}', ?1)");
        self.execute(&sql, payload).map(drop)
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.session.batch(sql).map_err(failed)
    }

    /// Runs statements that may take longer than others do.
    pub(crate) fn batch_within(&self, sql: &str, patience: Duration) -> Result<()> {
        self.session.batch_within(sql, patience).map_err(failed)
    }

    pub(crate) fn execute(&self, sql: &str, params: Params<'_>) -> Result<usize> {
        let (sql, values) = numbered(sql, params)?;
        let rows = self.session.execute(&sql, values).map_err(failed)?;
        Ok(usize::try_from(rows).unwrap_or(usize::MAX))
    }

    pub(crate) fn query<T>(
        &self,
        sql: &str,
        params: Params<'_>,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (sql, values) = numbered(sql, params)?;
        let answer = self.session.query(&sql, values).map_err(failed)?;
        let columns: Rc<[String]> = answer.columns.into();
        let rows = answer.rows.into_iter().map(|values| {
            let values = values.into_iter().map(ours).collect();
            read(&Row::Postgres(&BufferedRow { columns: Rc::clone(&columns), values }))
        });
        rows.collect()
    }

    /// Runs `work` between `begin` and COMMIT; undone when it fails or panics.
    pub(crate) fn within<T>(&self, begin: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.within_long(begin, PATIENCE, work)
    }

    /// The same, where `begin` waits for others for so long.
    pub(crate) fn within_long<T>(
        &self,
        begin: &str,
        patience: Duration,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let undo = Undo(&self.session);
        self.batch_within(begin, patience)?;
        let done = work()?;
        self.batch("COMMIT")?;
        std::mem::forget(undo);
        Ok(done)
    }
}

/// Ends a transaction that did not come to its end.
struct Undo<'a>(&'a Session);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // A session that failed takes its transaction with it.
        if !self.0.is_closed() {
            let _ = self.0.batch("ROLLBACK");
        }
    }
}

fn failed(failure: blocking::Failure) -> Error {
    match failure {
        blocking::Failure::Taken => broken("a name is taken"),
        blocking::Failure::Other(error) => away(error),
    }
}

/// The store's own words, with the server's for the log.
fn away(error: Error) -> Error {
    if error.kind == Kind::Invalid {
        return error;
    }
    unavailable().because(error.cause().unwrap_or(&error.message))
}

/// The first schema of a search path.
fn first(path: &str) -> String {
    let path = path.trim();
    match path.strip_prefix('"') {
        None => path.split(',').next().unwrap_or_default().trim().to_owned(),
        Some(rest) => {
            let mut name = String::new();
            let mut letters = rest.chars().peekable();
            while let Some(letter) = letters.next() {
                if letter == '"' && letters.next_if_eq(&'"').is_none() {
                    break;
                }
                name.push(letter);
            }
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_schema_of_a_path_is_found() {
        let cases = [("portico", "portico"), ("\"Por\"\"tico\", public", "Por\"tico"), (" a , b", "a"), ("", "")];
        for (path, schema) in cases {
            assert_eq!(first(path), schema, "{path}");
        }
        assert_eq!(quoted("Por\"tico"), "\"Por\"\"tico\"");
    }
}

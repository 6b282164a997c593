//! The store in PostgreSQL: a session in a schema of our own, statements in its own placeholders, and
//! transactions that take turns at one row.

pub(super) mod schema;

use std::rc::Rc;
use std::time::Duration;

use rusqlite::types::Value;

use super::Notification;
use super::connection::{Column, Failure, Given, Read, broken, unavailable};
use crate::error::{Error, Kind, Result};
use crate::source::Pooler;
use crate::source::postgres::Address;
use crate::source::postgres::blocking::{self, Session};

/// The schema, unless the URL or the role has a `search_path`.
const SCHEMA: &str = "portico";

/// How long an attempt to connect may take, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a statement may take, waiting for another writer included.
const PATIENCE: Duration = Duration::from_secs(3);

/// What every change is told on.
const CHANNEL: &str = "portico_store";

/// What processes tell each other of catalogues on. The schemas of a database share it: the ids of
/// connections tell them apart.
const CATALOGUES: &str = "portico_catalogue";

/// Begins a transaction of which there is one at a time, in all processes: as SQLite has it, and so
/// what is read in it and then written is one step. Readers do not wait.
pub(super) const WRITE: &str = "BEGIN; SELECT number FROM revision FOR UPDATE";

/// Begins a transaction that sees one moment.
pub(super) const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Where the search path comes from when nobody chose one.
const UNCHOSEN: [&str; 2] = ["default", "configuration file"];

/// A session with the store's tables in front.
#[derive(Debug)]
pub(super) struct Remote {
    session: Session,
    schema: String,
}

/// One row of an answer.
pub(super) struct Row {
    columns: Rc<[String]>,
    values: Vec<Value>,
}

impl Row {
    /// The value of one column.
    pub(super) fn get(&self, column: &impl Column) -> Option<&Value> {
        self.values.get(column.among(&self.columns)?)
    }
}

impl Remote {
    /// Connects, and finds out which schema is meant.
    pub(super) fn open(address: &Address) -> Result<Self> {
        if address.pooler == Pooler::Transaction {
            return Err(Error::invalid("the store cannot be behind a pooler in transaction mode")
                .hint("give the address of the server itself, or of a pooler in session mode"));
        }
        let session = Session::open(address, CONNECT, PATIENCE).map_err(away)?;
        let mut remote = Self { session, schema: String::new() };
        let sql =
            "SELECT source, setting, current_user::text AS own FROM pg_catalog.pg_settings WHERE name = 'search_path'";
        let rows = remote.query(sql, Vec::new()).map_err(broken)?;
        let text = |column: &'static str| match rows.first().and_then(|row| row.get(&column)) {
            Some(Value::Text(text)) => text.as_str(),
            _ => "",
        };
        remote.schema = match first(text("setting")) {
            _ if UNCHOSEN.contains(&text("source")) => SCHEMA.to_owned(),
            first if first == "$user" => text("own").to_owned(),
            first if first.is_empty() => SCHEMA.to_owned(),
            first => first,
        };
        // Behind it nothing of others that has our names.
        let path = format!("SET search_path = {}, pg_temp", quoted(&remote.schema));
        remote.batch(&path).map_err(broken)?;
        Ok(remote)
    }

    /// The name of the schema.
    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// The schema's name as SQL writes it.
    pub(super) fn quoted_schema(&self) -> String {
        quoted(&self.schema)
    }

    /// Whether the session has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Calls `hear` whenever somebody has changed or said something. Words may be lost with the session.
    pub(super) fn listen(&self, hear: impl Fn(Notification<'_>) + Send + Sync + 'static) -> Result<()> {
        self.session.on_notification(move |channel, payload| {
            hear(if channel == CATALOGUES { Notification::Catalogue(payload) } else { Notification::Changed });
        });
        self.batch(&format!("LISTEN {CHANNEL}; LISTEN {CATALOGUES}")).map_err(broken)
    }

    pub(super) fn notify_catalogue(&self, payload: &str) -> Result<()> {
        let payload = vec![(None, Value::Text(payload.to_owned()))];
        let sql = format!("SELECT pg_catalog.pg_notify('{CATALOGUES}', ?1)");
        self.execute(&sql, payload).map(drop).map_err(broken)
    }

    pub(super) fn batch(&self, sql: &str) -> Read<()> {
        self.session.batch(sql).map_err(failed)
    }

    /// Runs statements that may take longer than others do.
    pub(super) fn batch_within(&self, sql: &str, patience: Duration) -> Read<()> {
        self.session.batch_within(sql, patience).map_err(failed)
    }

    pub(super) fn execute(&self, sql: &str, given: Given<'_>) -> Read<usize> {
        let (sql, values) = numbered(sql, given)?;
        let rows = self.session.execute(&sql, values).map_err(failed)?;
        Ok(usize::try_from(rows).unwrap_or(usize::MAX))
    }

    pub(super) fn query(&self, sql: &str, given: Given<'_>) -> Read<Vec<Row>> {
        let (sql, values) = numbered(sql, given)?;
        let answer = self.session.query(&sql, values).map_err(failed)?;
        let columns: Rc<[String]> = answer.columns.into();
        let row = |values: Vec<blocking::Value>| Row {
            columns: Rc::clone(&columns),
            values: values.into_iter().map(ours).collect(),
        };
        Ok(answer.rows.into_iter().map(row).collect())
    }

    /// Runs `work` between `begin` and COMMIT; undone when it fails or panics.
    pub(super) fn within<T>(&self, begin: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.within_long(begin, PATIENCE, work)
    }

    /// The same, where `begin` waits for others for so long.
    fn within_long<T>(&self, begin: &str, patience: Duration, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let undo = Undo(&self.session);
        self.batch_within(begin, patience).map_err(broken)?;
        let done = work()?;
        self.batch("COMMIT").map_err(broken)?;
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

fn failed(failure: blocking::Failure) -> Failure {
    match failure {
        blocking::Failure::Taken => Failure::Taken,
        blocking::Failure::Other(error) => Failure::Other(away(error)),
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

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn ours(value: blocking::Value) -> Value {
    match value {
        blocking::Value::Null => Value::Null,
        blocking::Value::Integer(value) => Value::Integer(value),
        blocking::Value::Text(value) => Value::Text(value),
        blocking::Value::Octets(value) => Value::Blob(value),
    }
}

fn theirs(value: Value) -> Read<blocking::Value> {
    Ok(match value {
        Value::Null => blocking::Value::Null,
        Value::Integer(value) => blocking::Value::Integer(value),
        Value::Text(value) => blocking::Value::Text(value),
        Value::Blob(value) => blocking::Value::Octets(value),
        Value::Real(_) => return Err(Failure::Other(unavailable().because("the store has no fractions"))),
    })
}

/// `sql` with PostgreSQL's placeholders, and the values in their order. Texts in quotation marks are
/// left alone.
fn numbered(sql: &str, given: Given<'_>) -> Read<(String, Vec<blocking::Value>)> {
    let mut text = String::with_capacity(sql.len() + 8);
    let mut letters = sql.char_indices().peekable();
    let mut in_quotes = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => in_quotes = !in_quotes,
            // A cast.
            ':' if letters.next_if(|(_, next)| *next == ':').is_some() => text.push(':'),
            '?' if !in_quotes => {
                text.push('$');
                continue;
            }
            ':' if !in_quotes && letters.peek().is_some_and(|(_, next)| next.is_ascii_lowercase()) => {
                while letters.next_if(|(_, next)| next.is_ascii_alphanumeric() || *next == '_').is_some() {}
                let end = letters.peek().map_or(sql.len(), |(end, _)| *end);
                let name = sql.get(at..end).unwrap_or_default();
                let number = given.iter().position(|(known, _)| *known == Some(name));
                let number =
                    number.ok_or_else(|| Failure::Other(unavailable().because(format!("{name} has no value"))))?;
                text.push_str(&format!("${}", number + 1));
                continue;
            }
            _ => {}
        }
        text.push(letter);
    }
    let values = given.into_iter().map(|(_, value)| theirs(value)).collect::<Read<_>>()?;
    Ok((text, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_and_texts_left_alone() {
        let given = || vec![(Some(":id"), Value::Integer(7)), (Some(":now_at"), Value::Null)];
        let (sql, values) =
            numbered("SET a = :now_at, b = 'it''s :id?' WHERE id=:id AND c::text = :id", given()).unwrap();
        assert_eq!(sql, "SET a = $2, b = 'it''s :id?' WHERE id=$1 AND c::text = $1");
        assert_eq!(values, [blocking::Value::Integer(7), blocking::Value::Null]);
        let (sql, _) = numbered("a = ?1 AND b > ?2 OR c = ?1", vec![(None, Value::Null), (None, Value::Null)]).unwrap();
        assert_eq!(sql, "a = $1 AND b > $2 OR c = $1");
        assert!(numbered("a = :unknown", given()).is_err());
    }

    #[test]
    fn the_first_schema_of_a_path_is_found() {
        let cases = [("portico", "portico"), ("\"Por\"\"tico\", public", "Por\"tico"), (" a , b", "a"), ("", "")];
        for (path, schema) in cases {
            assert_eq!(first(path), schema, "{path}");
        }
        assert_eq!(quoted("Por\"tico"), "\"Por\"\"tico\"");
    }
}

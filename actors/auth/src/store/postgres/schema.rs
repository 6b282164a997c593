//! The schema's format and its migrations. The tables themselves are in `migrations/postgres/`, under the same
//! versions as those of the SQLite file.

use std::time::Duration;

use rusqlite::types::Value;

use crate::clock::Clock;
use crate::store::postgres::session::PostgresSession;
use crate::store::sql::format::{Migrations, migrations, quoted};
use crate::store::sql::{duplicate_emails, format};
use portico_core::error::{Error, Kind, Result};

/// Each step of the format, under the version that it leads to.
const MIGRATIONS: Migrations = migrations!("postgres");

const _: () = assert!(matches!(MIGRATIONS, [.., (format::CURRENT, _)]), "the last step leads to the current version");

/// Half of the key of the lock under which the schema is changed: "Port" in ASCII.
const LOCK: i64 = 0x506f_7274;

/// How long a step of the format may take, waiting for another process included.
const PATIENCE: Duration = Duration::from_mins(5);

/// Tables without content that authentication depends on.
const UNCOUNTED: &str = "'store_format', 'revision', 'audit_records', 'sessions', 'clients', 'authorization_codes', \
     'refresh_tokens'";

/// Brings the schema up to date; many processes may ask for it at once. A user without the right to
/// change tables needs it only where there is something to change.
fn bring_up(remote: &PostgresSession) -> Result<()> {
    let schema = remote.schema();
    let milliseconds = PATIENCE.as_millis();
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = {milliseconds}; SET LOCAL lock_timeout = {milliseconds}; \
         SELECT pg_catalog.pg_advisory_xact_lock({LOCK}, pg_catalog.hashtext({}))",
        literal(schema)
    );
    let changed = remote.within_long(&begin, PATIENCE, || {
        if state(remote)? == FoundSchema::Missing {
            remote.batch(&format!("CREATE SCHEMA {}", remote.quoted_schema()))?;
        }
        // Read under the lock: another process may have been faster.
        let done = version(remote)?;
        for (step, migration) in MIGRATIONS.iter().filter(|(step, _)| *step > done) {
            remote.batch_within(migration, PATIENCE)?;
            if *step == duplicate_emails::VERSION {
                key_addresses(remote)?;
            }
            let note = "INSERT INTO store_format (one, version) VALUES (1, ?1)
                        ON CONFLICT (one) DO UPDATE SET version = excluded.version";
            remote.execute(note, vec![(None, Value::Integer(*step))])?;
        }
        for table in uncounted(remote)? {
            let table = quoted(&table);
            for (event, rows) in [
                ("INSERT", "NEW TABLE AS changed"),
                ("UPDATE", "OLD TABLE AS former NEW TABLE AS changed"),
                ("DELETE", "OLD TABLE AS changed"),
            ] {
                remote
                    .batch(&format!(
                        "CREATE TRIGGER counted_{} AFTER {event} ON {table} REFERENCING {rows}
                         FOR EACH STATEMENT EXECUTE FUNCTION count_change()",
                        event.to_lowercase()
                    ))?;
            }
            let emptied = format!(
                "CREATE TRIGGER counted_truncate AFTER TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION count_change()"
            );
            remote.batch(&emptied)?;
        }
        Ok(())
    });
    changed.map_err(|error| match error.kind {
        Kind::Unavailable => error
            .hint("the user of store.url may have to be given its schema: CREATE SCHEMA portico AUTHORIZATION <user>"),
        _ => error,
    })
}

fn key_addresses(remote: &PostgresSession) -> Result<()> {
    let users = remote.query(duplicate_emails::USERS, Vec::new(), duplicate_emails::user)?;
    for (sql, params) in duplicate_emails::keyed(&users, Clock::system().now().time()) {
        remote.execute(sql, params)?;
    }
    Ok(())
}

/// Brings the schema up to date, if it is not.
pub(crate) fn migrate(remote: &PostgresSession) -> Result<()> {
    if state(remote)? == FoundSchema::Ours && version(remote)? == format::CURRENT && uncounted(remote)?.is_empty() {
        return Ok(());
    }
    bring_up(remote)
}

/// Whether the schema has exactly the format that this program reads.
pub(crate) fn check(remote: &PostgresSession) -> Result<()> {
    match version(remote)? {
        0 => Err(Error::not_found("there is no store in the schema of store.url yet")
            .hint("the first start of the service makes it, and so does `portico user add`")),
        version => format::check(version),
    }
}

/// What was found in the schema's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundSchema {
    /// The schema does not exist.
    Missing,
    /// The schema is empty.
    Empty,
    /// A store, of any version.
    Ours,
}

fn state(remote: &PostgresSession) -> Result<FoundSchema> {
    let sql = "SELECT n.oid IS NOT NULL, count(c.oid), count(c.oid) FILTER (WHERE c.relname = 'store_format')
               FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = ?1
               LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid GROUP BY n.oid";
    let schema = vec![(None, Value::Text(remote.schema().to_owned()))];
    let found: Vec<(bool, i64, i64)> = remote.query(sql, schema, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    match found.first() {
        Some((false, ..)) => Ok(FoundSchema::Missing),
        Some((true, 0, _)) => Ok(FoundSchema::Empty),
        Some((true, _, 1..)) => Ok(FoundSchema::Ours),
        _ => Err(Error::invalid("the schema of the store holds something else")
            .hint("name another schema, which may not exist yet, as in postgres://…/database?search_path=portico")),
    }
}

/// The schema's version; 0 for an empty one.
fn version(remote: &PostgresSession) -> Result<i64> {
    if state(remote)? != FoundSchema::Ours {
        return Ok(0);
    }
    let found = remote.query("SELECT version FROM store_format", Vec::new(), |row| row.get(0))?;
    format::known(found.first().copied().unwrap_or(0))
}

/// Returns the tables whose changes are not counted yet, also those that a later migration adds.
fn uncounted(remote: &PostgresSession) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = ?1 AND c.relkind = 'r' AND c.relname NOT IN ({UNCOUNTED})
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'counted_truncate')"
    );
    remote.query(&sql, vec![(None, Value::Text(remote.schema().to_owned()))], |row| row.get(0))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

//! Subjects of other issuers that are refused, in the store. Nobody else of theirs is known here.

use rusqlite::named_params;

use crate::clock::Timestamp;
use crate::records::RefusedSubject;
use crate::store::connection::Connection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::sql::failure::{StatementResult, broken};
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};

/// Subjects that are refused, at most.
const MOST: i64 = 100_000;
/// Octets of a subject with its issuer at most.
const LONGEST: usize = 2_048;

impl Store {
    /// Refuses the subject of another issuer, as `issuer#sub`, until this is taken back. To refuse one
    /// twice changes nothing.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for what is no such subject, and when there are too
    /// many.
    pub fn disable_subject(&mut self, subject: &str) -> Result<RefusedSubject> {
        if subject.len() > LONGEST || subject.split_once('#').is_none_or(|(_, sub)| sub.is_empty()) {
            return Err(Error::invalid("a subject of another issuer has the form issuer#sub"));
        }
        let actor = self.actor;
        self.change_if(|connection, now| {
            actor.authority(connection, now)?.must_reach_all()?;
            if let Some(known) = find(connection, subject)? {
                return Ok((known, None));
            }
            let count = connection.query_row("SELECT count(*) FROM refused_subjects", (), |row| row.get::<_, i64>(0));
            if count.map_err(broken)? >= MOST {
                return Err(Error::invalid("too many subjects of other issuers are refused")
                    .hint("refuse them at their issuer, and enable them here"));
            }
            let sql = "INSERT INTO refused_subjects (subject, disabled_at) VALUES (:subject, :now)";
            connection.execute(sql, named_params! { ":subject": subject, ":now": now.time() }).map_err(broken)?;
            let refused = RefusedSubject { subject: subject.to_owned(), disabled_at: now.time() };
            let change = Change::of("user disable", None, Some(&refused));
            Ok((refused, Some(change)))
        })
    }

    /// Takes back [`Store::disable_subject`].
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) when that subject is not refused.
    pub fn enable_subject(&mut self, subject: &str) -> Result<RefusedSubject> {
        let actor = self.actor;
        self.change(|connection, now| {
            actor.authority(connection, now)?.must_reach_all()?;
            let known = find(connection, subject)?.ok_or_else(|| {
                Error::not_found("no such subject of another issuer is refused").hint("portico user list names them")
            })?;
            connection.execute("DELETE FROM refused_subjects WHERE subject = ?1", [subject]).map_err(broken)?;
            let change = Change::of("user enable", Some(&known), None);
            Ok((known, change))
        })
    }

    /// Every subject of another issuer that is refused.
    pub fn refused_subjects(&self) -> Result<Vec<RefusedSubject>> {
        self.authority()?.must_reach_all()?;
        all(&self.connection)
    }
}

const SELECT: &str = "SELECT subject, disabled_at FROM refused_subjects";

fn record(row: &Row<'_>) -> StatementResult<RefusedSubject> {
    Ok(RefusedSubject { subject: row.get(0)?, disabled_at: row.get::<_, Timestamp>(1)? })
}

fn all(connection: &Connection) -> Result<Vec<RefusedSubject>> {
    connection.query(&format!("{SELECT} ORDER BY subject"), (), record).map_err(broken)
}

fn find(connection: &Connection, subject: &str) -> Result<Option<RefusedSubject>> {
    let found = connection.query(&format!("{SELECT} WHERE subject = ?1"), [subject], record).map_err(broken)?;
    Ok(found.into_iter().next())
}

//! Refused subjects of other issuers, in the store. Other subjects of theirs are not stored.

use rusqlite::named_params;

use crate::records::RefusedSubject;
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};

/// Subjects that are refused, at most.
const MOST: i64 = 100_000;
/// Octets of a subject with its issuer at most.
const LONGEST: usize = 2_048;

impl Store {
    /// Refuses the subject of another issuer, as `issuer#sub`, until this is reversed. Refusing one twice changes
    /// nothing.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is not such a subject, and if there are too
    /// many.
    pub fn disable_subject(&mut self, subject: &str) -> Result<RefusedSubject> {
        if subject.len() > LONGEST || subject.split_once('#').is_none_or(|(_, sub)| sub.is_empty()) {
            return Err(Error::invalid("a subject of another issuer must have the form issuer#sub"));
        }
        self.administer(|connection, now, authority| {
            authority.must_reach_all()?;
            if let Some(known) = find(connection, subject)? {
                return Ok((known, None));
            }
            if connection.count("refused_subjects", ())? >= MOST {
                return Err(Error::invalid("too many subjects of other issuers are refused")
                    .hint("refuse them at their issuer, and enable them here"));
            }
            let row = named_params! { ":subject": subject, ":disabled_at": now.time() };
            connection.insert("refused_subjects", row)?;
            let refused = RefusedSubject { subject: subject.to_owned(), disabled_at: now.time() };
            let change = Change::new("user disable", None, Some(&refused));
            Ok((refused, Some(change)))
        })
    }

    /// Takes back [`Store::disable_subject`].
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) when that subject is not refused.
    pub fn enable_subject(&mut self, subject: &str) -> Result<RefusedSubject> {
        self.administer(|connection, _, authority| {
            authority.must_reach_all()?;
            let known = find(connection, subject)?.ok_or_else(|| {
                Error::not_found("no such subject of another issuer is refused").hint("`portico user list` names them")
            })?;
            connection.execute("DELETE FROM refused_subjects WHERE subject = ?1", [subject])?;
            let change = Change::new("user enable", Some(&known), None);
            Ok((known, [change]))
        })
    }

    /// Every subject of another issuer that is refused.
    pub fn refused_subjects(&self) -> Result<Vec<RefusedSubject>> {
        self.authority()?.must_reach_all()?;
        self.connection.query(&format!("{SELECT} ORDER BY subject"), (), record)
    }
}

const SELECT: &str = "SELECT subject, disabled_at FROM refused_subjects";

fn record(row: &Row<'_>) -> Result<RefusedSubject> {
    Ok(RefusedSubject { subject: row.get(0)?, disabled_at: row.get(1)? })
}

fn find(connection: &StoreConnection, subject: &str) -> Result<Option<RefusedSubject>> {
    connection.query_opt(&format!("{SELECT} WHERE subject = ?1"), [subject], record)
}

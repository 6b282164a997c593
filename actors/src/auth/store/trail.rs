//! The audit trail in the store: appended to, bounded, read. What a record says is not known here.

use rusqlite::params;

use super::{Store, broken};
use crate::error::Result;

/// A record that is to be kept.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// RFC 3339 in UTC with milliseconds.
    pub time: String,
    /// A JSON object.
    pub record: String,
}

impl Store {
    /// Appends `records` in one transaction, and lets go of the oldest beyond `most`.
    ///
    /// # Errors
    /// When the store cannot be written; then none is kept.
    pub fn append_audit(&mut self, records: &[NewRecord], most: u64) -> Result<()> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.write(|connection, _| {
            let mut statement = connection
                .prepare_cached("INSERT INTO audit_records (time, record) VALUES (?1, ?2)")
                .map_err(broken)?;
            for record in records {
                statement.execute(params![record.time, record.record]).map_err(broken)?;
            }
            connection
                .execute("DELETE FROM audit_records WHERE id <= (SELECT max(id) FROM audit_records) - ?1", [most])
                .map_err(broken)?;
            Ok(())
        })
    }

    /// Up to `most` records behind the number `after`, in order: their numbers and JSON texts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_after(&self, after: i64, most: u32) -> Result<Vec<(i64, String)>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT id, record FROM audit_records WHERE id > ?1 ORDER BY id LIMIT ?2")
            .map_err(broken)?;
        let rows = statement.query_map(params![after, most], |row| Ok((row.get(0)?, row.get(1)?))).map_err(broken)?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map_err(broken)
    }
}

//! The audit trail in the store: appended to, bounded, read.

use rusqlite::params;

use crate::store::open::Store;
use crate::store::rows::trail::{NewRecord, append};
use portico_core::error::Result;

impl Store {
    /// Appends `records` in one transaction, and deletes the oldest beyond `most`.
    ///
    /// # Errors
    /// If the store cannot be written; then none is kept.
    pub fn append_audit(&mut self, records: &[NewRecord], most: u64) -> Result<()> {
        self.write(|connection, _| append(connection, records, most))
    }

    /// Up to `most` records behind the number `after`, in order: their numbers and JSON texts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_after(&self, after: i64, most: u32) -> Result<Vec<(i64, String)>> {
        self.authority()?.must_reach_all()?;
        let sql = "SELECT id, record FROM audit_records WHERE id > ?1 ORDER BY id LIMIT ?2";
        let values = params![after, most];
        self.connection.query(sql, values, |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

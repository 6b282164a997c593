//! The audit trail in the store: appended to, bounded, read. What a record says is not known here.

use rusqlite::{ToSql, params};

use super::connection::Connection;
use super::{Store, broken};
use crate::error::Result;

/// Records that one statement appends: each way to the database is one for as many.
const AT_ONCE: usize = 64;

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
        self.connection.query(sql, values, |row| Ok((row.get(0)?, row.get(1)?))).map_err(broken)
    }
}

/// Appends `records`, if there are any, and lets go of the oldest beyond `most`.
pub(super) fn append(connection: &Connection, records: &[NewRecord], most: u64) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    for records in records.chunks(AT_ONCE) {
        let places: Vec<String> =
            (0..records.len()).map(|row| format!("(?{}, ?{})", 2 * row + 1, 2 * row + 2)).collect();
        let sql = format!("INSERT INTO audit_records (time, record) VALUES {}", places.join(", "));
        let values: Vec<&dyn ToSql> =
            records.iter().flat_map(|record| [&record.time as &dyn ToSql, &record.record]).collect();
        connection.execute(&sql, values.as_slice()).map_err(broken)?;
    }
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    connection
        .execute("DELETE FROM audit_records WHERE id <= (SELECT max(id) FROM audit_records) - ?1", [most])
        .map(drop)
        .map_err(broken)
}

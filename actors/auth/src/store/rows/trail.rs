//! Rows of the audit trail. The content of a record is not known here.

use rusqlite::ToSql;

use crate::store::connection::StoreConnection;
use portico_core::error::Result;

/// The number of records that one statement appends: one round trip for as many.
const AT_ONCE: usize = 64;

/// A record that is to be kept.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// RFC 3339 in UTC with milliseconds.
    pub time: String,
    /// A JSON object.
    pub record: String,
}

/// Appends `records`, if there are any, and lets go of the oldest beyond `most`.
pub(crate) fn append(connection: &StoreConnection, records: &[NewRecord], most: u64) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    for records in records.chunks(AT_ONCE) {
        let places: Vec<String> =
            (0..records.len()).map(|row| format!("(?{}, ?{})", 2 * row + 1, 2 * row + 2)).collect();
        let sql = format!("INSERT INTO audit_records (time, record) VALUES {}", places.join(", "));
        let values: Vec<&dyn ToSql> =
            records.iter().flat_map(|record| [&record.time as &dyn ToSql, &record.record]).collect();
        connection.execute(&sql, values.as_slice())?;
    }
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    connection
        .execute("DELETE FROM audit_records WHERE id <= (SELECT max(id) FROM audit_records) - ?1", [most])
        .map(drop)
}

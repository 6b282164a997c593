//! A number that grows with every change of who may call, and not with the records of the audit
//! trail. `PRAGMA data_version` alone cannot tell the two apart.
//!
//! Each table is counted unless it is known to hold nothing that credentials are judged by: a table
//! that a later migration adds needs no thought, and a forgotten one is read anew too often rather
//! than never.

use rusqlite::{Connection, TransactionBehavior};

use super::failed;
use crate::error::Result;

/// Tables without a trigger for the event that the alias `e` names.
const UNCOUNTED: &str = "SELECT t.name, e.column1 FROM sqlite_schema t, (VALUES ('INSERT'), ('UPDATE'), ('DELETE')) e
    WHERE t.type = 'table' AND t.name NOT IN ('audit_records', 'revision') AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    AND NOT EXISTS (SELECT 1 FROM sqlite_schema c WHERE c.type = 'trigger' AND c.tbl_name = t.name
        AND c.name = 'counted_' || lower(e.column1) || '_' || t.name)";

/// Makes the triggers that are missing.
pub(super) fn count_changes(connection: &mut Connection) -> Result<()> {
    if uncounted(connection)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Read under the lock: another process may have been faster.
    for (table, event) in uncounted(&transaction)? {
        let name = format!("counted_{}_{table}", event.to_lowercase());
        let trigger = format!(
            "CREATE TRIGGER \"{name}\" AFTER {event} ON \"{table}\" BEGIN UPDATE revision SET number = number + 1; END"
        );
        transaction.execute_batch(&trigger).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn uncounted(connection: &Connection) -> Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(UNCOUNTED).map_err(failed)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
    rows.collect::<rusqlite::Result<Vec<_>>>().map_err(failed)
}

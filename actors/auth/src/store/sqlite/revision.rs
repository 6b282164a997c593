//! A number that grows with every change of rights, and with nothing else: not with audit records, sessions and
//! last-used times. `PRAGMA data_version` alone cannot distinguish them.
//!
//! Each table and each column counts unless authentication is known not to depend on it: what a later migration
//! adds counts by default, and an omission causes a read too many rather than a missed change.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior};

use crate::store::sql::failure::broken;
use crate::store::sql::format::quoted;
use portico_core::error::Result;

/// Tables without content that authentication depends on.
const UNCOUNTED: [&str; 6] =
    ["audit_records", "revision", "sessions", "clients", "authorization_codes", "refresh_tokens"];

/// Columns that only record a use: table, column, and which changes of the column count.
const STAMPS: [(&str, &str, Option<&str>); 2] = [
    ("personal_access_tokens", "last_used_at", None),
    // A grant counts only once it was used for the first time.
    ("grants", "used_at", Some("IS NULL")),
];

/// Creates the missing triggers, and recreates those made for other columns.
pub(crate) fn count_changes(connection: &mut Connection) -> Result<()> {
    if missing(connection)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    // Read under the lock: another process may have been faster.
    for (name, trigger) in missing(&transaction)? {
        transaction.execute_batch(&format!("DROP TRIGGER IF EXISTS {name}; {trigger}")).map_err(broken)?;
    }
    transaction.commit().map_err(broken)
}

/// The triggers that are not there as they should be: names and texts.
fn missing(connection: &Connection) -> Result<Vec<(String, String)>> {
    let read = |sql: &str| -> rusqlite::Result<Vec<(String, String)>> {
        connection.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let triggers = read("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").map_err(broken)?;
    let made: HashMap<String, String> = triggers.into_iter().collect();
    let columns = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                   WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid";
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    for (table, column) in read(columns).map_err(broken)? {
        match tables.last_mut().filter(|(last, _)| *last == table) {
            Some((_, columns)) => columns.push(column),
            None => tables.push((table, vec![column])),
        }
    }
    let counted = tables.iter().filter(|(table, _)| !UNCOUNTED.contains(&table.as_str()));
    let wanted = counted.flat_map(|(table, columns)| {
        ["INSERT", "UPDATE", "DELETE"].map(|event| {
            let name = format!("counted_{}_{table}", event.to_lowercase());
            let when = if event == "UPDATE" { differs(table, columns) } else { String::new() };
            let (quoted_name, on) = (quoted(&name), quoted(table));
            let trigger = format!(
                "CREATE TRIGGER {quoted_name} AFTER {event} ON {on}{when} BEGIN UPDATE revision SET number = number + 1; END"
            );
            (name, quoted_name, trigger)
        })
    });
    let lacks = wanted.filter(|(name, _, trigger)| made.get(name) != Some(trigger));
    Ok(lacks.map(|(_, quoted_name, trigger)| (quoted_name, trigger)).collect())
}

/// The condition under which an update counts: of a table with a stamp, that anything else differs.
fn differs(table: &str, columns: &[String]) -> String {
    let Some((_, stamp, counts)) = STAMPS.iter().find(|(stamped, _, _)| *stamped == table) else {
        return String::new();
    };
    let row = |which: &str| {
        let values = columns.iter().filter_map(|column| match counts {
            _ if column != stamp => Some(format!("{which}.{}", quoted(column))),
            Some(counts) => Some(format!("{which}.{} {counts}", quoted(column))),
            None => None,
        });
        values.collect::<Vec<_>>().join(", ")
    };
    format!(" WHEN ({}) IS NOT ({})", row("OLD"), row("NEW"))
}

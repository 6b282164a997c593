//! The metadata that is read from the file, table by table. Procedures, which the file does not know, are in
//! `execute/procedure`.

use crate::catalog::{Assembled, columns};
use crate::sqlite::catalog::{keys, metadata};
use crate::sqlite::connect::open::OpenDatabase;
use crate::sqlite::failure::translate;
use crate::sqlite::session::cancel_flag::CancelFlag;
use crate::sqlite::session::channel::Sender;
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::pattern::matches;
use portico_core::reply::Part;

/// Rows in one batch.
const BATCH: usize = 256;

/// Sends the rows of `metadata`, ordered by name and position.
///
/// # Errors
/// SQLite's error while reading the catalogue.
pub(crate) fn list(
    opened: &mut OpenDatabase,
    cancel: &CancelFlag,
    sender: &Sender,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    name: &str,
) -> Result<()> {
    sender.send(Part::Columns(columns(metadata)))?;
    let (connection, authorizer) = (&opened.connection, &opened.authorizer);
    let explain = |error: rusqlite::Error| translate(&error, None, cancel);
    let tables = authorizer.trusting(|| metadata::tables(connection)).map_err(explain)?;
    let wanted = |table: &str| matches(narrow.table.as_deref(), table);
    let mut rows = Vec::new();
    for table in &tables {
        if let Some(verdict) = cancel.verdict() {
            return Err(verdict);
        }
        // The keys that refer to a table are found with the tables that have them.
        let is_wanted = wanted(&table.name) && matches(narrow.table_type.as_deref(), table.kind);
        if metadata != MetadataKind::ExportedKeys && !is_wanted {
            continue;
        }
        let found = authorizer.trusting(|| match metadata {
            MetadataKind::Tables => Ok(vec![metadata::table_row(connection, name, table)]),
            MetadataKind::TableDetails => Ok(vec![metadata::detail_row(connection, name, table)]),
            MetadataKind::Columns => {
                let references = keys::references(connection, &table.name, &tables).unwrap_or_default();
                Ok(metadata::column_rows(connection, name, table, &references, narrow))
            }
            MetadataKind::PrimaryKeys => keys::primary(connection, name, &table.name),
            MetadataKind::Indexes => keys::indexes(connection, name, &table.name),
            MetadataKind::ExportedKeys => keys::foreign(connection, name, &table.name, &tables, wanted),
            _ => keys::foreign(connection, name, &table.name, &tables, |_| true),
        });
        rows.extend(found.map_err(explain)?);
        if rows.len() >= BATCH {
            sender.send(Part::Rows(Box::new(Assembled(std::mem::take(&mut rows)))))?;
        }
    }
    if !rows.is_empty() {
        sender.send(Part::Rows(Box::new(Assembled(rows))))?;
    }
    sender.send(Part::Done { affected: -1 })
}

//! Listings without the tables that are hidden with what they inherit from: their own names do not say so.

use std::ops::Range;

use crate::catalog;
use crate::exposure::rows::{self, text};
use crate::postgres::walls::objects::HiddenTables;
use portico_core::call::MetadataKind;
use portico_core::error::Result;
use portico_core::reply::{Batch, Results};

/// The rows of a listing that tell of none of `hidden`, and a blank in the place of what refers to one.
pub(crate) fn left_out(results: Results, metadata: MetadataKind, hidden: HiddenTables) -> Results {
    rows::chosen(results, move |batch, row| told(batch, row, metadata, &hidden))
}

fn told(batch: &dyn Batch, row: usize, metadata: MetadataKind, hidden: &HiddenTables) -> Result<Option<Range<usize>>> {
    let hides = |schema: usize, name: usize| Ok(hidden.contains(&(text(batch, row, schema)?, text(batch, row, name)?)));
    Ok(match metadata {
        MetadataKind::Catalogs
        | MetadataKind::Schemas
        | MetadataKind::Procedures
        | MetadataKind::ProcedureParameters => Some(0..0),
        _ if hides(1, 2)? => None,
        MetadataKind::Tables | MetadataKind::PrimaryKeys | MetadataKind::Indexes => Some(0..0),
        MetadataKind::ImportedKeys | MetadataKind::ExportedKeys => {
            if hides(5, 6)? {
                None
            } else {
                Some(0..0)
            }
        }
        MetadataKind::Columns => {
            let place = catalog::place(metadata, "REFERENCES");
            let referred = text(batch, row, place)?;
            Some(if is_hidden(&referred, hidden) { place..place + 1 } else { 0..0 })
        }
        MetadataKind::TableDetails => {
            let (schema, name) = (catalog::place(metadata, "PARENT_SCHEMA"), catalog::place(metadata, "PARENT_NAME"));
            Some(if hides(schema, name)? { schema..name + 1 } else { 0..0 })
        }
    })
}

/// Whether `schema.table.column` is a column of one that is hidden, however it is read: names may have dots in them.
fn is_hidden(column: &str, hidden: &HiddenTables) -> bool {
    let dots: Vec<usize> = column.match_indices('.').map(|(at, _)| at).collect();
    let mut ways = dots.iter().enumerate().flat_map(|(first, at)| {
        dots.iter().skip(first + 1).map(move |other| (column.get(..*at), column.get(at + 1..*other)))
    });
    ways.any(|way| match way {
        (Some(schema), Some(table)) => hidden.contains(&(schema.to_owned(), table.to_owned())),
        _ => false,
    })
}

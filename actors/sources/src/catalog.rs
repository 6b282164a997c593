//! The columns of the catalogue's metadata, the same for every driver (those of keys and indexes, and their
//! numbers, are from JDBC's `DatabaseMetaData`); and a batch of rows in memory, for drivers that assemble such rows
//! themselves.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::stream;

use portico_core::call::MetadataKind;
use portico_core::error::Result;
use portico_core::reply::{Batch, Cell, Column, DataType, Part, Results};

const VARCHAR: DataType = DataType::Varchar;
const INTEGER: DataType = DataType::Integer;
const BIGINT: DataType = DataType::BigInt;
const BOOLEAN: DataType = DataType::Boolean;

/// Labels and types of the columns of a kind of metadata, in the order of the wire.
pub const fn labels(metadata: MetadataKind) -> &'static [(&'static str, DataType)] {
    match metadata {
        MetadataKind::Catalogs => &[("TABLE_CATALOG", VARCHAR)],
        MetadataKind::Schemas => &[("TABLE_CATALOG", VARCHAR), ("TABLE_SCHEMA", VARCHAR)],
        MetadataKind::Tables => &[
            ("TABLE_CATALOG", VARCHAR),
            ("TABLE_SCHEMA", VARCHAR),
            ("TABLE_NAME", VARCHAR),
            ("TABLE_TYPE", VARCHAR),
            ("REMARKS", VARCHAR),
            ("ROW_ESTIMATE", BIGINT),
        ],
        MetadataKind::Columns => &[
            ("TABLE_CATALOG", VARCHAR),
            ("TABLE_SCHEMA", VARCHAR),
            ("TABLE_NAME", VARCHAR),
            ("COLUMN_NAME", VARCHAR),
            ("DATA_TYPE", INTEGER),
            ("TYPE_NAME", VARCHAR),
            ("COLUMN_SIZE", INTEGER),
            ("PRECISION", INTEGER),
            ("SCALE", INTEGER),
            ("REMARKS", VARCHAR),
            ("ORDINAL_POSITION", INTEGER),
            ("IS_NULLABLE", BOOLEAN),
            ("IS_KEY", BOOLEAN),
            ("IS_AUTOINCREMENT", BOOLEAN),
            ("IS_GENERATEDCOLUMN", BOOLEAN),
            ("REFERENCES", VARCHAR),
            ("VALUES", VARCHAR),
        ],
        MetadataKind::Procedures => &[
            ("PROCEDURE_CATALOG", VARCHAR),
            ("PROCEDURE_SCHEMA", VARCHAR),
            ("PROCEDURE_NAME", VARCHAR),
            ("REMARKS", VARCHAR),
            ("PROCEDURE_TYPE", INTEGER),
        ],
        MetadataKind::ProcedureParameters => &[
            ("PROCEDURE_CATALOG", VARCHAR),
            ("PROCEDURE_SCHEMA", VARCHAR),
            ("PROCEDURE_NAME", VARCHAR),
            ("PARAM_NAME", VARCHAR),
            ("PARAM_TYPE", INTEGER),
            ("DATA_TYPE", INTEGER),
            ("TYPE_NAME", VARCHAR),
            ("COLUMN_SIZE", INTEGER),
            ("PRECISION", INTEGER),
            ("SCALE", INTEGER),
            ("REMARKS", VARCHAR),
            ("IS_NULLABLE", BOOLEAN),
            ("ORDINAL_POSITION", INTEGER),
        ],
        MetadataKind::PrimaryKeys => &[
            ("TABLE_CAT", VARCHAR),
            ("TABLE_SCHEM", VARCHAR),
            ("TABLE_NAME", VARCHAR),
            ("COLUMN_NAME", VARCHAR),
            ("KEY_SEQ", INTEGER),
            ("PK_NAME", VARCHAR),
        ],
        MetadataKind::ImportedKeys | MetadataKind::ExportedKeys => &[
            ("PKTABLE_CAT", VARCHAR),
            ("PKTABLE_SCHEM", VARCHAR),
            ("PKTABLE_NAME", VARCHAR),
            ("PKCOLUMN_NAME", VARCHAR),
            ("FKTABLE_CAT", VARCHAR),
            ("FKTABLE_SCHEM", VARCHAR),
            ("FKTABLE_NAME", VARCHAR),
            ("FKCOLUMN_NAME", VARCHAR),
            ("KEY_SEQ", INTEGER),
            ("UPDATE_RULE", INTEGER),
            ("DELETE_RULE", INTEGER),
            ("FK_NAME", VARCHAR),
            ("PK_NAME", VARCHAR),
            ("DEFERRABILITY", INTEGER),
        ],
        MetadataKind::Indexes => &[
            ("TABLE_CAT", VARCHAR),
            ("TABLE_SCHEM", VARCHAR),
            ("TABLE_NAME", VARCHAR),
            ("NON_UNIQUE", BOOLEAN),
            ("INDEX_QUALIFIER", VARCHAR),
            ("INDEX_NAME", VARCHAR),
            ("TYPE", INTEGER),
            ("ORDINAL_POSITION", INTEGER),
            ("COLUMN_NAME", VARCHAR),
            ("ASC_OR_DESC", VARCHAR),
            ("CARDINALITY", BIGINT),
            ("PAGES", BIGINT),
            ("FILTER_CONDITION", VARCHAR),
        ],
        MetadataKind::TableDetails => &[
            ("TABLE_CATALOG", VARCHAR),
            ("TABLE_SCHEMA", VARCHAR),
            ("TABLE_NAME", VARCHAR),
            // The partitioned table that it is a part of.
            ("PARENT_SCHEMA", VARCHAR),
            ("PARENT_NAME", VARCHAR),
            ("PARTITION_KEY", VARCHAR),
            ("SCHEMA_REMARKS", VARCHAR),
            // Whether the caller may read all its rows: it is a plain table, and no policy chooses among them.
            ("IS_READABLE", BOOLEAN),
            // How often it was read, as the engine counts it.
            ("USES", BIGINT),
            // A JSON array of objects with `name`, `rule`, and `column` where the check concerns only one.
            ("CHECKS", VARCHAR),
            // A JSON object: the columns that have a default, with the text of one that is a constant.
            ("DEFAULTS", VARCHAR),
            // A JSON array of what stands behind UNIQUE; the primary key is none of them.
            ("UNIQUE_KEYS", VARCHAR),
        ],
    }
}

/// Returns the index of a column of `metadata`; for an unknown column, the index after the last.
pub fn place(metadata: MetadataKind, label: &str) -> usize {
    let labels = labels(metadata);
    labels.iter().position(|(known, _)| *known == label).unwrap_or(labels.len())
}

/// Returns the column labels of the schema and the name of the object that a row describes, a table or a routine: the
/// one that the filters of the listing are for.
pub const fn object_labels(metadata: MetadataKind) -> [&'static str; 2] {
    match metadata {
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => ["PROCEDURE_SCHEMA", "PROCEDURE_NAME"],
        MetadataKind::PrimaryKeys | MetadataKind::Indexes => ["TABLE_SCHEM", "TABLE_NAME"],
        MetadataKind::ImportedKeys => ["FKTABLE_SCHEM", "FKTABLE_NAME"],
        MetadataKind::ExportedKeys => ["PKTABLE_SCHEM", "PKTABLE_NAME"],
        _ => ["TABLE_SCHEMA", "TABLE_NAME"],
    }
}

/// Returns the noun for the objects that rows of `metadata` describe.
pub const fn noun(metadata: MetadataKind) -> &'static str {
    match metadata {
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => "procedure or function",
        _ => "table or view",
    }
}

/// The columns of a kind of metadata as a result describes them.
pub fn columns(metadata: MetadataKind) -> Arc<[Column]> {
    labels(metadata).iter().map(|(label, data_type)| Column::computed(*label, *data_type)).collect()
}

/// An answer of rows that are in memory.
pub fn assembled(metadata: MetadataKind, rows: Vec<Vec<Cell<'static>>>) -> Results {
    let mut parts = vec![Ok(Part::Columns(columns(metadata)))];
    if !rows.is_empty() {
        parts.push(Ok(Part::Rows(Box::new(Assembled(rows)))));
    }
    parts.push(Ok(Part::Done { affected: -1 }));
    Results::new(false, stream::iter(parts))
}

/// Rows that a driver assembled in memory; only for answers whose size is bounded by the catalogue.
#[derive(Debug)]
pub struct Assembled(pub Vec<Vec<Cell<'static>>>);

impl Batch for Assembled {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn octets(&self) -> usize {
        let value = |cell: &Cell<'_>| match cell {
            Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => text.len(),
            Cell::Bytes(octets) => octets.len(),
            _ => 0,
        };
        self.0.iter().flatten().map(|cell| size_of::<Cell<'_>>() + value(cell)).sum()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        // Cells that a driver does not know are absent.
        let Some(cell) = self.0.get(row).and_then(|row| row.get(column)) else { return Ok(Cell::Null) };
        Ok(match cell {
            Cell::Text(text) => Cell::Text(Cow::Borrowed(text)),
            Cell::Decimal(digits) => Cell::Decimal(Cow::Borrowed(digits)),
            Cell::Json(json) => Cell::Json(Cow::Borrowed(json)),
            Cell::Bytes(octets) => Cell::Bytes(Cow::Borrowed(octets)),
            other => other.clone(),
        })
    }
}

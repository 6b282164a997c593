//! How a result's columns are described on the SQL API.

use portico_actors::reply::{Column, DataType};
use schemars::JsonSchema;
use serde::Serialize;

/// A column of a result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Column")]
pub struct Descriptor<'a> {
    /// Its place in the row, from 0.
    ordinal: usize,
    /// The connection of the underlying table.
    catalog_name: Option<&'a str>,
    /// The schema of the underlying table.
    schema_name: Option<&'a str>,
    /// The underlying table.
    table_name: Option<&'a str>,
    /// The underlying column, else the label.
    column_name: &'a str,
    /// The name in the result: the alias, where there is one.
    column_label: &'a str,
    /// The code of the type.
    #[schemars(extend("enum" = codes()))]
    data_type: u8,
    /// The name of the type.
    #[schemars(extend("enum" = names()))]
    data_type_name: &'static str,
    /// Characters or octets; 0 where the type has no such bound.
    length: i64,
    /// Significant digits; 0 where it has no meaning.
    precision: i64,
    /// Digits behind the decimal point.
    scale: i64,
    /// Whether NULL may occur; true where the source cannot tell.
    nullable: bool,
}

const TYPES: [DataType; 15] = [
    DataType::Binary,
    DataType::Varchar,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Float,
    DataType::Double,
    DataType::Decimal,
    DataType::Numeric,
    DataType::Boolean,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::Uuid,
];

fn codes() -> Vec<u8> {
    TYPES.iter().map(|each| each.code()).collect()
}

fn names() -> Vec<&'static str> {
    TYPES.iter().map(|each| each.name()).collect()
}

/// Describes the columns of one result.
fn describe(columns: &[Column]) -> impl Iterator<Item = Descriptor<'_>> {
    columns.iter().enumerate().map(|(ordinal, column)| Descriptor {
        ordinal,
        catalog_name: column.catalog.as_deref(),
        schema_name: column.schema.as_deref(),
        table_name: column.table.as_deref(),
        column_name: &column.name,
        column_label: &column.label,
        data_type: column.data_type.code(),
        data_type_name: column.data_type.name(),
        length: column.length,
        precision: column.precision,
        scale: column.scale,
        nullable: column.nullable,
    })
}

/// Appends the `schema` array of a result.
pub(crate) fn write_schema(out: &mut Vec<u8>, columns: &[Column]) {
    out.push(b'[');
    for (place, descriptor) in describe(columns).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *out, &descriptor);
    }
    out.push(b']');
}

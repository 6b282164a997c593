//! Describes a result's columns: from the table they come from where there is one, else from the
//! first row. How values are written is in `rows`.

use std::ffi::CStr;
use std::sync::Arc;

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row, Statement};

use crate::sqlite::decode::proof::Proof;
use crate::sqlite::decode::types::{ColumnDecoder, DeclaredType, digits, of_value};
use crate::sqlite::walls::authorizer::Authorizer;
use crate::sqlite::walls::hidden_objects::HiddenObjects;
use portico_core::error::{Error, Result};
use portico_core::reply::{Column, DataType, TextType};

/// A result's columns and the form of their values.
pub(crate) struct Described {
    pub(crate) columns: Arc<[Column]>,
    pub(crate) forms: Vec<ColumnDecoder>,
}

/// Describes the columns of `statement`, whose text is `text`; it is on its `first` row, if it has one. Columns of
/// hidden tables are described by their types only.
pub(crate) fn describe(
    connection: &Connection,
    authorizer: &Authorizer,
    (statement, text): (&Statement<'_>, &str),
    first: Option<&Row<'_>>,
    catalog: &str,
    hiding: Option<&HiddenObjects>,
) -> Result<Described> {
    let mut columns = Vec::with_capacity(statement.column_count());
    let mut forms = Vec::with_capacity(statement.column_count());
    let mut proof = None;
    for index in 0..statement.column_count() {
        let label = statement.column_name(index).map_err(Error::internal)?;
        let class = match first.and_then(|row| row.get_ref(index).ok()) {
            Some(ValueRef::Integer(_)) => Type::Integer,
            Some(ValueRef::Real(_)) => Type::Real,
            Some(ValueRef::Text(_)) => Type::Text,
            Some(ValueRef::Blob(_)) => Type::Blob,
            Some(ValueRef::Null) | None => Type::Null,
        };
        let mut column = Column::computed(label, of_value(class));
        column.precision = digits(column.data_type);
        let mut form = if class == Type::Blob { ColumnDecoder::Octets } else { ColumnDecoder::Plain };
        // A virtual table's column may have no metadata; then it is as good as computed.
        if let Ok(Some((schema, table, name, declared, _, not_null, key, _))) = statement.column_metadata(index) {
            let read = |text: &CStr| text.to_string_lossy().into_owned();
            let table = read(table);
            let proof = *proof.get_or_insert_with(|| authorizer.trusting(|| Proof::read(connection, text)));
            // The columns of an exposed view are described, but not where the view reads them from.
            if proof.has_one_source && !hiding.is_some_and(|hiding| hiding.hidden.has(&table)) {
                column.name = read(name);
                column.table = Some(table.clone());
                column.schema = Some(read(schema));
                column.catalog = Some(catalog.to_owned());
            }
            if let Some(declared) = declared.map(|words| DeclaredType::read(&words.to_string_lossy())).filter(named) {
                form = declared.form;
                let row_id =
                    key && declared.data_type == DataType::BigInt && declared.name.eq_ignore_ascii_case("INTEGER");
                let never_null = not_null || (row_id && authorizer.trusting(|| is_row_id(connection, &table)));
                column.nullable = !(never_null && proof.keeps_nulls_out);
                column.data_type = declared.data_type;
                column.length = declared.length;
                column.precision = declared.precision;
                column.scale = declared.scale.unwrap_or(0);
            } else {
                column.text = TextType::Undeclared;
                column.nullable = !(not_null && proof.keeps_nulls_out);
            }
        }
        columns.push(column);
        forms.push(form);
    }
    Ok(Described { columns: columns.into(), forms })
}

/// A column may be declared without a type.
fn named(declared: &DeclaredType) -> bool {
    !declared.name.is_empty()
}

/// Returns true if a table's key is one column and an alias of the rowid: an INTEGER one then is never NULL, while
/// other keys may be NULL for compatibility with old databases (CREATE TABLE, §3.5 of its page). A key with an
/// index of its own, as `INTEGER PRIMARY KEY DESC` has, is not an alias.
pub(crate) fn is_row_id(connection: &Connection, table: &str) -> bool {
    let count = connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM pragma_table_info(?1, 'main') WHERE pk > 0)
                + (SELECT count(*) FROM pragma_index_list(?1, 'main') WHERE origin = 'pk')",
        )
        .and_then(|mut statement| statement.query_row([table], |row| row.get::<_, i64>(0)));
    count.is_ok_and(|count| count == 1)
}

//! Tables and columns, with remarks. Which comment belongs to what is decided in `comments`.

use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::catalog::labels;
use crate::sqlite::catalog::comments::Remarks;
use crate::sqlite::catalog::{checks, comments};
use crate::sqlite::decode::columns::is_row_id;
use crate::sqlite::decode::types::DeclaredType;
use crate::sqlite::schema::{SCHEMA, lossy};
use crate::sqlite::walls::hidden_objects;
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::pattern::matches;
use portico_core::reply::{Cell, DataType};

/// A row of a listing.
pub(crate) type Row = Vec<Cell<'static>>;

/// A table or view as the catalogue has it.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    is_virtual: bool,
    without_row_id: bool,
    sql: String,
}

/// The longest default in bytes that is told.
const LONGEST_DEFAULT: usize = 40;

/// A column as `table_xinfo` has it.
struct Described {
    ordinal: i64,
    name: String,
    declared: String,
    not_null: bool,
    key: i64,
    /// 1 hidden, 2 and 3 generated.
    hidden: i64,
    /// As it is written.
    default: Option<String>,
}

/// A row of the tables.
pub(crate) fn table_row(connection: &Connection, catalog: &str, table: &Table) -> Row {
    let remarks = comments::read(&table.sql);
    let rows = table.is_plain().then(|| row_estimate(connection, table)).flatten();
    vec![
        text(catalog),
        text(SCHEMA),
        text(&table.name),
        text(table.kind),
        optional(remarks.table.as_deref()),
        rows.map_or(Cell::Null, Cell::Integer),
    ]
}

/// Returns a row of what a digest needs beside the listings. SQLite has no partitions, policies and usage counts, and
/// an error about a check tells its rule.
pub(crate) fn detail_row(connection: &Connection, catalog: &str, table: &Table) -> Row {
    let cell = |label: &str| match label {
        "TABLE_CATALOG" => text(catalog),
        "TABLE_SCHEMA" => text(SCHEMA),
        "TABLE_NAME" => text(&table.name),
        "IS_READABLE" => Cell::Boolean(table.is_plain()),
        "DEFAULTS" => optional(defaults(connection, &table.name).as_deref()),
        _ => Cell::Null,
    };
    labels(MetadataKind::TableDetails).iter().map(|(label, _)| cell(label)).collect()
}

/// The defaults of a table's columns, as a JSON object.
fn defaults(connection: &Connection, table: &str) -> Option<String> {
    let columns = columns(connection, table).unwrap_or_default();
    let default = |column: Described| {
        let default = column.default?;
        Some((column.name, if default.len() > LONGEST_DEFAULT { Value::Null } else { Value::from(default) }))
    };
    serde_json::to_string(&columns.into_iter().filter_map(default).collect::<Map<_, _>>()).ok()
}

impl Table {
    /// Whether it is neither a view nor virtual.
    fn is_plain(&self) -> bool {
        self.kind == "TABLE" && !self.is_virtual
    }
}

/// Rows of a table that are counted one by one.
const MOST_COUNTED: i64 = 1_000;

/// The number of rows of a small table; of a larger one the largest number of a row, where its rows have any.
fn row_estimate(connection: &Connection, table: &Table) -> Option<i64> {
    let name = table.name.replace('"', "\"\"");
    let ask = |text: String| connection.query_row(&text, [], |row| row.get::<_, Option<i64>>(0)).ok().flatten();
    let counted = ask(format!("SELECT count(*) FROM (SELECT 1 FROM main.\"{name}\" LIMIT {})", MOST_COUNTED + 1))?;
    if counted <= MOST_COUNTED {
        return Some(counted);
    }
    let largest = (!table.without_row_id).then(|| ask(format!("SELECT max(rowid) FROM main.\"{name}\"")));
    largest.flatten().filter(|largest| *largest >= counted)
}

/// Returns the rows of a table's columns. A view over a dropped table has none.
pub(crate) fn column_rows(
    connection: &Connection,
    catalog: &str,
    table: &Table,
    references: &[(String, String)],
    narrow: &MetadataFilter,
) -> Vec<Row> {
    let remarks = comments::read(&table.sql);
    let checks = checks::listed_values(&table.sql);
    let columns = columns(connection, &table.name).unwrap_or_default();
    let wanted = columns.iter().filter(|column| matches(narrow.column.as_deref(), &column.name));
    let of = |known: &[(String, String)], name: &str| {
        optional(known.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, it)| it.as_str()))
    };
    let row = |column: &Described| {
        let mut row = column_row(connection, catalog, table, column, &remarks);
        row.extend([of(references, &column.name), of(&checks, &column.name)]);
        row
    };
    wanted.map(row).collect()
}

fn column_row(connection: &Connection, catalog: &str, table: &Table, column: &Described, remarks: &Remarks) -> Row {
    let declared = DeclaredType::read(&column.declared);
    // CREATE TABLE, §5 of its page: such a column is an alias of the rowid, which SQLite assigns.
    let row_id =
        column.key > 0 && column.declared.eq_ignore_ascii_case("INTEGER") && is_row_id(connection, &table.name);
    let mut row = vec![text(catalog), text(SCHEMA), text(&table.name), text(&column.name)];
    row.extend(type_cells(&declared));
    row.extend([
        optional(remarks.column(&column.name)),
        Cell::Integer(column.ordinal + 1),
        Cell::Boolean(!(column.not_null || row_id)),
        Cell::Boolean(column.key > 0),
        Cell::Boolean(row_id),
        Cell::Boolean(column.hidden > 1),
    ]);
    row
}

/// The type's name where none is declared: any value may stand there (STRICT tables, §1).
const UNTYPED: &str = "any";

/// `DATA_TYPE`, `TYPE_NAME`, `COLUMN_SIZE`, `PRECISION` and `SCALE`.
pub(crate) fn type_cells(declared: &DeclaredType) -> [Cell<'static>; 5] {
    let known = |number: i64| if number > 0 { Cell::Integer(number) } else { Cell::Null };
    let exact = matches!(declared.data_type, DataType::Decimal | DataType::Numeric);
    [
        Cell::Integer(i64::from(declared.data_type.code())),
        // What has no declared type compares with nothing else, as `total > '100'` in a view: it is no text.
        text(if declared.name.is_empty() { UNTYPED } else { &declared.name }),
        known(if declared.length > 0 { declared.length } else { declared.precision }),
        known(declared.precision),
        match declared.scale {
            Some(scale) if exact => Cell::Integer(scale),
            _ => Cell::Null,
        },
    ]
}

/// Every table and view, ordered by name.
pub(crate) fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement = connection.prepare_cached(
        "SELECT l.name, l.type, l.wr, coalesce(s.sql, '')
           FROM pragma_table_list AS l
           LEFT JOIN main.sqlite_schema AS s ON s.name = l.name AND s.type IN ('table', 'view')
          WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
          ORDER BY l.name",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Table {
            name: lossy(row, 0)?,
            kind: if lossy(row, 1)? == "view" { "VIEW" } else { "TABLE" },
            is_virtual: lossy(row, 1)? == "virtual",
            without_row_id: row.get(2)?,
            sql: lossy(row, 3)?,
        })
    })?;
    rows.collect()
}

/// Every table and view, and a digest of its definition: the statement that made it, which holds
/// its columns and its comments.
pub(crate) fn definitions(connection: &Connection) -> rusqlite::Result<Vec<crate::Table>> {
    // By name alone: a table whose module is missing is not listed, and does not fail a ping.
    let mut statement = connection.prepare_cached(
        "SELECT name, type, coalesce(sql, '') FROM main.sqlite_schema
          WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| Ok((lossy(row, 0)?, lossy(row, 1)?, lossy(row, 2)?)))?;
    let rows: Vec<(String, String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    // The tables behind a virtual table are not tables of their own.
    let behind = hidden_objects::owners(rows.iter().map(|(name, _, sql)| (name.as_str(), sql.as_str())));
    let tables = rows.into_iter().filter(|(name, ..)| !behind.contains_key(&name.to_ascii_lowercase()));
    let tables = tables.take(usize::from(crate::MOST_TABLES));
    Ok(tables.map(|(name, kind, sql)| crate::Table::new(SCHEMA.to_owned(), name, (kind, sql))).collect())
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Described>> {
    let mut statement = connection.prepare_cached(
        "SELECT cid, name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?1, 'main')
          WHERE hidden <> 1 ORDER BY cid",
    )?;
    let rows = statement.query_map([table], |row| {
        Ok(Described {
            ordinal: row.get(0)?,
            name: lossy(row, 1)?,
            declared: lossy(row, 2)?,
            not_null: row.get(3)?,
            key: row.get(4)?,
            hidden: row.get(5)?,
            default: row.get(6)?,
        })
    })?;
    rows.collect()
}

/// Names of tables and views, for hints.
pub(crate) fn table_names(connection: &Connection) -> Vec<String> {
    tables(connection).unwrap_or_default().into_iter().map(|table| table.name).collect()
}

/// Names of columns of any table or view, for hints.
pub(crate) fn column_names(connection: &Connection) -> Vec<String> {
    let tables = table_names(connection);
    let mut names: Vec<String> = tables
        .iter()
        .flat_map(|table| columns(connection, table).unwrap_or_default())
        .map(|column| column.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A text cell that owns its text.
pub(crate) fn text(text: &str) -> Cell<'static> {
    Cell::Text(text.to_owned().into())
}

/// A text cell, or NULL.
pub(crate) fn optional(value: Option<&str>) -> Cell<'static> {
    value.map_or(Cell::Null, text)
}

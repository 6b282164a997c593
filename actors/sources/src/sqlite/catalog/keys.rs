//! The metadata of keys and indexes, in the columns and numbers of JDBC's `DatabaseMetaData`. What SQLite's own
//! tables do not contain, above all names of constraints, is NULL.

use rusqlite::Connection;

use crate::sqlite::catalog::metadata::{Row, Table, optional, text};
use crate::sqlite::schema::{SCHEMA, lossy};
use portico_core::reply::Cell;
use portico_sql::{Dialect, Kind, tokens};

/// The columns of a table's primary key, in the key's order.
fn primary_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM pragma_table_info(?1, 'main') WHERE pk > 0 ORDER BY pk")?;
    let names = statement.query_map([table], |row| lossy(row, 0))?;
    names.collect()
}

/// The rows of a table's primary key.
pub(crate) fn primary(connection: &Connection, catalog: &str, table: &str) -> rusqlite::Result<Vec<Row>> {
    let columns = primary_columns(connection, table)?;
    let row = |(column, place): (&String, i64)| {
        vec![text(catalog), text(SCHEMA), text(table), text(column), Cell::Integer(place), Cell::Null]
    };
    Ok(columns.iter().zip(1..).map(row).collect())
}

/// One column of a foreign key, as `foreign_key_list` has it.
struct Reference {
    key: i64,
    /// From 0.
    place: i64,
    parent: String,
    from: String,
    /// NULL where the key refers to the parent's primary key without naming it.
    to: Option<String>,
    update: i64,
    delete: i64,
}

impl Reference {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            place: row.get(1)?,
            parent: lossy(row, 2)?,
            from: lossy(row, 3)?,
            to: row.get(4)?,
            update: rule(row, 5)?,
            delete: rule(row, 6)?,
        })
    }
}

/// Returns the rows of a table's foreign keys that match the filter.
pub(crate) fn foreign(
    connection: &Connection,
    catalog: &str,
    table: &str,
    tables: &[Table],
    wanted: impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, seq, \"table\", \"from\", \"to\", on_update, on_delete
           FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq",
    )?;
    let references = statement.query_map([table], Reference::read)?;
    let mut rows = Vec::new();
    let mut implied: Option<(i64, Vec<String>)> = None;
    for reference in references {
        let Reference { key, place, parent, from, to, update, delete } = reference?;
        // A key refers in any case to a table that may not exist yet.
        let known = tables.iter().find(|known| known.name.eq_ignore_ascii_case(&parent));
        let parent = known.map_or(parent, |known| known.name.clone());
        if !wanted(&parent) {
            continue;
        }
        let to = match to {
            Some(to) => Some(to),
            None => {
                let known = match implied.take() {
                    Some((of, columns)) if of == key => columns,
                    _ => primary_columns(connection, &parent)?,
                };
                let column = usize::try_from(place).ok().and_then(|place| known.get(place).cloned());
                implied = Some((key, known));
                column
            }
        };
        rows.push(vec![
            text(catalog),
            text(SCHEMA),
            text(&parent),
            optional(to.as_deref()),
            text(catalog),
            text(SCHEMA),
            text(table),
            text(&from),
            Cell::Integer(place + 1),
            Cell::Integer(update),
            Cell::Integer(delete),
            Cell::Null,
            Cell::Null,
            Cell::Null,
        ]);
    }
    Ok(rows)
}

/// The column that each column of a table refers to, as `schema.table.column`: that of its first key to a table that
/// there is.
pub(crate) fn references(
    connection: &Connection,
    table: &str,
    tables: &[Table],
) -> rusqlite::Result<Vec<(String, String)>> {
    let is_there = |parent: &str| tables.iter().any(|known| known.name == parent);
    let rows = foreign(connection, "", table, tables, is_there)?;
    let told = |row: &Row, at: usize| match row.get(at) {
        Some(Cell::Text(text)) => Some(text.clone().into_owned()),
        _ => None,
    };
    let reference = |row: Row| Some((told(&row, 7)?, format!("{SCHEMA}.{}.{}", told(&row, 2)?, told(&row, 3)?)));
    Ok(rows.into_iter().filter_map(reference).collect())
}

/// `importedKeyCascade` 0, `importedKeyRestrict` 1, `importedKeySetNull` 2, `importedKeyNoAction`
/// 3, `importedKeySetDefault` 4.
fn rule(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<i64> {
    Ok(match lossy(row, column)?.as_str() {
        "CASCADE" => 0,
        "RESTRICT" => 1,
        "SET NULL" => 2,
        "SET DEFAULT" => 4,
        _ => 3,
    })
}

/// The key columns of a table's indexes. The name of a column that is an expression, and of the
/// row's id, is NULL; every index is a tree, `tableIndexOther` 3.
pub(crate) fn indexes(connection: &Connection, catalog: &str, table: &str) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(
        "SELECT i.name, i.\"unique\", x.seqno, x.name, x.\"desc\", coalesce(s.sql, '')
           FROM pragma_index_list(?1, 'main') AS i
           JOIN pragma_index_xinfo(i.name, 'main') AS x
           LEFT JOIN main.sqlite_schema AS s ON s.name = i.name AND s.type = 'index' AND i.partial
          WHERE x.key
          ORDER BY i.\"unique\" DESC, i.name, x.seqno",
    )?;
    let rows = statement.query_map([table], |row| {
        let column: Option<String> = row.get(3)?;
        Ok(vec![
            text(catalog),
            text(SCHEMA),
            text(table),
            Cell::Boolean(!row.get::<_, bool>(1)?),
            Cell::Null,
            text(&lossy(row, 0)?),
            Cell::Integer(3),
            Cell::Integer(row.get::<_, i64>(2)? + 1),
            optional(column.as_deref()),
            text(if row.get(4)? { "D" } else { "A" }),
            Cell::Null,
            Cell::Null,
            optional(condition(&lossy(row, 5)?).as_deref()),
        ])
    })?;
    rows.collect()
}

/// Returns the text after the WHERE of a partial index's own statement.
fn condition(sql: &str) -> Option<String> {
    let mut depth = 0_usize;
    let end = tokens(sql, Dialect::SQLITE).into_iter().find(|token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_word(sql, "WHERE")
    })?;
    sql.get(end.end..).map(|words| words.trim().to_owned())
}

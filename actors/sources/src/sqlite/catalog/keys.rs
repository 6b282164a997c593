//! The facets of keys and indexes, in the columns and numbers of JDBC's `DatabaseMetaData`. What
//! SQLite's own tables of them do not tell, names of constraints above all, is NULL.

use rusqlite::{Connection, Row};

use crate::catalog::{Assembled, columns};
use crate::sqlite::catalog::facets::{optional, table_names, text};
use crate::sqlite::connect::open::OpenDatabase;
use crate::sqlite::lexer;
use crate::sqlite::schema::{SCHEMA, lossy};
use crate::sqlite::session::cancel_flag::CancelFlag;
use crate::sqlite::session::channel::Sender;
use portico_core::call::{Facet, Narrow};
use portico_core::error::Result;
use portico_core::pattern::matches;
use portico_core::reply::{Cell, Part};

type Line = Vec<Cell<'static>>;

/// Sends the rows of `facet`, which is one of keys or indexes, a batch for each table.
///
/// # Errors
/// What SQLite said while reading the catalogue.
pub(crate) fn list(
    opened: &mut OpenDatabase,
    cancel: &CancelFlag,
    sender: &Sender,
    facet: Facet,
    narrow: &Narrow,
    name: &str,
) -> Result<()> {
    use crate::sqlite::failure::{ErrorContext, translate};
    sender.send(Part::Columns(columns(facet)))?;
    let (connection, authorizer) = (&opened.connection, &opened.authorizer);
    let explain = |error: rusqlite::Error| translate(&error, ErrorContext { statement: None, refusal: None, cancel });
    let tables = authorizer.trusting(|| table_names(connection));
    let wanted = |table: &str| matches(narrow.table.as_deref(), table);
    for table in &tables {
        if let Some(verdict) = cancel.verdict() {
            return Err(verdict);
        }
        // The keys that refer to a table are found with the tables that have them.
        if facet != Facet::ExportedKeys && !wanted(table) {
            continue;
        }
        let rows = authorizer.trusting(|| match facet {
            Facet::PrimaryKeys => primary(connection, name, table),
            Facet::Indexes => indexes(connection, name, table),
            Facet::ExportedKeys => foreign(connection, name, table, &tables, wanted),
            _ => foreign(connection, name, table, &tables, |_| true),
        });
        let rows = rows.map_err(explain)?;
        if !rows.is_empty() {
            sender.send(Part::Rows(Box::new(Assembled(rows))))?;
        }
    }
    sender.send(Part::Done { affected: -1 })
}

/// The columns of a table's primary key, in the key's order.
fn primary_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM pragma_table_info(?1, 'main') WHERE pk > 0 ORDER BY pk")?;
    let names = statement.query_map([table], |row| lossy(row, 0))?;
    names.collect()
}

fn primary(connection: &Connection, catalog: &str, table: &str) -> rusqlite::Result<Vec<Line>> {
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

fn foreign(
    connection: &Connection,
    catalog: &str,
    table: &str,
    tables: &[String],
    wanted: impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<Line>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, seq, \"table\", \"from\", \"to\", on_update, on_delete
           FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq",
    )?;
    let references = statement.query_map([table], |row| {
        Ok(Reference {
            key: row.get(0)?,
            place: row.get(1)?,
            parent: lossy(row, 2)?,
            from: lossy(row, 3)?,
            to: row.get(4)?,
            update: rule(row, 5)?,
            delete: rule(row, 6)?,
        })
    })?;
    let mut rows = Vec::new();
    let mut implied: Option<(i64, Vec<String>)> = None;
    for reference in references {
        let Reference { key, place, parent, from, to, update, delete } = reference?;
        // A key refers in any case to a table that may not exist yet.
        let parent = tables.iter().find(|known| known.eq_ignore_ascii_case(&parent)).cloned().unwrap_or(parent);
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

/// `importedKeyCascade` 0, `importedKeyRestrict` 1, `importedKeySetNull` 2, `importedKeyNoAction`
/// 3, `importedKeySetDefault` 4.
fn rule(row: &Row<'_>, column: usize) -> rusqlite::Result<i64> {
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
fn indexes(connection: &Connection, catalog: &str, table: &str) -> rusqlite::Result<Vec<Line>> {
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

/// What stands behind the WHERE of a partial index's own statement.
fn condition(sql: &str) -> Option<String> {
    let mut depth = 0_usize;
    for token in lexer::tokens(sql) {
        if token.is_symbol('(') {
            depth += 1;
        } else if token.is_symbol(')') {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_word("where") {
            let end = token.text.as_ptr().addr() - sql.as_ptr().addr() + token.text.len();
            return sql.get(end..).map(|words| words.trim().to_owned());
        }
    }
    None
}

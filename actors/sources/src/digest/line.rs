//! One table on one line.

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::Value;

use super::facts::{Check, ColumnFacts, ForeignKey, QualifiedName, TableFacts};
use super::words::{comment, count, literal, one_line, type_name};
use portico_sql::quoted;

/// Bytes of the values that a column may have, and of a table's rows.
const MOST_VALUES: usize = 1_000;
/// Bytes of a table's unique keys and checks.
const MOST_RULES: usize = 400;

/// How tables are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style<'a> {
    /// Names in it stand alone.
    pub default_schema: Option<&'a str>,
    /// Whether the reader may write, and has to know which values must be given.
    pub may_write: bool,
    /// Whether comments are left out.
    pub without_remarks: bool,
}

impl Style<'_> {
    pub(super) fn name(&self, (schema, name): &QualifiedName) -> String {
        if schema.is_empty() || self.default_schema == Some(schema) {
            quoted(name).into_owned()
        } else {
            format!("{}.{}", quoted(schema), quoted(name))
        }
    }
}

/// Returns a table's name as written in a statement.
pub fn table_name(table: &TableFacts, style: &Style<'_>) -> String {
    style.name(&table.place)
}

/// The line of `table` alone.
pub fn line(table: &TableFacts, style: &Style<'_>) -> String {
    line_among(table, style, &mut HashSet::new())
}

/// Returns the line of `table`. The values of a type are listed once: `told` contains the types already listed.
pub(super) fn line_among(table: &TableFacts, style: &Style<'_>, told: &mut HashSet<String>) -> String {
    let mut line = String::new();
    if !table.is_table() {
        let _ = write!(line, "{} ", table.kind);
    }
    let _ = write!(line, "{}", style.name(&table.place));
    let keys = table.columns.iter().filter(|column| column.is_key).count();
    for (at, column) in table.columns.iter().enumerate() {
        line.push_str(if at == 0 { "(" } else { ", " });
        write_column(&mut line, table, column, keys == 1, style, told);
    }
    if keys > 1 {
        let names = table.columns.iter().filter(|column| column.is_key).map(|column| column.name.as_str());
        let _ = write!(line, "; PK({})", list(names));
    }
    for key in table.keys.iter().filter(|key| key.columns.len() > 1 && table.has(key)) {
        let to = list(key.to_columns.iter().map(String::as_str));
        let _ = write!(line, "; ({}) → {}({to})", list(key.columns.iter().map(String::as_str)), style.name(&key.to));
    }
    write_rules(&mut line, table, style);
    // Of a source that lists no columns, the name is all.
    line.push_str(if table.columns.is_empty() { "" } else { ")" });
    if let Some(rows) = table.rows {
        let _ = write!(line, " ~{}", count(rows));
    }
    if let Some(by) = &table.partition_key {
        let _ = write!(line, " PARTITION BY {by}");
    }
    if table.partitions > 0 {
        let _ = write!(line, " {} partitions", table.partitions);
    }
    if let Some(remarks) = table.remarks.as_deref().filter(|_| !style.without_remarks) {
        let _ = write!(line, " {}", comment(remarks));
    }
    write_rows(&mut line, table);
    line
}

/// Writes the unique keys and rules that an INSERT must observe. Rules that list values stand at their columns.
fn write_rules(line: &mut String, table: &TableFacts, style: &Style<'_>) {
    let is_listed = |check: &Check| {
        table.columns.iter().any(|column| Some(&column.name) == check.column.as_ref() && column.values.is_some())
    };
    let checks = table.checks.iter().filter(|check| !is_listed(check)).map(|check| ("CHECK", check.rule.as_str()));
    let unique = table.unique_keys.iter().map(|key| ("UNIQUE", key.as_str()));
    let start = line.len();
    for (word, rule) in unique.chain(checks).filter(|_| style.may_write) {
        let rule = one_line(rule);
        if line.len() - start + rule.len() > MOST_RULES {
            line.push_str("; …");
            return;
        }
        let _ = write!(line, "; {word} {rule}");
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| quoted(name).into_owned()).collect::<Vec<_>>().join(",")
}

fn write_column(
    line: &mut String,
    table: &TableFacts,
    column: &ColumnFacts,
    is_alone: bool,
    style: &Style<'_>,
    told: &mut HashSet<String>,
) {
    let _ = write!(line, "{}", quoted(&column.name));
    if !column.type_name.is_empty() {
        let _ = write!(line, " {}", column.type_name);
    }
    if let Some(values) = column.values.as_deref() {
        let is_named = !is_builtin(&column.type_name);
        if !is_named || told.insert(format!("{} {values}", column.type_name)) {
            line.push_str(if is_named { "(" } else { " IN (" });
            write_values(line, values);
            line.push(')');
        }
    }
    let mut references = table.keys.iter().filter(|key| key.columns == [column.name.as_str()]).peekable();
    if column.is_key && is_alone {
        line.push_str(" PK");
    } else if !column.is_nullable
        && !column.is_key
        && (references.peek().is_some() || (style.may_write && !column.is_generated))
    {
        line.push_str(" NOT NULL");
    }
    // Who writes must know whether to give it.
    if column.is_generated && style.may_write {
        line.push_str(" auto");
    }
    if let Some(default) = table.defaults.get(&column.name).filter(|_| style.may_write) {
        let _ = write!(line, " DEFAULT {}", default.as_deref().unwrap_or("…"));
    }
    for key in references {
        let _ = write!(line, " → {}", style.name(&key.to));
        if let [to] = key.to_columns.as_slice() {
            let _ = write!(line, ".{}", quoted(to));
        }
    }
    if let Some(remarks) = column.remarks.as_deref().filter(|_| !style.without_remarks) {
        let _ = write!(line, " {}", comment(remarks));
    }
}

/// Returns true for types whose name says nothing about their values.
fn is_builtin(type_name: &str) -> bool {
    let word = type_name.split(['(', '[', ' ']).next().unwrap_or_default();
    word.is_empty()
        || ["text", "varchar", "char", "bpchar", "name", "citext", "clob", "nvarchar"].contains(&word)
        || ["int", "bigint", "smallint", "tinyint", "numeric", "decimal", "real", "float", "double"]
            .iter()
            .any(|number| word.starts_with(number))
}

/// Writes values of a JSON array as literals, or the fields of a JSON object with their types.
fn write_values(line: &mut String, values: &str) {
    let parts: Vec<String> = match serde_json::from_str(values) {
        Ok(Value::Array(values)) => values.iter().map(value).collect(),
        Ok(Value::Object(fields)) => fields.iter().map(field).collect(),
        _ => return,
    };
    let start = line.len();
    for (at, part) in parts.iter().enumerate() {
        line.push_str(if at == 0 { "" } else { "," });
        if line.len() - start > MOST_VALUES {
            let _ = write!(line, "… {} more", parts.len() - at);
            return;
        }
        line.push_str(part);
    }
}

fn value(value: &Value) -> String {
    match value.as_str() {
        Some(text) => literal(Some(text), false),
        None => literal(Some(&value.to_string()), true),
    }
}

/// A field of a composite type.
fn field((name, type_): (&String, &Value)) -> String {
    match type_.as_str() {
        Some(type_) => format!("{} {}", quoted(name), type_name(type_, 0, 0, 0)),
        None => quoted(name).into_owned(),
    }
}

/// All rows of a small table.
fn write_rows(line: &mut String, table: &TableFacts) {
    if table.lookup.is_empty() {
        return;
    }
    let cells = |row: &Vec<Option<String>>| {
        let cells = row.iter().zip(&table.columns).map(|(cell, column)| literal(cell.as_deref(), column.is_bare()));
        format!("({})", cells.collect::<Vec<_>>().join(","))
    };
    let rows = table.lookup.iter().map(cells).collect::<Vec<_>>().join(",");
    if rows.len() <= MOST_VALUES {
        let _ = write!(line, " rows: {rows}");
    }
}

impl TableFacts {
    /// Returns true if all columns of a key are visible: if one is hidden, the key is left out.
    fn has(&self, key: &ForeignKey) -> bool {
        key.columns.iter().all(|name| self.columns.iter().any(|column| column.name == *name))
    }
}

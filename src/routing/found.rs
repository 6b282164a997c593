//! Listings of a workspace for agents: tables and routines are found as agents write them, or by words, and an empty answer says why.

use std::collections::BTreeSet;

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::reply::Cell;
use portico_actors::source::catalog::{labels, noun, object_labels, place};
use portico_actors::source::{TextRow, table_search};
use portico_actors::workspace::{Relation, Workspace, column};

/// One row of a listing.
type Row = Vec<Cell<'static>>;

/// Returns the requested rows, and a hint about what was not found. `columns` are rows of the metadata of columns,
/// for a search.
pub(super) fn explained(
    workspace: &Workspace,
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    mut rows: Vec<Row>,
    columns: &[TextRow],
) -> (Vec<Row>, Option<String>) {
    let mut hint = None;
    let [schema, name] = object_labels(metadata).map(|label| place(metadata, label));
    let names = |row: &Row| (text(row, schema), text(row, name));
    if !narrow.objects.is_empty() {
        let known: BTreeSet<(String, String)> = rows.iter().map(names).collect();
        let known: Vec<(&str, &str)> = known.iter().map(|(folder, name)| (folder.as_str(), name.as_str())).collect();
        let found = table_search::find(&narrow.objects, &known, &workspace.name, noun(metadata));
        hint = found.hint;
        let place_of = |row: &Row| found.objects.iter().position(|object| *object == names(row));
        rows.retain(|row| place_of(row).is_some());
        // One after the other, as they were asked for.
        rows.sort_by_key(place_of);
    }
    if let Some(words) = &narrow.search {
        let told: Vec<TextRow> =
            rows.iter().map(|row| (0..row.len()).map(|at| Some(text(row, at))).collect()).collect();
        let ranked = table_search::search(words, &told, columns);
        rows = ranked.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
        if rows.is_empty() && hint.is_none() {
            hint = Some(table_search::NO_HIT.to_owned());
        }
    }
    if rows.is_empty() && hint.is_none() {
        hint = Some(format!("the workspace {} has nothing with these names that you may see", workspace.name));
    }
    (rows, hint)
}

/// Adds the workspace's relations: to columns without foreign keys, and to the foreign keys.
pub(super) fn relate(workspace: &Workspace, metadata: MetadataKind, rows: &mut Vec<Row>) {
    match metadata {
        MetadataKind::Columns => relate_columns(workspace, rows),
        MetadataKind::ImportedKeys | MetadataKind::ExportedKeys => {
            let related = workspace.relations.iter().filter_map(|relation| related_key(workspace, metadata, relation));
            let columns = FOREIGN_KEY.map(|label| place(metadata, label));
            let key = |row: &Row| columns.map(|at| text(row, at));
            let known: BTreeSet<_> = rows.iter().map(key).collect();
            rows.extend(related.filter(|row| !known.contains(&key(row))));
        }
        _ => {}
    }
}

/// What a foreign key is known by: its columns, and those that it refers to.
const FOREIGN_KEY: [&str; 6] =
    ["FKTABLE_SCHEM", "FKTABLE_NAME", "FKCOLUMN_NAME", "PKTABLE_SCHEM", "PKTABLE_NAME", "PKCOLUMN_NAME"];

/// Returns a relation as a foreign key that no source enforces, so without a name.
fn related_key(workspace: &Workspace, metadata: MetadataKind, relation: &Relation) -> Option<Row> {
    let (from, to) = (column(&relation.from)?, column(&relation.to)?);
    let names = [from.0, from.1, from.2, to.0, to.1, to.2];
    let cell = |label: &str| match label {
        "PKTABLE_CAT" | "FKTABLE_CAT" => Cell::Text(workspace.name.to_string().into()),
        "KEY_SEQ" => Cell::Integer(1),
        // JDBC DatabaseMetaData: importedKeyNoAction, importedKeyNotDeferrable.
        "UPDATE_RULE" | "DELETE_RULE" => Cell::Integer(3),
        "DEFERRABILITY" => Cell::Integer(7),
        _ => {
            let named = FOREIGN_KEY.iter().zip(names).find(|(known, _)| **known == label);
            named.map_or(Cell::Null, |(_, name)| Cell::Text(name.to_owned().into()))
        }
    };
    Some(labels(metadata).iter().map(|(label, _)| cell(label)).collect())
}

/// Adds the workspace's relations for columns without foreign keys.
fn relate_columns(workspace: &Workspace, rows: &mut [Row]) {
    let at = |label| place(MetadataKind::Columns, label);
    let (schema, table, name) = (at("TABLE_SCHEMA"), at("TABLE_NAME"), at("COLUMN_NAME"));
    let references = at("REFERENCES");
    for row in rows {
        let own = (text(row, schema), text(row, table), text(row, name));
        let is_own = |relation: &&Relation| column(&relation.from) == Some((&own.0, &own.1, &own.2));
        let related = workspace.relations.iter().find(is_own).and_then(|relation| column(&relation.to));
        row.resize(labels(MetadataKind::Columns).len(), Cell::Null);
        if let (Some((folder, table, name)), Some(cell @ Cell::Null)) = (related, row.get_mut(references)) {
            *cell = Cell::Text(format!("{folder}.{table}.{name}").into());
        }
    }
}

fn text(row: &Row, at: usize) -> String {
    match row.get(at) {
        Some(Cell::Text(text)) => text.clone().into_owned(),
        _ => String::new(),
    }
}

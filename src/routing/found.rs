//! Listings of a workspace for agents: tables and routines are found as agents write them, or by words, and an empty answer says why.

use std::collections::BTreeSet;

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::reply::Cell;
use portico_actors::source::catalog::{labels, noun, object_labels, place};
use portico_actors::source::{TextRow, table_search};
use portico_actors::workspace::{MAIN, Workspace};

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

/// Adds the workspace's relations for columns without foreign keys.
pub(super) fn relate(workspace: &Workspace, rows: &mut [Row]) {
    let column = |label| place(MetadataKind::Columns, label);
    let (schema, table, name) = (column("TABLE_SCHEMA"), column("TABLE_NAME"), column("COLUMN_NAME"));
    let references = column("REFERENCES");
    let whole = |name: &str| if name.matches('.').count() == 1 { format!("{MAIN}.{name}") } else { name.to_owned() };
    for row in rows {
        let text = |at: usize| match row.get(at) {
            Some(Cell::Text(text)) => text.as_ref(),
            _ => "",
        };
        let own = format!("{}.{}.{}", text(schema), text(table), text(name));
        let related = workspace.relations.iter().find(|it| whole(&it.from) == own).map(|it| whole(&it.to));
        row.resize(labels(MetadataKind::Columns).len(), Cell::Null);
        if let (Some(to), Some(cell @ Cell::Null)) = (related, row.get_mut(references)) {
            *cell = Cell::Text(to.into());
        }
    }
}

fn text(row: &Row, at: usize) -> String {
    match row.get(at) {
        Some(Cell::Text(text)) => text.clone().into_owned(),
        _ => String::new(),
    }
}

//! Filters results: removes rows and cells, of listings those that mention hidden objects.

use std::ops::Range;

use futures_util::StreamExt;

use crate::catalog;
use portico_core::call::MetadataKind;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Part, Results};

/// The rows of `results` that `choose` says a range for: that of the cells which are left out of them.
pub(crate) fn chosen(
    results: Results,
    mut choose: impl FnMut(&dyn Batch, usize) -> Result<Option<Range<usize>>> + Send + 'static,
) -> Results {
    let (writes, dry_run) = (results.writes, results.dry_run);
    let parts = results.map(move |part| match part? {
        Part::Rows(batch) => {
            let mut kept = Vec::with_capacity(batch.rows());
            for row in 0..batch.rows() {
                kept.extend(choose(batch.as_ref(), row)?.map(|blank| (row, blank)));
            }
            Ok(Part::Rows(Box::new(RowSubset { batch, rows: kept })))
        }
        part => Ok(part),
    });
    // A batch must not be empty.
    let parts = parts.filter(|part| std::future::ready(!matches!(part, Ok(Part::Rows(batch)) if batch.rows() == 0)));
    let mut chosen = Results::new(writes, parts);
    chosen.dry_run = dry_run;
    chosen
}

/// Returns the cells to remove from a row about tables: those that mention another table, which is hidden. Returns
/// `None` if the row itself is about a hidden table.
pub(crate) fn of_tables(
    batch: &dyn Batch,
    row: usize,
    metadata: MetadataKind,
    shows: impl Fn(&str, &str) -> bool,
) -> Result<Option<Range<usize>>> {
    let is_shown = |schema: usize, table: usize| Ok(shows(&text(batch, row, schema)?, &text(batch, row, table)?));
    if !is_shown(1, 2)? {
        return Ok(None);
    }
    Ok(match metadata {
        // A foreign key mentions two tables.
        MetadataKind::ImportedKeys | MetadataKind::ExportedKeys if !is_shown(5, 6)? => None,
        MetadataKind::Columns => {
            let place = catalog::place(metadata, "REFERENCES");
            let referred = text(batch, row, place)?;
            Some(if referred.is_empty() || shows_column(&referred, &shows) { 0..0 } else { place..place + 1 })
        }
        MetadataKind::TableDetails => {
            let (schema, name) = (catalog::place(metadata, "PARENT_SCHEMA"), catalog::place(metadata, "PARENT_NAME"));
            Some(if is_shown(schema, name)? { 0..0 } else { schema..name + 1 })
        }
        _ => Some(0..0),
    })
}

/// Returns true if `schema.table.column` is a column of a table that is shown. Names may contain dots: it is true
/// only if every way to split the name says so.
fn shows_column(column: &str, shows: impl Fn(&str, &str) -> bool) -> bool {
    let dots: Vec<usize> = column.match_indices('.').map(|(at, _)| at).collect();
    let ways = dots.iter().enumerate().flat_map(|(first, at)| {
        dots.iter().skip(first + 1).map(move |other| (column.get(..*at), column.get(at + 1..*other)))
    });
    let mut ways = ways.peekable();
    ways.peek().is_some() && ways.all(|way| matches!(way, (Some(schema), Some(table)) if shows(schema, table)))
}

/// Returns the text of a cell; empty if there is none.
pub(super) fn text(batch: &dyn Batch, row: usize, column: usize) -> Result<String> {
    Ok(match batch.cell(row, column)? {
        Cell::Text(text) => text.into_owned(),
        _ => String::new(),
    })
}

/// Some rows of a batch, each with the cells that are left out of it.
struct RowSubset {
    batch: Box<dyn Batch>,
    rows: Vec<(usize, Range<usize>)>,
}

impl Batch for RowSubset {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn octets(&self) -> usize {
        self.batch.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let (row, blank) = self.rows.get(row).ok_or_else(|| Error::internal("bug: a row lies outside its batch"))?;
        if blank.contains(&column) { Ok(Cell::Null) } else { self.batch.cell(*row, column) }
    }
}

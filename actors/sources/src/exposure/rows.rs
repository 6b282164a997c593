//! Listings of which some rows are told, and of these some cells.

use std::ops::Range;

use futures_util::StreamExt;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Part, Results};

/// The rows of `results` that `choose` says a range for: that of the cells which are left out of them.
pub(crate) fn chosen(
    results: Results,
    choose: impl Fn(&dyn Batch, usize) -> Result<Option<Range<usize>>> + Send + 'static,
) -> Results {
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
    // A batch without rows is none.
    let parts = parts.filter(|part| std::future::ready(!matches!(part, Ok(Part::Rows(batch)) if batch.rows() == 0)));
    Results::new(false, parts)
}

/// The text in this place; an empty one where there is none.
pub(crate) fn text(batch: &dyn Batch, row: usize, column: usize) -> Result<String> {
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
        let (row, blank) = self.rows.get(row).ok_or_else(|| Error::internal("a row beyond the batch"))?;
        if blank.contains(&column) { Ok(Cell::Null) } else { self.batch.cell(*row, column) }
    }
}

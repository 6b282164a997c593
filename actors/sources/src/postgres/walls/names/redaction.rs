//! What the source says on a connection that hides something, without the names of what is hidden: its
//! failures, and results that are its own words about a statement.

use std::sync::Arc;

use futures_util::StreamExt;

use crate::postgres::walls::names::hidden::HiddenNames;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Part, Results};

/// `results` without the names of what is hidden in their texts; of a plan with `brief` only its nodes.
pub(crate) fn redacted(results: Results, names: Arc<HiddenNames>, brief: bool) -> Results {
    let (writes, dry_run) = (results.writes, results.dry_run);
    let mut begun = false;
    let parts = results.map(move |part| match part? {
        Part::Rows(batch) => {
            let mut rows = Vec::with_capacity(batch.rows());
            for row in 0..batch.rows() {
                if !brief || !std::mem::replace(&mut begun, true) || is_node(batch.as_ref(), row)? {
                    rows.push(row);
                }
            }
            Ok(Part::Rows(Box::new(Redacted { batch, names: Arc::clone(&names), rows })))
        }
        part => Ok(part),
    });
    // A batch without rows is none.
    let parts = parts.filter(|part| std::future::ready(!matches!(part, Ok(Part::Rows(batch)) if batch.rows() == 0)));
    let mut redacted = Results::new(writes, parts);
    redacted.dry_run = dry_run;
    redacted
}

/// Whether a line of a plan tells of a node, or of time: other lines hold conditions and columns.
fn is_node(batch: &dyn Batch, row: usize) -> Result<bool> {
    let Cell::Text(line) = batch.cell(row, 0)? else { return Ok(false) };
    let line = line.trim_start();
    Ok(["->", "Planning Time: ", "Execution Time: "].iter().any(|start| line.starts_with(start)))
}

/// Rows that the server wrote about a statement.
struct Redacted {
    batch: Box<dyn Batch>,
    names: Arc<HiddenNames>,
    /// Those that are told.
    rows: Vec<usize>,
}

impl Batch for Redacted {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn octets(&self) -> usize {
        self.batch.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let row = self.rows.get(row).copied().ok_or_else(|| Error::internal("a row beyond the batch"))?;
        Ok(match self.batch.cell(row, column)? {
            Cell::Text(text) => Cell::Text(self.names.without(&text).into_owned().into()),
            Cell::Json(text) => Cell::Json(self.names.without(&text).into_owned().into()),
            cell => cell,
        })
    }
}

/// The failure without the server's hints, which name what is near, and without hidden names.
pub(crate) fn bare(error: Error, names: &HiddenNames) -> Error {
    stripped(error, |words| names.without(words).into_owned())
}

/// The failure without hints, where it repeats the caller's own words and nothing else. What these are
/// called that are hidden is no matter then: to take it out would tell which words are hidden names.
pub(crate) fn uttered(error: Error) -> Error {
    match error.get_sqlstate() {
        Some("3F000" | "42601" | "42702" | "42703" | "42704" | "42883" | "42P01" | "42P02") => {
            stripped(error, str::to_owned)
        }
        _ => error,
    }
}

fn stripped(error: Error, without: impl Fn(&str) -> String) -> Error {
    let mut plain = Error::new(error.kind, without(&error.message)).judged();
    if let Some(sqlstate) = error.get_sqlstate() {
        plain = plain.sqlstate(sqlstate);
    }
    if let Some(position) = error.get_position() {
        plain = plain.position(position);
    }
    if let Some(needs) = error.get_needs() {
        plain = plain.needs(needs);
    }
    // It repeats words of the message alone; what is near is looked for among what the caller sees.
    if let Some(missing) = error.get_missing().filter(|missing| missing.renamed(&without) == **missing) {
        plain = plain.missing(missing.clone());
    }
    if let Some(delay) = error.get_retry_after() {
        plain = plain.retry_after(delay);
    }
    if let Some(detail) = error.get_detail().filter(|detail| without(detail) == **detail) {
        plain = plain.detail(detail);
    }
    let near = matches!(error.get_sqlstate(), Some("42P01" | "42703" | "42883"));
    match error.get_hint().filter(|hint| !near && without(hint) == **hint) {
        Some(hint) => plain.hint(hint),
        None => plain,
    }
}

/// A failure of which nothing can be told, since it is not known what is hidden.
pub(crate) fn withheld(error: &Error) -> Error {
    let plain = Error::new(error.kind, "the source refused the statement").judged();
    match error.get_sqlstate() {
        Some(sqlstate) => plain.sqlstate(sqlstate),
        None => plain,
    }
}

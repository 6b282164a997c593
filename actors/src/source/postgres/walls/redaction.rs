//! What the source says on a connection that hides something, without the names of what is hidden: its
//! failures, and results that are its own words about a statement.

use std::sync::Arc;

use futures_util::StreamExt;

use super::names::Names;
use crate::error::{Error, Result};
use crate::reply::{Batch, Cell, Part, Results};

/// `results` without the names of what is hidden in their texts.
pub(in crate::source::postgres) fn redacted(results: Results, names: Arc<Names>) -> Results {
    let (writes, dry_run) = (results.writes, results.dry_run);
    let parts = results.map(move |part| match part? {
        Part::Rows(batch) => Ok(Part::Rows(Box::new(Redacted { batch, names: Arc::clone(&names) }))),
        part => Ok(part),
    });
    let mut redacted = Results::new(writes, parts);
    redacted.dry_run = dry_run;
    redacted
}

/// Rows that the server wrote about a statement.
struct Redacted {
    batch: Box<dyn Batch>,
    names: Arc<Names>,
}

impl Batch for Redacted {
    fn rows(&self) -> usize {
        self.batch.rows()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        Ok(match self.batch.cell(row, column)? {
            Cell::Text(text) => Cell::Text(self.names.without(&text).into_owned().into()),
            Cell::Json(text) => Cell::Json(self.names.without(&text).into_owned().into()),
            cell => cell,
        })
    }
}

/// The failure without the server's hints, which name what is near, and without hidden names.
pub(super) fn bare(error: Error, names: &Names) -> Error {
    let message = names.without(&error.message).into_owned();
    let mut plain = Error::new(error.kind, message).judged();
    if let Some(sqlstate) = error.get_sqlstate() {
        plain = plain.sqlstate(sqlstate);
    }
    if let Some(position) = error.get_position() {
        plain = plain.position(position);
    }
    if let Some(needs) = error.get_needs() {
        plain = plain.needs(needs);
    }
    if let Some(delay) = error.get_retry_after() {
        plain = plain.retry_after(delay);
    }
    if let Some(detail) = error.get_detail().filter(|detail| names.without(detail) == **detail) {
        plain = plain.detail(detail);
    }
    let near = matches!(error.get_sqlstate(), Some("42P01" | "42703" | "42883"));
    match error.get_hint().filter(|hint| !near && names.without(hint) == **hint) {
        Some(hint) => plain.hint(hint),
        None => plain,
    }
}

/// A failure of which nothing can be told, since it is not known what is hidden.
pub(super) fn withheld(error: &Error) -> Error {
    let plain = Error::new(error.kind, "the source refused the statement").judged();
    match error.get_sqlstate() {
        Some(sqlstate) => plain.sqlstate(sqlstate),
        None => plain,
    }
}

//! The SQL API's result document, written while it is read: `results`, and `error` at the end of
//! the same valid JSON when something fails after the first byte.

use portico_actors::error::Result;
use portico_actors::reply::Part;

use crate::encode::failure::ErrorBody;
use crate::encode::stream::ResultEncoder;
use crate::encode::values::cell::{Nesting, write_row};
use crate::encode::values::columns::write_schema;
use crate::encode::values::shape::{Shape, ShapedRows};

/// A result document.
#[derive(Debug)]
pub struct Document {
    place: WriteState,
    columns: usize,
    dry_run: bool,
    shape: Shape,
    /// Writes the rows of the present result where they are not in the usual shape.
    shaped: Option<ShapedRows>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteState {
    Start,
    BetweenResults,
    FirstRow,
    NextRow,
}

impl Document {
    /// Begins a document with rows in `shape`; one of a `dry_run` says that it is.
    pub fn new(dry_run: bool, shape: Shape) -> Self {
        Self { place: WriteState::Start, columns: 0, dry_run, shape, shaped: None }
    }

    /// Returns the text before a result.
    fn separator(&self) -> &'static [u8] {
        if self.place == WriteState::Start { b"{\"results\":[{\"schema\":" } else { b",{\"schema\":" }
    }
}

impl ResultEncoder for Document {
    fn write(&mut self, part: Part, out: &mut Vec<u8>, rows: &mut u64) -> Result<()> {
        match part {
            Part::Columns(columns) => {
                out.extend_from_slice(self.separator());
                write_schema(out, &columns);
                out.extend_from_slice(b",\"rows\":[");
                self.columns = columns.len();
                self.shaped = ShapedRows::new(self.shape, &columns);
                self.place = WriteState::FirstRow;
            }
            Part::Rows(batch) => {
                out.reserve(batch.rows() * self.columns * 12);
                for row in 0..batch.rows() {
                    let between: &[u8] = if self.place == WriteState::FirstRow { b"" } else { b"," };
                    match &self.shaped {
                        None => write_row(out, between, batch.as_ref(), row, self.columns, Nesting::Quoted)?,
                        Some(shaped) => shaped.write(out, between, batch.as_ref(), row)?,
                    }
                    self.place = WriteState::NextRow;
                    *rows += 1;
                }
            }
            Part::Done { affected } => {
                if matches!(self.place, WriteState::Start | WriteState::BetweenResults) {
                    // A result without columns: a statement that returns no rows.
                    out.extend_from_slice(self.separator());
                    out.extend_from_slice(b"[],\"rows\":[");
                }
                out.extend_from_slice(b"],\"affectedRows\":");
                out.extend_from_slice(itoa::Buffer::new().format(affected).as_bytes());
                out.push(b'}');
                self.place = WriteState::BetweenResults;
            }
        }
        Ok(())
    }

    fn end(&mut self, _: bool, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(match self.place {
            WriteState::Start => b"{\"results\":[".as_slice(),
            WriteState::FirstRow | WriteState::NextRow => b"],\"affectedRows\":-1}",
            WriteState::BetweenResults => b"",
        });
        out.extend_from_slice(if self.dry_run { b"],\"dryRun\":true}".as_slice() } else { b"]}" });
        Ok(())
    }

    fn write_failure(&mut self, failure: &ErrorBody, out: &mut Vec<u8>) -> bool {
        // In front of the bracket that closes the whole.
        out.pop();
        out.extend_from_slice(b",\"error\":");
        let _ = serde_json::to_writer(&mut *out, failure);
        out.push(b'}');
        true
    }
}

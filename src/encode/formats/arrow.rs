//! The rows of a single result as an Apache Arrow IPC stream: a schema, and record batches as the rows arrive, so
//! that only one batch is in memory.
//!
//! The format cannot report an error after the first byte: its stream is cut off, as with CSV.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use portico_actors::arrow::{Values, arrow_type};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Cell, Column, DataType, Part};

use super::lines::write_bare;
use crate::encode::failure::surplus;
use crate::encode::stream::ResultEncoder;
use crate::encode::values::labels;

/// Rows of one record batch at most.
const BATCH_ROWS: usize = 8192;
/// Octets of one record batch, give or take a row.
const BATCH_OCTETS: usize = 512 * 1024;

/// The single result of a statement. A result without columns becomes the number of changed rows, as
/// `affectedRows`.
#[derive(Default)]
pub struct Arrow {
    /// There once the columns are known.
    open: Option<Open>,
}

/// A stream whose schema has been written.
struct Open {
    writer: StreamWriter<Vec<u8>>,
    schema: Arc<Schema>,
    values: Vec<Values>,
    /// Rows in `values`, and about how many octets they are.
    waiting: usize,
    octets: usize,
    /// Its result is complete.
    done: bool,
}

impl Open {
    fn new(columns: &[Column]) -> Result<Self> {
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for (column, label) in columns.iter().zip(labels::distinct(columns)) {
            let type_ = arrow_type(column);
            values.push(Values::new(&type_, &label, Some(write_bare)));
            fields.push(Field::new(label, type_, true));
        }
        let schema = Arc::new(Schema::new(fields));
        let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(Error::internal)?;
        Ok(Self { writer, schema, values, waiting: 0, octets: 0, done: false })
    }

    fn push(&mut self, batch: &dyn Batch, row: usize) -> Result<()> {
        for (column, values) in self.values.iter_mut().enumerate() {
            self.octets += values.push(&batch.cell(row, column)?)?;
        }
        self.waiting += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.waiting >= BATCH_ROWS || self.octets >= BATCH_OCTETS
    }

    /// Writes the rows that wait as a record batch.
    fn flush(&mut self) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        (self.waiting, self.octets) = (0, 0);
        let columns = self.values.iter_mut().map(Values::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::internal)?;
        self.writer.write(&batch).map_err(Error::internal)
    }

    /// Passes on what was written.
    fn written(&mut self, out: &mut Vec<u8>) {
        let written = self.writer.get_mut();
        if out.is_empty() {
            std::mem::swap(out, written);
        } else {
            out.append(written);
        }
    }
}

impl ResultEncoder for Arrow {
    // The first rows may be there before anything was sent.
    const FAILS_FIRST: bool = true;

    fn write(&mut self, part: Part, out: &mut Vec<u8>, rows: &mut u64) -> Result<()> {
        match (self.open.as_mut(), part) {
            // Without columns the count at the end is all there is.
            (None, Part::Columns(columns)) if columns.is_empty() => {}
            (None, Part::Rows(_)) => {}
            (None, Part::Columns(columns)) => self.open.insert(Open::new(&columns)?).written(out),
            (None, Part::Done { affected }) => {
                let mut open = Open::new(&[Column::computed("affectedRows", DataType::BigInt)])?;
                for values in &mut open.values {
                    values.push(&Cell::Integer(affected))?;
                }
                open.waiting = 1;
                open.done = true;
                self.open.insert(open).written(out);
            }
            (Some(open), Part::Rows(batch)) if !open.done => {
                for row in 0..batch.rows() {
                    open.push(batch.as_ref(), row)?;
                    *rows += 1;
                    if open.is_full() {
                        open.flush()?;
                    }
                }
                open.written(out);
            }
            (Some(open), Part::Done { .. }) if !open.done => open.done = true,
            // A change must not be committed if its result is cut off.
            (Some(_), _) => return Err(surplus()),
        }
        Ok(())
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.flush()?;
        open.written(out);
        Ok(())
    }

    fn end(&mut self, failed: bool, out: &mut Vec<u8>) -> Result<()> {
        self.flush(out)?;
        let Some(open) = self.open.as_mut().filter(|_| !failed) else { return Ok(()) };
        open.writer.finish().map_err(Error::internal)?;
        open.written(out);
        Ok(())
    }
}

//! The rows of a single result as an Apache Arrow IPC stream: a schema, and record batches as the
//! rows come in, so that no more of them is in memory than one batch.
//!
//! The format has no place for a failure behind the first byte: its stream breaks off, as that of
//! CSV does. Which Arrow type a column has is in `types.rs`, how its values are taken in `column.rs`.

mod column;
mod parse;
mod types;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Cell, Column, DataType, Part, Results};

use self::column::Values;
use super::failure::{ErrorBody, surplus};
use super::labels;

/// Rows of one record batch at most.
const BATCH_ROWS: usize = 8192;
/// Octets that go out although more may come at once.
const WORTH_SENDING: usize = 16 * 1024;
/// Octets of one record batch, give or take a row.
const BATCH_OCTETS: usize = 512 * 1024;

/// Streams the one result of a statement. Where that has no columns, it is the number of rows
/// changed, under `affectedRows`.
pub struct Arrow<F> {
    results: Option<Results>,
    /// There once the columns are known.
    open: Option<Open>,
    /// Bytes that went out.
    bytes: u64,
    rows: u64,
    broken: Option<Error>,
    ended: F,
}

/// A stream whose schema is written.
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
            let type_ = types::of(column);
            values.push(Values::new(&type_, &label));
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

    /// What was written since this was last asked.
    fn written(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }
}

impl<F> Arrow<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    /// Streams `results`. `ended` is called once at the end with the numbers of rows and of bytes and the failure.
    pub fn new(results: Results, ended: F) -> Self {
        Self { results: Some(results), open: None, bytes: 0, rows: 0, broken: None, ended }
    }

    fn accept(&mut self, part: Part) -> Result<()> {
        match (self.open.as_mut(), part) {
            // Without columns the count at the end is all there is.
            (None, Part::Columns(columns)) if columns.is_empty() => {}
            (None, Part::Rows(_)) => {}
            (None, Part::Columns(columns)) => self.open = Some(Open::new(&columns)?),
            (None, Part::Done { affected }) => {
                let mut open = Open::new(&[Column::computed("affectedRows", DataType::BigInt)])?;
                for values in &mut open.values {
                    values.push(&Cell::Integer(affected))?;
                }
                open.waiting = 1;
                open.done = true;
                self.open = Some(open);
            }
            (Some(open), Part::Rows(batch)) if !open.done => {
                for row in 0..batch.rows() {
                    open.push(batch.as_ref(), row)?;
                    self.rows += 1;
                    if open.is_full() {
                        open.flush()?;
                    }
                }
            }
            (Some(open), Part::Done { .. }) if !open.done => open.done = true,
            // What is cut off must not have happened.
            (Some(_), _) => return Err(surplus()),
        }
        Ok(())
    }

    /// What can be sent now: all there is when nothing else comes at once.
    fn ready(&mut self, flush: bool) -> Result<Option<Bytes>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        if flush {
            open.flush()?;
        }
        let due = flush || open.writer.get_ref().len() >= WORTH_SENDING;
        let written = if due { open.written() } else { Vec::new() };
        self.bytes += written.len() as u64;
        Ok((!written.is_empty()).then(|| Bytes::from(written)))
    }

    /// The end of the stream; with a failure it is left without its end.
    fn close(&mut self, failure: Option<Error>) -> Poll<Option<Result<Bytes>>> {
        self.results = None;
        let finished = self.open.take().map(|mut open| {
            open.flush()?;
            if failure.is_none() {
                open.writer.finish().map_err(Error::internal)?;
            }
            Ok(open.written())
        });
        let (written, failure) = match (finished.transpose(), failure) {
            (Ok(written), failure) => (written.unwrap_or_default(), failure),
            (Err(error), failure) => (Vec::new(), failure.or(Some(error))),
        };
        let sent = self.bytes > 0;
        self.bytes += written.len() as u64;
        let _ = (self.ended)(self.rows, self.bytes, failure.as_ref());
        match (written.is_empty(), failure) {
            // Nothing has gone out: the status can still tell of it.
            (_, Some(failure)) if !sent => Poll::Ready(Some(Err(failure))),
            (true, None) => Poll::Ready(None),
            (true, Some(failure)) => Poll::Ready(Some(Err(failure))),
            (false, failure) => {
                self.broken = failure;
                Poll::Ready(Some(Ok(Bytes::from(written))))
            }
        }
    }
}

impl<F> Stream for Arrow<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            let (part, pending) = match self.results.as_mut().map(|results| results.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Poll::Ready(None)) => return self.close(None),
                Some(Poll::Ready(Some(part))) => (part.map(Some), false),
                Some(Poll::Pending) => (Ok(None), true),
            };
            let taken = part.and_then(|part| part.map_or(Ok(()), |part| self.accept(part)));
            match taken.and_then(|()| self.ready(pending)) {
                Ok(Some(written)) => return Poll::Ready(Some(Ok(written))),
                Ok(None) if pending => return Poll::Pending,
                Ok(None) => {}
                Err(error) => return self.close(Some(error)),
            }
        }
    }
}

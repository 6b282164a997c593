//! The SQL API's result document, written while it is read: `results`, and `error` at the end of
//! the same valid JSON when something fails after the first byte.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Part, Results};

use super::cell::{Nesting, write_cell};
use super::columns::write_schema;
use super::failure::ErrorBody;

/// Streams a result document.
pub struct Document<F> {
    results: Option<Results>,
    place: Place,
    columns: usize,
    rows: u64,
    dry_run: bool,
    /// Bytes that were sent.
    bytes: u64,
    /// Puts an error into the form of the wire, and learns of the end.
    ended: F,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    BetweenResults,
    FirstRow,
    NextRow,
    Ended,
}

impl<F> Document<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    /// Streams `results`. `ended` is called once at the end of the
    /// document with the numbers of rows and of bytes up to there, and the failure, which it puts
    /// into the form of the wire.
    pub fn new(results: Results, ended: F) -> Self {
        let dry_run = results.dry_run;
        Self { results: Some(results), place: Place::Start, columns: 0, rows: 0, dry_run, bytes: 0, ended }
    }

    fn write_onto(&mut self, part: Part, out: &mut Vec<u8>) -> Result<()> {
        match part {
            Part::Columns(columns) => {
                out.extend_from_slice(if self.place == Place::Start { b"{\"results\":[" } else { b"," });
                out.extend_from_slice(b"{\"schema\":");
                write_schema(out, &columns);
                out.extend_from_slice(b",\"rows\":[");
                self.columns = columns.len();
                self.place = Place::FirstRow;
            }
            Part::Rows(batch) => self.write_rows(out, batch.as_ref())?,
            Part::Done { affected } => {
                if matches!(self.place, Place::Start | Place::BetweenResults) {
                    // A result without columns: a statement that returns no rows.
                    out.extend_from_slice(if self.place == Place::Start { b"{\"results\":[" } else { b"," });
                    out.extend_from_slice(b"{\"schema\":[],\"rows\":[");
                }
                out.extend_from_slice(b"],\"affectedRows\":");
                out.extend_from_slice(itoa::Buffer::new().format(affected).as_bytes());
                out.push(b'}');
                self.place = Place::BetweenResults;
            }
        }
        Ok(())
    }

    fn write_rows(&mut self, out: &mut Vec<u8>, batch: &dyn Batch) -> Result<()> {
        out.reserve(batch.rows() * self.columns * 12);
        for row in 0..batch.rows() {
            let start = out.len();
            out.extend_from_slice(if self.place == Place::FirstRow { b"[" } else { b",[" });
            for column in 0..self.columns {
                if column > 0 {
                    out.push(b',');
                }
                match batch.cell(row, column) {
                    Ok(cell) => write_cell(out, &cell, Nesting::Quoted),
                    Err(error) => {
                        // Whole rows only: the document stays valid.
                        out.truncate(start);
                        return Err(error);
                    }
                }
            }
            out.push(b']');
            self.place = Place::NextRow;
            self.rows += 1;
        }
        Ok(())
    }

    fn sent(&mut self, out: Vec<u8>) -> Bytes {
        self.bytes += out.len() as u64;
        Bytes::from(out)
    }

    /// Closes the document, with the failure if there was one.
    fn close(&mut self, mut out: Vec<u8>, failure: Option<&Error>) -> Bytes {
        out.extend_from_slice(match self.place {
            Place::Start => b"{\"results\":[".as_slice(),
            Place::FirstRow | Place::NextRow => b"],\"affectedRows\":-1}",
            Place::BetweenResults | Place::Ended => b"",
        });
        out.push(b']');
        if self.dry_run {
            out.extend_from_slice(b",\"dryRun\":true");
        }
        // With the bracket that closes the whole.
        self.bytes += out.len() as u64 + 1;
        if let Some(error) = (self.ended)(self.rows, self.bytes, failure) {
            out.extend_from_slice(b",\"error\":");
            let _ = serde_json::to_writer(&mut out, &error);
        }
        out.push(b'}');
        self.place = Place::Ended;
        self.results = None;
        Bytes::from(out)
    }
}

impl<F> Stream for Document<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Parts that are there already go out in one piece.
        let mut out = Vec::new();
        loop {
            let part = match self.results.as_mut().map(|results| results.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Poll::Pending) if out.is_empty() => return Poll::Pending,
                Some(Poll::Pending) => return Poll::Ready(Some(Ok(self.sent(out)))),
                Some(Poll::Ready(Some(part))) => part,
                Some(Poll::Ready(None)) => return Poll::Ready(Some(Ok(self.close(out, None)))),
            };
            match part.and_then(|part| self.write_onto(part, &mut out)) {
                Ok(()) if out.len() >= 16 * 1024 => return Poll::Ready(Some(Ok(self.sent(out)))),
                Ok(()) => {}
                Err(error) => return Poll::Ready(Some(Ok(self.close(out, Some(&error))))),
            }
        }
    }
}

//! The rows of a single result, a line each: CSV (RFC 4180) or newline-delimited JSON. The SQL
//! API's own document, which holds several results, is in `document.rs`.
//!
//! A failure behind the first byte is the last line of newline-delimited JSON, where no row can be
//! taken for it: a row's values are never objects. CSV has no such place, so its stream breaks off
//! with an error.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Cell, Column, Part, Results};
use serde_json::json;

use super::cell::{Nesting, write_cell, write_string};
use super::failure::{ErrorBody, surplus};
use super::labels;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// A record of RFC 4180 under a header line of labels. NULL is an empty field, an empty text
    /// is `""`. A record of one empty field would be a blank line, which readers pass over: where there
    /// is one column, NULL is the word NULL, and the text of these letters stands in quotes.
    Csv,
    /// One JSON object; of equal labels the later ones are numbered: `id`, `id_2`.
    Ndjson,
}

/// Streams the one result of a statement. Where that has no columns, it is the number of rows
/// changed, under `affectedRows`.
pub struct Lines<F> {
    form: LineForm,
    results: Option<Results>,
    place: Place,
    /// What stands in front of each value of a row.
    keys: Vec<Vec<u8>>,
    rows: u64,
    /// Bytes that were sent.
    bytes: u64,
    broken: Option<Error>,
    ended: F,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Rows,
    Done,
}

impl<F> Lines<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    /// Streams `results`. `ended` is called once at the end with the
    /// numbers of rows and of bytes up to there, and the failure, which it puts into the form of the wire.
    pub fn new(form: LineForm, results: Results, ended: F) -> Self {
        let (place, keys) = (Place::Start, Vec::new());
        Self { form, results: Some(results), place, keys, rows: 0, bytes: 0, broken: None, ended }
    }

    fn write_onto(&mut self, part: Part, out: &mut Vec<u8>) -> Result<()> {
        match (self.place, part) {
            // Without columns the count at the end is all there is.
            (Place::Start, Part::Columns(columns)) if columns.is_empty() => {}
            (Place::Start, Part::Rows(_)) => {}
            (Place::Start, Part::Columns(columns)) => {
                self.head(&columns, out);
                self.place = Place::Rows;
            }
            (Place::Rows, Part::Rows(batch)) => self.write_rows(out, batch.as_ref())?,
            (Place::Start, Part::Done { affected }) => {
                let number = affected.to_string();
                let line = match self.form {
                    LineForm::Csv => format!("affectedRows\r\n{number}\r\n"),
                    LineForm::Ndjson => format!("{{\"affectedRows\":{number}}}\n"),
                };
                out.extend_from_slice(line.as_bytes());
                self.place = Place::Done;
            }
            (Place::Rows, Part::Done { .. }) => self.place = Place::Done,
            // What is cut off must not have happened.
            _ => return Err(surplus()),
        }
        Ok(())
    }

    fn head(&mut self, columns: &[Column], out: &mut Vec<u8>) {
        match self.form {
            LineForm::Csv => {
                self.keys = (0..columns.len()).map(|index| if index == 0 { vec![] } else { vec![b','] }).collect();
                for (column, comma) in columns.iter().zip(&self.keys) {
                    out.extend_from_slice(comma);
                    write_field(out, &column.label);
                }
                out.extend_from_slice(b"\r\n");
            }
            LineForm::Ndjson => {
                for (index, label) in labels::distinct(columns).iter().enumerate() {
                    let mut key = vec![if index == 0 { b'{' } else { b',' }];
                    write_string(&mut key, label);
                    key.push(b':');
                    self.keys.push(key);
                }
            }
        }
    }

    fn write_rows(&mut self, out: &mut Vec<u8>, batch: &dyn Batch) -> Result<()> {
        for row in 0..batch.rows() {
            let start = out.len();
            for (column, key) in self.keys.iter().enumerate() {
                out.extend_from_slice(key);
                match batch.cell(row, column) {
                    Ok(cell) if self.form == LineForm::Csv => write_plain(out, &cell, self.keys.len() == 1),
                    Ok(cell) => write_cell(out, &cell, Nesting::Quoted),
                    Err(error) => {
                        // Whole rows only.
                        out.truncate(start);
                        return Err(error);
                    }
                }
            }
            out.extend_from_slice(match self.form {
                LineForm::Csv => b"\r\n".as_slice(),
                LineForm::Ndjson => b"}\n",
            });
            self.rows += 1;
        }
        Ok(())
    }

    fn sent(&mut self, out: Vec<u8>) -> Bytes {
        self.bytes += out.len() as u64;
        Bytes::from(out)
    }

    /// The end of the stream, with the failure if there was one.
    fn close(&mut self, mut out: Vec<u8>, failure: Option<Error>) -> Poll<Option<Result<Bytes>>> {
        self.results = None;
        self.bytes += out.len() as u64;
        let told = (self.ended)(self.rows, self.bytes, failure.as_ref());
        match (self.form, told, failure) {
            (LineForm::Ndjson, Some(told), _) => {
                let _ = serde_json::to_writer(&mut out, &json!({"error": told}));
                out.push(b'\n');
            }
            (LineForm::Csv, _, Some(failure)) if out.is_empty() => return Poll::Ready(Some(Err(failure))),
            (LineForm::Csv, _, failure) => self.broken = failure,
            _ => {}
        }
        Poll::Ready(if out.is_empty() { None } else { Some(Ok(Bytes::from(out))) })
    }
}

impl<F> Stream for Lines<F>
where
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        // Parts that are there already go out in one piece.
        let mut out = Vec::new();
        loop {
            let part = match self.results.as_mut().map(|results| results.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Poll::Pending) if out.is_empty() => return Poll::Pending,
                Some(Poll::Pending) => return Poll::Ready(Some(Ok(self.sent(out)))),
                Some(Poll::Ready(Some(part))) => part,
                Some(Poll::Ready(None)) => return self.close(out, None),
            };
            match part.and_then(|part| self.write_onto(part, &mut out)) {
                Ok(()) if out.len() >= 16 * 1024 => return Poll::Ready(Some(Ok(self.sent(out)))),
                Ok(()) => {}
                Err(error) => return self.close(out, Some(error)),
            }
        }
    }
}

/// A value as a field, which may be alone in its record: text in its own form, octets in base64, the rest
/// as in JSON.
pub(super) fn write_plain(out: &mut Vec<u8>, cell: &Cell<'_>, alone: bool) {
    match cell {
        Cell::Null if alone => out.extend_from_slice(NULL.as_bytes()),
        Cell::Null => {}
        Cell::Text(text) if text.is_empty() => out.extend_from_slice(b"\"\""),
        Cell::Text(text) if alone && text == NULL => out.extend_from_slice(b"\"NULL\""),
        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => write_field(out, text),
        // No octets at all are not NULL.
        Cell::Bytes(octets) if octets.is_empty() => out.extend_from_slice(b"\"\""),
        other => write_bare(out, other),
    }
}

/// What stands for NULL where nothing would be a blank line.
const NULL: &str = "NULL";

/// A value that is no text as it is in JSON, without the quotes of NaN, the infinities and octets.
pub(super) fn write_bare(out: &mut Vec<u8>, cell: &Cell<'_>) {
    let start = out.len();
    write_cell(out, cell, Nesting::Plain);
    if out.get(start) == Some(&b'"') {
        out.pop();
        out.remove(start);
    }
}

/// Appends a text as a field.
pub(super) fn write_field(out: &mut Vec<u8>, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

//! The rows of a single result, one per line: CSV (RFC 4180) or newline-delimited JSON. The SQL API's own document,
//! which contains several results, is in `document.rs`.
//!
//! An error after the first byte is the last line of newline-delimited JSON, where it cannot be confused with a
//! row: the values of a row are never objects. CSV has no such place, so its stream is cut off with an error.

use portico_actors::error::Result;
use portico_actors::reply::{Cell, Column, Part};
use serde_json::json;

use crate::encode::failure::{ErrorBody, surplus};
use crate::encode::stream::ResultEncoder;
use crate::encode::values::cell::{Cells, Nesting, write_cell};
use crate::encode::values::shape::{NumberShape, RowShape, Shape, ShapedRows};

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    /// A record of RFC 4180 below a header line with the labels. NULL is an empty field, an empty text is `""`. A
    /// record with one empty field would be a blank line, which readers skip: with a single column, NULL is the
    /// word NULL, and a text of these letters is quoted.
    Csv,
    /// One JSON object; of equal labels the later ones are numbered: `id`, `id_2`.
    Ndjson,
}

/// The single result of a statement. A result without columns becomes the number of changed rows, as
/// `affectedRows`.
#[derive(Debug)]
pub struct Lines {
    place: WriteState,
    form: LineFormat,
    numbers: NumberShape,
    csv: CsvWriter,
    /// Writes the rows as JSON, once their columns are known.
    json: Option<ShapedRows>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteState {
    Start,
    Rows,
    Done,
}

impl Lines {
    /// Begins the lines of a result.
    pub fn new(form: LineFormat, numbers: NumberShape) -> Self {
        Self { place: WriteState::Start, form, numbers, csv: CsvWriter::default(), json: None }
    }
}

impl ResultEncoder for Lines {
    fn write(&mut self, part: Part, out: &mut Vec<u8>, rows: &mut u64) -> Result<()> {
        match (self.place, part) {
            // Without columns the count at the end is all there is.
            (WriteState::Start, Part::Columns(columns)) if columns.is_empty() => {}
            (WriteState::Start, Part::Rows(_)) => {}
            (WriteState::Start, Part::Columns(columns)) => {
                let shape = Shape { rows: RowShape::Object, numbers: self.numbers };
                match self.form {
                    LineFormat::Csv => self.csv.begin(&columns, out),
                    LineFormat::Ndjson => self.json = ShapedRows::new(shape, &columns),
                }
                self.place = WriteState::Rows;
            }
            (WriteState::Rows, Part::Rows(batch)) => {
                for row in 0..batch.rows() {
                    match &self.json {
                        None => self.csv.write(batch.as_ref(), row, out)?,
                        Some(json) => {
                            json.write(out, b"", batch.as_ref(), row)?;
                            out.push(b'\n');
                        }
                    }
                    *rows += 1;
                }
            }
            (WriteState::Start, Part::Done { affected }) => {
                let line = match self.form {
                    LineFormat::Csv => format!("affectedRows\r\n{affected}\r\n"),
                    LineFormat::Ndjson => format!("{{\"affectedRows\":{affected}}}\n"),
                };
                out.extend_from_slice(line.as_bytes());
                self.place = WriteState::Done;
            }
            (WriteState::Rows, Part::Done { .. }) => self.place = WriteState::Done,
            // A change must not be committed if its result is cut off.
            _ => return Err(surplus()),
        }
        Ok(())
    }

    fn end(&mut self, _: bool, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn write_failure(&mut self, failure: &ErrorBody, out: &mut Vec<u8>) -> bool {
        if self.form == LineFormat::Csv {
            return false;
        }
        let _ = serde_json::to_writer(&mut *out, &json!({"error": failure}));
        out.push(b'\n');
        true
    }
}

/// Writes rows as records of CSV.
#[derive(Debug, Default)]
pub(in crate::encode) struct CsvWriter {
    columns: usize,
}

impl CsvWriter {
    /// Writes the header above the rows.
    pub(in crate::encode) fn begin(&mut self, columns: &[Column], out: &mut Vec<u8>) {
        self.columns = columns.len();
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write_field(out, &column.label);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Writes one complete row, or nothing of it.
    pub(in crate::encode) fn write(&self, cells: &(impl Cells + ?Sized), row: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        for column in 0..self.columns {
            if column > 0 {
                out.push(b',');
            }
            match cells.value(row, column) {
                Ok(cell) => write_plain(out, &cell, self.columns == 1),
                Err(error) => {
                    out.truncate(start);
                    return Err(error);
                }
            }
        }
        out.extend_from_slice(b"\r\n");
        Ok(())
    }
}

/// A value as a field, which may be alone in its record: text in its own form, octets in base64, the rest
/// as in JSON.
fn write_plain(out: &mut Vec<u8>, cell: &Cell<'_>, alone: bool) {
    match cell {
        Cell::Null if alone => out.extend_from_slice(NULL.as_bytes()),
        Cell::Null => {}
        Cell::Text(text) if text.is_empty() => out.extend_from_slice(b"\"\""),
        Cell::Text(text) if alone && text == NULL => out.extend_from_slice(b"\"NULL\""),
        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => write_field(out, text),
        // An empty binary value is not NULL.
        Cell::Bytes(octets) if octets.is_empty() => out.extend_from_slice(b"\"\""),
        other => write_bare(out, other),
    }
}

/// The word for NULL where an empty field would be a blank line.
const NULL: &str = "NULL";

/// Writes a value other than text as in JSON, but NaN, infinities and binary values without quotes.
pub(in crate::encode) fn write_bare(out: &mut Vec<u8>, cell: &Cell<'_>) {
    let start = out.len();
    write_cell(out, cell, Nesting::Plain);
    if out.get(start) == Some(&b'"') {
        out.pop();
        out.remove(start);
    }
}

/// Appends a text as a field.
fn write_field(out: &mut Vec<u8>, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

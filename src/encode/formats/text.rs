//! The text block of a tool's result in the forms that people and models read: CSV (RFC 4180)
//! and Markdown tables.

use std::fmt::Write;

use portico_actors::error::Result;
use portico_actors::reply::{Cell, Column};

use super::lines::{CsvWriter, write_bare};
use crate::encode::values::cell::Cells;

/// The format of the text block in a tool's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The same JSON as `structuredContent`.
    #[default]
    Json,
    /// RFC 4180, with a header line.
    Csv,
    /// A table.
    Markdown,
}

/// The words of the `format` argument.
pub const FORMATS: [(&str, Format); 3] = [("json", Format::Json), ("csv", Format::Csv), ("markdown", Format::Markdown)];

/// Gathers the text block row by row.
pub(in crate::encode) struct TextTable {
    format: Format,
    text: Vec<u8>,
    csv: CsvWriter,
    /// The field that is being written.
    field: Vec<u8>,
}

impl TextTable {
    pub(in crate::encode) fn new(format: Format) -> Self {
        Self { format, text: Vec::new(), csv: CsvWriter::default(), field: Vec::new() }
    }

    pub(in crate::encode) fn begin(&mut self, columns: &[Column]) {
        match self.format {
            // A statement without a result has no header.
            _ if columns.is_empty() => {}
            Format::Json => {}
            Format::Csv => self.csv.begin(columns, &mut self.text),
            Format::Markdown => {
                self.text.push(b'|');
                for column in columns {
                    self.markdown(&Cell::Text(column.label.as_str().into()));
                }
                self.text.extend_from_slice(b"\n|");
                self.text.extend_from_slice(" --- |".repeat(columns.len()).as_bytes());
                self.text.push(b'\n');
            }
        }
    }

    pub(in crate::encode) fn row(&mut self, cells: &(impl Cells + ?Sized), row: usize, columns: usize) -> Result<()> {
        match self.format {
            Format::Json => {}
            Format::Csv => self.csv.write(cells, row, &mut self.text)?,
            Format::Markdown => {
                self.text.push(b'|');
                for column in 0..columns {
                    self.markdown(&cells.value(row, column)?);
                }
                self.text.push(b'\n');
            }
        }
        Ok(())
    }

    /// A field of a table: text is bare, and in quotes where it would be taken for NULL; the rest as in JSON.
    fn markdown(&mut self, cell: &Cell<'_>) {
        self.field.clear();
        match cell {
            Cell::Null => self.field.extend_from_slice(b"NULL"),
            Cell::Text(text) if text == "NULL" => self.field.extend_from_slice(b"\"NULL\""),
            Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => self.field.extend_from_slice(text.as_bytes()),
            other => write_bare(&mut self.field, other),
        }
        self.text.push(b' ');
        let mut field = self.field.iter().peekable();
        while let Some(byte) = field.next() {
            match byte {
                b'\\' | b'|' => self.text.extend_from_slice(&[b'\\', *byte]),
                b'\r' => {
                    let _ = field.next_if_eq(&&b'\n');
                    self.text.push(b' ');
                }
                b'\n' => self.text.push(b' '),
                byte => self.text.push(*byte),
            }
        }
        self.text.extend_from_slice(b" |");
    }

    /// Returns the text block, or `None` if it is the JSON itself.
    pub(in crate::encode) fn finish(self, rows: u64, affected: i64, hint: Option<&str>) -> Option<String> {
        if self.format == Format::Json {
            return None;
        }
        // Only strings and cells were written, which are UTF-8.
        let mut text = String::from_utf8(self.text).unwrap_or_default();
        if affected >= 0 {
            let _ = writeln!(text, "\n{affected} rows affected");
        } else if self.format == Format::Markdown {
            let _ = writeln!(text, "\n{rows} rows");
        }
        if let Some(hint) = hint {
            let _ = writeln!(text, "\n{hint}");
        }
        Some(text.trim_start_matches('\n').to_owned())
    }
}

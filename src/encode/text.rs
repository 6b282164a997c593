//! The text block of a tool's result in the forms that people and models read: CSV (RFC 4180)
//! and Markdown tables.

use std::fmt::Write;

use portico_actors::error::Result;
use portico_actors::reply::{Batch, Cell, Column};

use super::{Nesting, write_cell};

/// What the text block of a tool's result is written in.
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

impl Format {
    /// Reads the word of the `format` argument.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// Gathers the text block row by row.
pub(super) struct TextTable {
    format: Format,
    text: String,
    scratch: Vec<u8>,
}

impl TextTable {
    pub(super) fn new(format: Format) -> Self {
        Self { format, text: String::new(), scratch: Vec::new() }
    }

    pub(super) fn begin(&mut self, columns: &[Column]) {
        // A statement without a result has no header either.
        if self.format == Format::Json || columns.is_empty() {
            return;
        }
        self.line(columns.iter().map(|column| column.label.clone()));
        if self.format == Format::Markdown {
            self.line(columns.iter().map(|_| "---".to_owned()));
        }
    }

    pub(super) fn row(&mut self, batch: &dyn Batch, row: usize, columns: usize) -> Result<()> {
        if self.format == Format::Json {
            return Ok(());
        }
        let mut fields = Vec::with_capacity(columns);
        for column in 0..columns {
            let cell = batch.cell(row, column)?;
            fields.push(self.plain(&cell));
        }
        self.line(fields.into_iter());
        Ok(())
    }

    /// A value as plain text: NULL is empty, text is bare, the rest as in JSON.
    fn plain(&mut self, cell: &Cell<'_>) -> String {
        match cell {
            Cell::Null => String::new(),
            Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => text.clone().into_owned(),
            other => {
                self.scratch.clear();
                write_cell(&mut self.scratch, other, Nesting::Plain);
                String::from_utf8_lossy(&self.scratch).trim_matches('"').to_owned()
            }
        }
    }

    fn line(&mut self, fields: impl Iterator<Item = String>) {
        match self.format {
            Format::Json => {}
            Format::Csv => {
                for (index, field) in fields.enumerate() {
                    if index > 0 {
                        self.text.push(',');
                    }
                    if field.contains(['"', ',', '\n', '\r']) {
                        let _ = write!(self.text, "\"{}\"", field.replace('"', "\"\""));
                    } else {
                        self.text.push_str(&field);
                    }
                }
                self.text.push_str("\r\n");
            }
            Format::Markdown => {
                self.text.push('|');
                for field in fields {
                    let field = field.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", " ");
                    let _ = write!(self.text, " {} |", field.replace(['\n', '\r'], " "));
                }
                self.text.push('\n');
            }
        }
    }

    /// The text block, or `None` where it is the JSON itself.
    pub(super) fn finish(mut self, rows: u64, affected: i64, hint: Option<&str>) -> Option<String> {
        if self.format == Format::Json {
            return None;
        }
        if affected >= 0 {
            let _ = writeln!(self.text, "\n{affected} rows affected");
        } else if self.format == Format::Markdown {
            let _ = writeln!(self.text, "\n{rows} rows");
        }
        if let Some(hint) = hint {
            let _ = writeln!(self.text, "\n{hint}");
        }
        Some(self.text.trim_start_matches('\n').to_owned())
    }
}

//! A tool's result: `columns`, `truncated`, `hint`, `rows`, `rowCount`, `affectedRows`, read up to the limits of
//! the call. Truncation is reported before the rows, so that a client that cuts the text loses only rows.

use std::fmt::{self, Display};

use futures_util::StreamExt;
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Cell, Column, Part, Results};
use portico_actors::source::catalog::Assembled;
use portico_actors::sql::Class;

use super::text::{Format, TextTable};
use crate::encode::truncation::{Caps, CutAt, LONGEST_VALUE, Truncation, TruncationHint};
use crate::encode::values::cell::{Cells, Nesting, write_row, write_string};
use crate::encode::values::long::{LongValue, TruncatedBatch};

/// A tool's result, ready to be sent.
#[derive(Debug)]
pub struct ToolResult {
    /// The JSON object, for `structuredContent` too.
    pub json: JsonChunks,
    /// The text block, where it is not the same JSON.
    pub text: Option<String>,
    /// Rows in it.
    pub rows: u64,
    /// Whether reading stopped at a cap.
    pub truncated: bool,
    /// The error of connections that failed to list, if there are several.
    pub missing: Option<Error>,
}

/// A JSON text in three pieces: the part before the rows is known only once they have been read, and they are not
/// moved for it.
#[derive(Debug)]
pub struct JsonChunks([String; 3]);

impl JsonChunks {
    /// Returns the chunks in their order.
    pub fn each(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl From<String> for JsonChunks {
    fn from(text: String) -> Self {
        Self([text, String::new(), String::new()])
    }
}

impl Display for JsonChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.each().try_for_each(|piece| f.write_str(piece))
    }
}

/// Reads the first result of `results` up to `caps`. At the limit, and at a second result, the statement is stopped
/// at the source; a writing one is read to its end instead, or it would be rolled back. `progress` receives the
/// number of rows read so far and the number of new bytes; if it fails, this does.
pub async fn read_tool_result(
    mut results: Results,
    caps: Caps,
    format: Format,
    mut progress: impl FnMut(u64, usize) -> Result<()>,
) -> Result<ToolResult> {
    let writes = results.writes;
    let text = TextTable::new(format);
    let mut reading = Reading::new(text, caps);
    let (mut affected, mut cut, mut further, mut missing) = (None, None, false, None);
    while let Some(part) = results.next().await {
        let part = match part {
            Ok(part) => part,
            // The lists of the other connections are valid without it.
            Err(error) if caps.rest == TruncationHint::Connections && reading.count > 0 => {
                missing = Some(error);
                break;
            }
            Err(error) => return Err(error),
        };
        match part {
            // The first result is the tool's answer; further ones are only mentioned.
            Part::Columns(columns) if affected.is_none() => reading.begin(&columns),
            Part::Columns(_) => {
                further = true;
                if !writes {
                    break;
                }
            }
            Part::Rows(batch) if affected.is_none() && cut.is_none() => {
                let before = reading.rows.len();
                cut = reading.read(batch.as_ref())?;
                progress(reading.count, reading.rows.len().saturating_sub(before))?;
                if cut.is_some() && !writes {
                    break;
                }
            }
            Part::Rows(_) => {}
            Part::Done { affected: count } => affected = affected.or(Some(count)),
        }
    }
    // A CALL runs statements of somebody else, even if it is sent as a single one.
    let is_call = results.class == Some(Class::Call.as_str());
    let beside = results.hint.clone();
    let dry_run = results.dry_run;
    drop(results);
    reading.write_alone()?;
    let caps = if is_call { Caps { rest: TruncationHint::Parameters, ..caps } } else { caps };
    let affected = affected.unwrap_or(-1);
    let (shown, shortened) = (reading.count, reading.shortened);
    let left_out = Truncation { cut, further, shortened, shown, affected, writes, missing, dry_run };
    let hints: Vec<String> = [left_out.hint(caps), beside.get().map(str::to_owned)].into_iter().flatten().collect();
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    Ok(reading.finish(left_out, hint.as_deref()))
}

/// The size in bytes from which a result counts as large.
const LARGE: usize = 256 * 1024;
/// The largest size in bytes that is foretold of a result.
const FORETOLD: usize = 64 * 1024 * 1024;

/// How long values may be, tried in this order, where the first row would be over the cap otherwise.
const SHORTER_VALUES: [usize; 3] = [500, 100, 20];

/// A result that is written while it is read.
struct Reading {
    /// The columns, as they are sent.
    head: Vec<u8>,
    /// The rows, as they are sent.
    rows: Vec<u8>,
    columns: usize,
    count: u64,
    /// The single long value of the first row, until it is known whether there is another row.
    alone: Option<LongValue>,
    /// Whether a value is not there as a whole.
    shortened: bool,
    text: TextTable,
    caps: Caps,
}

impl Reading {
    fn new(text: TextTable, caps: Caps) -> Self {
        let (head, rows) = (Vec::new(), Vec::new());
        Self { head, rows, columns: 0, count: 0, alone: None, shortened: false, text, caps }
    }

    fn begin(&mut self, columns: &[Column]) {
        self.text.begin(columns);
        self.columns = columns.len();
        self.head.extend_from_slice(b"{\"columns\":[");
        for (index, column) in columns.iter().enumerate() {
            self.head.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
            write_string(&mut self.head, &column.label);
            self.head.extend_from_slice(b",\"type\":");
            write_string(&mut self.head, column.data_type.name());
            self.head.push(b'}');
        }
        self.head.push(b']');
    }

    fn read(&mut self, batch: &dyn Batch) -> Result<Option<CutAt>> {
        self.make_room(batch.octets());
        for row in 0..batch.rows() {
            if let Some(alone) = self.alone.take() {
                // It is not alone.
                self.write_value(alone.shown(LONGEST_VALUE).0)?;
            }
            if self.count == self.caps.rows {
                return Ok(Some(CutAt::Rows));
            }
            if self.count == 0 && self.columns == 1 {
                self.alone = LongValue::new(batch.cell(row, 0)?, LONGEST_VALUE, self.caps.bytes);
                if self.alone.is_some() {
                    continue;
                }
            }
            if !self.write(batch, row)? {
                return Ok(Some(CutAt::Bytes));
            }
        }
        Ok(None)
    }

    /// Writes the value that is the whole result, as much of it as the cap lets it.
    fn write_alone(&mut self) -> Result<()> {
        let Some(alone) = self.alone.take() else { return Ok(()) };
        // Escapes and the note about the cut take space: so there are several attempts.
        let mut longest = self.caps.bytes;
        while longest > LONGEST_VALUE {
            let (cell, is_whole) = alone.shown(longest);
            if self.try_row(&Assembled(vec![vec![cell]]), 0)? {
                self.shortened = !is_whole;
                return Ok(());
            }
            longest = longest / 8 * 7;
        }
        self.write_value(alone.shown(LONGEST_VALUE).0)
    }

    /// Writes the beginning of a value as a row.
    fn write_value(&mut self, cell: Cell<'static>) -> Result<()> {
        self.shortened = true;
        self.write(&Assembled(vec![vec![cell]]), 0).map(drop)
    }

    /// Writes a row, with its long values cut. Returns false if there is no room for it. The first one always fits,
    /// unless it has very many columns.
    fn write(&mut self, batch: &dyn Batch, row: usize) -> Result<bool> {
        let is_first = self.count == 0;
        for longest in [LONGEST_VALUE].into_iter().chain(SHORTER_VALUES.into_iter().filter(|_| is_first)) {
            let shorter = TruncatedBatch::new(batch, longest);
            if self.try_row(&shorter, row)? {
                self.shortened |= shorter.is_shorter();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes a row where there is room for it.
    fn try_row(&mut self, cells: &impl Cells, row: usize) -> Result<bool> {
        let start = self.rows.len();
        let between: &[u8] = if self.count == 0 { b"" } else { b"," };
        write_row(&mut self.rows, between, cells, row, self.columns, Nesting::Plain)?;
        if self.rows.len() > self.caps.bytes {
            self.rows.truncate(start);
            return Ok(false);
        }
        self.text.row(cells, row, self.columns)?;
        self.count += 1;
        Ok(true)
    }

    /// Reserves memory for a batch of so many bytes. A large result gets the size that its rows so far predict for
    /// the whole, and a quarter more, since each reallocation keeps the former memory for a while; memory that is
    /// never used is never touched.
    fn make_room(&mut self, octets: usize) {
        let (length, needed) = (self.rows.len(), 2 * octets);
        if length > LARGE && self.rows.capacity() - length < needed {
            let rows = usize::try_from(self.caps.rows).unwrap_or(usize::MAX);
            let read = usize::try_from(self.count).unwrap_or(usize::MAX).max(1);
            let foretold = (length / read).saturating_mul(rows.saturating_sub(read)) / 4 * 5;
            self.rows.reserve_exact(foretold.min(self.caps.bytes).min(FORETOLD).max(length).max(needed));
        }
    }

    fn finish(mut self, left_out: Truncation, hint: Option<&str>) -> ToolResult {
        if self.head.is_empty() {
            self.begin(&[]);
        }
        let mut head = self.head;
        let truncated: &[u8] = if left_out.is_any() { b",\"truncated\":true" } else { b",\"truncated\":false" };
        head.extend_from_slice(truncated);
        if let Some(hint) = hint {
            head.extend_from_slice(b",\"hint\":");
            write_string(&mut head, hint);
        }
        head.extend_from_slice(b",\"rows\":[");
        let (count, affected) = (self.count, left_out.affected);
        let tail = format!("],\"rowCount\":{count},\"affectedRows\":{affected}}}");
        // Only strings and cells were written, which are UTF-8.
        let text = |octets| String::from_utf8(octets).unwrap_or_default();
        ToolResult {
            json: JsonChunks([text(head), text(self.rows), tail]),
            text: self.text.finish(count, affected, hint),
            rows: count,
            truncated: left_out.cut.is_some(),
            missing: left_out.missing,
        }
    }
}

//! A tool's result: `columns`, `rows`, `rowCount`, `truncated`, `affectedRows`, read up to the
//! caps of the call and no further.

use futures_util::StreamExt;
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Batch, Column, Part, Results};
use portico_actors::sql::Class;

use super::cell::{Nesting, write_row, write_string};
use super::rest::{Caps, Cut, LeftOut, Rest};
use super::text::{Format, TextTable};

/// A tool's result, ready to be sent.
#[derive(Debug)]
pub struct Table {
    /// The JSON object for `structuredContent`.
    pub json: String,
    /// The text block, where it is not the same JSON.
    pub text: Option<String>,
    /// Rows in it.
    pub rows: u64,
    /// Whether reading stopped at a cap.
    pub truncated: bool,
    /// What some of several connections failed to list.
    pub missing: Option<Error>,
}

/// Reads the first result of `results` up to `caps`. At the cap, and at a second result, the
/// statement is stopped at the source; one that writes is read to its end instead, or its work would
/// be undone. `progress` is told the number of rows read by now, and how many bytes it has become more; where
/// it fails, this does.
pub async fn tabulate(
    mut results: Results,
    caps: Caps,
    format: Format,
    mut progress: impl FnMut(u64, usize) -> Result<()>,
) -> Result<Table> {
    let writes = results.writes;
    let text = TextTable::new(format);
    let mut reading = Reading { json: Vec::new(), head: 0, columns: 0, count: 0, text, caps };
    let (mut affected, mut cut, mut further, mut missing) = (None, None, false, None);
    while let Some(part) = results.next().await {
        let part = match part {
            Ok(part) => part,
            // What the others have listed is good without it.
            Err(error) if caps.rest == Rest::Connections && reading.count > 0 => {
                missing = Some(error);
                break;
            }
            Err(error) => return Err(error),
        };
        match part {
            // The first result is the tool's answer; of the others it says that they were there.
            Part::Columns(columns) if affected.is_none() => reading.begin(&columns),
            Part::Columns(_) => {
                further = true;
                if !writes {
                    break;
                }
            }
            Part::Rows(batch) if affected.is_none() && cut.is_none() => {
                let before = reading.json.len();
                cut = reading.read(batch.as_ref())?;
                progress(reading.count, reading.json.len() - before)?;
                if cut.is_some() && !writes {
                    break;
                }
            }
            Part::Rows(_) => {}
            Part::Done { affected: count } => affected = affected.or(Some(count)),
        }
    }
    // A CALL is somebody else's statements, also where it is sent as one.
    let is_call = results.class == Some(Class::Call.as_str());
    let beside = results.hint.clone();
    drop(results);
    let caps = if is_call { Caps { rest: Rest::Parameters, ..caps } } else { caps };
    let affected = affected.unwrap_or(-1);
    let left_out = LeftOut { cut, further, shown: reading.count, affected, writes, missing };
    let is_cut = left_out.hint(caps);
    let hint = match (&is_cut, beside.get()) {
        (Some(cut), Some(beside)) => Some(format!("{cut}; {beside}")),
        (cut, beside) => cut.clone().or_else(|| beside.map(str::to_owned)),
    };
    Ok(reading.finish(left_out, is_cut.is_some(), hint))
}

/// Octets from which on a result is a large one.
const LARGE: usize = 256 * 1024;
/// Octets that are foretold of one at most.
const FORETOLD: usize = 64 * 1024 * 1024;

/// A result that is written while it is read.
struct Reading {
    json: Vec<u8>,
    /// Bytes of it in front of the rows.
    head: usize,
    columns: usize,
    count: u64,
    text: TextTable,
    caps: Caps,
}

impl Reading {
    fn begin(&mut self, columns: &[Column]) {
        self.text.begin(columns);
        self.columns = columns.len();
        self.json.extend_from_slice(b"{\"columns\":[");
        for (index, column) in columns.iter().enumerate() {
            self.json.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
            write_string(&mut self.json, &column.label);
            self.json.extend_from_slice(b",\"type\":");
            write_string(&mut self.json, column.data_type.name());
            self.json.push(b'}');
        }
        self.json.extend_from_slice(b"],\"rows\":[");
        self.head = self.json.len();
    }

    fn read(&mut self, batch: &dyn Batch) -> Result<Option<Cut>> {
        self.make_room(batch.octets());
        for row in 0..batch.rows() {
            if self.count == self.caps.rows {
                return Ok(Some(Cut::Rows));
            }
            let start = self.json.len();
            let between: &[u8] = if self.count == 0 { b"" } else { b"," };
            write_row(&mut self.json, between, batch, row, self.columns, Nesting::Plain)?;
            if self.json.len() - self.head > self.caps.bytes {
                self.json.truncate(start);
                return Ok(Some(Cut::Bytes));
            }
            self.text.row(batch, row, self.columns)?;
            self.count += 1;
        }
        Ok(None)
    }

    /// Makes room for a batch of so many octets. A large result gets what its rows so far foretell of all that it may
    /// have, and a quarter more, since each step in which it grows leaves the memory of the last one behind for a
    /// while; what it does not come to use is never touched.
    fn make_room(&mut self, octets: usize) {
        let (length, needed) = (self.json.len(), 2 * octets);
        if length > LARGE && self.json.capacity() - length < needed {
            let rows = usize::try_from(self.caps.rows).unwrap_or(usize::MAX);
            let read = usize::try_from(self.count).unwrap_or(usize::MAX).max(1);
            let foretold = (length / read).saturating_mul(rows.saturating_sub(read)) / 4 * 5;
            self.json.reserve_exact(foretold.min(self.caps.bytes).min(FORETOLD).max(length).max(needed));
        }
    }

    fn finish(mut self, left_out: LeftOut, is_cut: bool, hint: Option<String>) -> Table {
        if self.head == 0 {
            self.begin(&[]);
        }
        let mut json = self.json;
        json.extend_from_slice(b"],\"rowCount\":");
        json.extend_from_slice(itoa::Buffer::new().format(self.count).as_bytes());
        json.extend_from_slice(if is_cut { b",\"truncated\":true" } else { b",\"truncated\":false" });
        json.extend_from_slice(b",\"affectedRows\":");
        json.extend_from_slice(itoa::Buffer::new().format(left_out.affected).as_bytes());
        if let Some(hint) = &hint {
            json.extend_from_slice(b",\"hint\":");
            write_string(&mut json, hint);
        }
        json.push(b'}');
        // Only strings and cells were written, which are UTF-8.
        let json = String::from_utf8(json).unwrap_or_default();
        Table {
            json,
            text: self.text.finish(self.count, left_out.affected, hint.as_deref()),
            rows: self.count,
            truncated: left_out.cut.is_some(),
            missing: left_out.missing,
        }
    }
}

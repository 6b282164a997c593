//! A tool's result: `columns`, `rows`, `rowCount`, `truncated`, `affectedRows`, read up to the
//! caps of the call and no further.

use futures_util::StreamExt;
use portico_actors::error::Result;
use portico_actors::reply::{Batch, Column, Part, Results};

use super::text::{Format, TextTable};
use super::{Nesting, write_cell, write_string};

/// How much of a result is read.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Rows at most.
    pub rows: u64,
    /// Bytes of the rows' JSON at most.
    pub bytes: usize,
    /// The rows that a call may ask for, to say in the hint.
    pub rows_bound: u64,
}

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
}

/// Why reading stopped before the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Rows,
    Bytes,
}

/// Reads the first result of `results` up to `caps`. At the cap the statement is stopped at the
/// source; one that writes is read to its end instead, or its work would be undone. `progress` is
/// told the number of rows read by now.
pub async fn tabulate(mut results: Results, caps: Caps, format: Format, progress: impl Fn(u64)) -> Result<Table> {
    let mut reading = Reading { columns: Vec::new(), rows: Vec::new(), count: 0, text: TextTable::new(format), caps };
    let (mut affected, mut cut) = (-1, None);
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(columns) if reading.columns.is_empty() => reading.begin(columns.to_vec()),
            // The first result is the tool's answer.
            Part::Columns(_) => break,
            Part::Rows(batch) if cut.is_none() => {
                cut = reading.read(batch.as_ref())?;
                progress(reading.count);
                if cut.is_some() && !results.writes {
                    break;
                }
            }
            Part::Rows(_) => {}
            Part::Done { affected: count } => {
                affected = count;
                // Later results only count when the statement must be seen to its end.
                if !results.writes {
                    break;
                }
            }
        }
    }
    drop(results);
    Ok(reading.finish(affected, cut))
}

struct Reading {
    columns: Vec<Column>,
    rows: Vec<u8>,
    count: u64,
    text: TextTable,
    caps: Caps,
}

impl Reading {
    fn begin(&mut self, columns: Vec<Column>) {
        self.text.begin(&columns);
        self.columns = columns;
    }

    fn read(&mut self, batch: &dyn Batch) -> Result<Option<Cut>> {
        for row in 0..batch.rows() {
            if self.count == self.caps.rows {
                return Ok(Some(Cut::Rows));
            }
            let start = self.rows.len();
            self.rows.extend_from_slice(if self.count == 0 { b"[" } else { b",[" });
            for column in 0..self.columns.len() {
                if column > 0 {
                    self.rows.push(b',');
                }
                write_cell(&mut self.rows, &batch.cell(row, column)?, Nesting::Plain);
            }
            self.rows.push(b']');
            if self.rows.len() > self.caps.bytes {
                self.rows.truncate(start);
                return Ok(Some(Cut::Bytes));
            }
            self.text.row(batch, row, self.columns.len())?;
            self.count += 1;
        }
        Ok(None)
    }

    fn finish(self, affected: i64, cut: Option<Cut>) -> Table {
        let mut json = Vec::with_capacity(self.rows.len() + 64 * self.columns.len() + 128);
        json.extend_from_slice(b"{\"columns\":[");
        for (index, column) in self.columns.iter().enumerate() {
            json.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
            write_string(&mut json, &column.label);
            json.extend_from_slice(b",\"type\":");
            write_string(&mut json, column.data_type.name());
            json.push(b'}');
        }
        json.extend_from_slice(b"],\"rows\":[");
        json.extend_from_slice(&self.rows);
        json.extend_from_slice(b"],\"rowCount\":");
        json.extend_from_slice(itoa::Buffer::new().format(self.count).as_bytes());
        json.extend_from_slice(if cut.is_some() { b",\"truncated\":true" } else { b",\"truncated\":false" });
        json.extend_from_slice(b",\"affectedRows\":");
        json.extend_from_slice(itoa::Buffer::new().format(affected).as_bytes());
        let hint = cut.map(|cut| hint(cut, self.count, self.caps));
        if let Some(hint) = &hint {
            json.extend_from_slice(b",\"hint\":");
            write_string(&mut json, hint);
        }
        json.push(b'}');
        // Only strings and cells were written, which are UTF-8.
        let json = String::from_utf8(json).unwrap_or_default();
        Table {
            json,
            text: self.text.finish(self.count, affected, hint.as_deref()),
            rows: self.count,
            truncated: cut.is_some(),
        }
    }
}

fn hint(cut: Cut, count: u64, caps: Caps) -> String {
    match cut {
        Cut::Bytes if count == 0 => format!(
            "the first row alone is larger than {} bytes: select fewer columns, or a part of the long ones with substr()",
            caps.bytes
        ),
        Cut::Bytes => format!(
            "only the first {count} rows, which fill {} bytes: select fewer columns, filter or aggregate, or page on \
             with ORDER BY … LIMIT and OFFSET {count}",
            caps.bytes
        ),
        Cut::Rows if caps.rows < caps.rows_bound => format!(
            "only the first {count} rows: raise maxRows (at most {}), filter or aggregate, or page on with \
             ORDER BY … LIMIT and OFFSET {count}",
            caps.rows_bound
        ),
        Cut::Rows => format!(
            "only the first {count} rows: filter or aggregate, or page on with ORDER BY … LIMIT and OFFSET {count}"
        ),
    }
}

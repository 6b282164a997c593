//! Rows on their way out: values are copied from the engine into a compact batch, and read from it cell by cell. No
//! value can fail a query.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use serde::de::IgnoredAny;

use crate::sqlite::connect::limits::LONGEST;
use crate::sqlite::decode::types::ColumnDecoder;
use crate::sqlite::execute::argument::decimal_parts;
use portico_core::budget::{FREE, MemoryReservation};
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::{Batch, Cell};

/// Rows in a full batch.
pub(crate) const FULL: usize = 256;
/// The size in bytes of text and blobs at which a batch is full, whatever its number of rows.
const FULL_OCTETS: usize = 256 * 1024;
/// Octets of a row at most: the engine itself bounds each value alone.
const LONGEST_ROW: usize = LONGEST + (1 << 20);
/// How long rows wait for a batch to fill up.
const PATIENCE: Duration = Duration::from_millis(10);

/// Some rows, row by row, their texts end to end.
#[derive(Debug)]
pub(crate) struct RowBatch {
    columns: usize,
    rows: usize,
    slots: Vec<Slot>,
    text: String,
    octets: Vec<u8>,
    /// The memory reserved for its large rows.
    lent: Vec<MemoryReservation>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(Span),
    Decimal(Span),
    Json(Span),
    Bytes(Span),
}

/// Where a value lies in its batch. A batch is sent long before 4 GiB: see [`FULL_OCTETS`], and
/// the engine's own limit for one row.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Result<Self> {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Ok(Self { start, end }),
            _ => Err(Error::internal("a batch of rows outgrew 4 GiB")),
        }
    }
}

impl Batch for RowBatch {
    fn rows(&self) -> usize {
        self.rows
    }

    fn octets(&self) -> usize {
        self.text.len() + self.octets.len()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let outside = || Error::internal("bug: a cell lies outside its batch");
        let text =
            |span: Span| self.text.get(span.start as usize..span.end as usize).map(Cow::Borrowed).ok_or_else(outside);
        let slot = (row.checked_mul(self.columns).and_then(|at| at.checked_add(column)))
            .and_then(|at| self.slots.get(at))
            .ok_or_else(outside)?;
        Ok(match *slot {
            Slot::Null => Cell::Null,
            Slot::Boolean(value) => Cell::Boolean(value),
            Slot::Integer(value) => Cell::Integer(value),
            Slot::Double(value) => Cell::Double(value),
            Slot::Text(span) => Cell::Text(text(span)?),
            Slot::Decimal(span) => Cell::Decimal(text(span)?),
            Slot::Json(span) => Cell::Json(text(span)?),
            Slot::Bytes(span) => {
                let octets = self.octets.get(span.start as usize..span.end as usize).ok_or_else(outside)?;
                Cell::Bytes(Cow::Borrowed(octets))
            }
        })
    }
}

/// Fills one batch after another.
pub(crate) struct BatchBuilder {
    forms: Vec<ColumnDecoder>,
    batch: RowBatch,
    /// Rows the current batch is to have: few at first, so that the first row is out early.
    target: usize,
    since: Instant,
}

impl BatchBuilder {
    /// Batches of rows with one form for each column.
    pub(crate) fn new(forms: Vec<ColumnDecoder>) -> Self {
        let batch = RowBatch::empty(forms.len());
        Self { forms, batch, target: 1, since: Instant::now() }
    }

    /// Takes one row. For a large one `lend` makes room first.
    pub(crate) fn push(
        &mut self,
        row: &rusqlite::Row<'_>,
        lend: impl FnOnce(usize) -> Result<MemoryReservation>,
    ) -> Result<()> {
        if self.batch.rows == 0 {
            self.since = Instant::now();
        }
        let value = |column| row.get_ref(column).unwrap_or(ValueRef::Null);
        let octets = (0..self.forms.len()).fold(0_usize, |octets, column| match value(column) {
            ValueRef::Text(value) | ValueRef::Blob(value) => octets.saturating_add(value.len()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => octets,
        });
        if octets > LONGEST_ROW {
            return Err(too_large(LONGEST));
        }
        if octets > FREE {
            self.batch.lent.push(lend(octets)?);
        }
        for (column, form) in self.forms.iter().enumerate() {
            let slot = self.batch.slot(value(column), *form)?;
            self.batch.slots.push(slot);
        }
        self.batch.rows += 1;
        Ok(())
    }

    /// The batch, if it is to be sent now.
    pub(crate) fn full(&mut self) -> Option<RowBatch> {
        let due = self.batch.rows >= self.target || self.batch.is_heavy() || self.since.elapsed() >= PATIENCE;
        if due { self.rest() } else { None }
    }

    /// The batch as it is, if it has rows.
    pub(crate) fn rest(&mut self) -> Option<RowBatch> {
        if self.batch.rows == 0 {
            return None;
        }
        self.target = (self.target * 8).min(FULL);
        Some(std::mem::replace(&mut self.batch, RowBatch::empty(self.forms.len())))
    }
}

/// A row that has more than so many octets.
pub(crate) fn too_large(most: usize) -> Error {
    Error::new(Kind::TooLarge, format!("a row has more than {} MiB", most / 1024 / 1024))
        .hint("ask for fewer of its columns at once, or for a part of the longest with substr")
        .sqlstate("54000")
}

impl RowBatch {
    /// Whether it is so large that few of its kind should be in memory.
    pub(crate) fn is_heavy(&self) -> bool {
        self.text.len() + self.octets.len() >= FULL_OCTETS
    }

    fn empty(columns: usize) -> Self {
        Self { columns, rows: 0, slots: Vec::new(), text: String::new(), octets: Vec::new(), lent: Vec::new() }
    }

    fn slot(&mut self, value: ValueRef<'_>, form: ColumnDecoder) -> Result<Slot> {
        Ok(match (value, form) {
            (ValueRef::Null, _) => Slot::Null,
            (ValueRef::Integer(value @ (0 | 1)), ColumnDecoder::Boolean) => Slot::Boolean(value == 1),
            (ValueRef::Integer(value), ColumnDecoder::Decimal(scale)) if scale > 0 => {
                Slot::Decimal(self.write(&padded(value.to_string(), scale))?)
            }
            (ValueRef::Integer(value), _) => Slot::Integer(value),
            (ValueRef::Real(value), ColumnDecoder::Decimal(scale)) => {
                Slot::Decimal(self.write(&decimal(value, scale))?)
            }
            (ValueRef::Real(value), _) => Slot::Double(value),
            (ValueRef::Text(octets), ColumnDecoder::Plain | ColumnDecoder::Octets | ColumnDecoder::Boolean) => {
                Slot::Text(self.write(&lossy(octets))?)
            }
            (ValueRef::Text(octets), ColumnDecoder::Decimal(_)) => {
                let text = lossy(octets);
                let number = decimal_parts(&text).is_some();
                let span = self.write(&text)?;
                if number { Slot::Decimal(span) } else { Slot::Text(span) }
            }
            (ValueRef::Text(octets), ColumnDecoder::Json) => {
                let text = lossy(octets);
                let valid = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                let span = self.write(&text)?;
                if valid { Slot::Json(span) } else { Slot::Text(span) }
            }
            (ValueRef::Text(octets), ColumnDecoder::Timestamp) => Slot::Text(self.write(&timestamp(lossy(octets)))?),
            (ValueRef::Blob(octets), ColumnDecoder::Octets) => {
                let start = self.octets.len();
                self.octets.extend_from_slice(octets);
                Slot::Bytes(Span::new(start, self.octets.len())?)
            }
            // In base64 it could not be distinguished from text.
            (ValueRef::Blob(octets), _) => Slot::Text(self.write(&literal(octets))?),
        })
    }

    fn write(&mut self, text: &str) -> Result<Span> {
        let start = self.text.len();
        self.text.push_str(text);
        Span::new(start, self.text.len())
    }
}

/// Octets as the engine's own `quote` writes them.
fn literal(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2 + 3);
    text.push_str("X'");
    for octet in octets {
        // Writing to a String cannot fail.
        let _ = write!(text, "{octet:02X}");
    }
    text.push('\'');
    text
}

/// SQLite does not check that text is UTF-8; invalid bytes are replaced, as in its own shell.
fn lossy(octets: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(octets)
}

/// A float of a DECIMAL column in JSON's number syntax: the shortest digits that mean this value.
fn decimal(value: f64, scale: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-7..1e21).contains(&magnitude) {
        return format!("{value:e}");
    }
    padded(value.to_string(), scale)
}

/// Pads `digits` with zeros up to the declared scale. Nothing is ever cut off.
fn padded(mut digits: String, scale: usize) -> String {
    let fraction = match digits.find('.') {
        Some(point) => digits.len() - point - 1,
        None => 0,
    };
    if fraction < scale {
        if fraction == 0 {
            digits.push('.');
        }
        digits.extend(std::iter::repeat_n('0', scale - fraction));
    }
    digits
}

/// `YYYY-MM-DD HH:MM…`, SQLite's habit, as `YYYY-MM-DDTHH:MM…`; anything else stays as it is.
fn timestamp(text: Cow<'_, str>) -> Cow<'_, str> {
    let octets = text.as_bytes();
    let shaped = octets.len() >= 16
        && octets.iter().take(16).enumerate().all(|(at, octet)| match at {
            4 | 7 => *octet == b'-',
            10 => *octet == b' ',
            13 => *octet == b':',
            _ => octet.is_ascii_digit(),
        });
    if shaped { Cow::Owned(text.replacen(' ', "T", 1)) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit_and_get_the_declared_scale() {
        for (value, scale, expected) in [
            (12.5, 2, "12.50"),
            (12.0, 2, "12.00"),
            (0.1, 0, "0.1"),
            (1.239, 2, "1.239"),
            (-0.05, 2, "-0.05"),
            (1e300, 2, "1e300"),
            (1e-9, 2, "1e-9"),
            (f64::INFINITY, 2, "Infinity"),
            (0.0, 2, "0.00"),
        ] {
            assert_eq!(decimal(value, scale), expected);
        }
        assert_eq!(padded("7".to_owned(), 2), "7.00");
    }

    #[test]
    fn only_what_is_shaped_like_a_timestamp_gets_the_t() {
        let form = |text: &str| timestamp(Cow::Borrowed(text)).into_owned();
        assert_eq!(form("2024-02-29 23:59:58.5"), "2024-02-29T23:59:58.5");
        assert_eq!(form("2024-02-29 23:59"), "2024-02-29T23:59");
        for kept in ["2024-02-29T23:59:58", "next Monday at noon", "2024-02-29", "", "2024-02-2é 23:59"] {
            assert_eq!(form(kept), kept);
        }
    }
}

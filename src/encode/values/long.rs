//! Long values of a tool's result: of each its beginning, and how long it is. They never cost the row that they are in.

use portico_actors::error::Result;
use portico_actors::reply::{Batch, Cell};

use super::cell::{Cells, write_base64};

/// Returns the length of a value of unbounded type in bytes, and how many of them are shown within `longest` bytes.
#[inline]
fn measure(cell: &Cell<'_>, longest: usize) -> Option<(usize, usize)> {
    match cell {
        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => Some((text.len(), longest)),
        // They are shown in base64.
        Cell::Bytes(octets) => Some((octets.len(), longest / 4 * 3)),
        _ => None,
    }
}

/// Returns the start of `cell`, a value of `full` bytes, as a text that states its length; `None` if it is complete
/// and not longer than `longest` bytes.
fn beginning(cell: &Cell<'_>, full: usize, longest: usize) -> Option<Cell<'static>> {
    let (length, most) = measure(cell, longest)?;
    if full <= most && length == full {
        return None;
    }
    let (mut text, shown) = match cell {
        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => {
            let end = text.floor_char_boundary(most);
            (text.get(..end).unwrap_or_default().to_owned(), end)
        }
        Cell::Bytes(octets) => {
            let (mut base64, end) = (Vec::new(), most.min(octets.len()));
            write_base64(&mut base64, octets.get(..end).unwrap_or_default());
            (String::from_utf8(base64).unwrap_or_default(), end)
        }
        _ => return None,
    };
    text.push_str(&format!("… ({shown} of {full} bytes)"));
    Some(Cell::Text(text.into()))
}

/// A batch with its long values cut.
pub(in crate::encode) struct TruncatedBatch<'b> {
    batch: &'b dyn Batch,
    longest: usize,
    is_shorter: std::cell::Cell<bool>,
}

impl<'b> TruncatedBatch<'b> {
    /// `batch` with at most `longest` octets of each value.
    pub(in crate::encode) fn new(batch: &'b dyn Batch, longest: usize) -> Self {
        Self { batch, longest, is_shorter: std::cell::Cell::new(false) }
    }

    #[cold]
    fn shortened(&self, value: &Cell<'_>, full: usize) -> Option<Cell<'static>> {
        let shorter = beginning(value, full, self.longest);
        self.is_shorter.set(self.is_shorter.get() || shorter.is_some());
        shorter
    }

    /// Whether a value that was read was cut.
    pub(in crate::encode) fn is_shorter(&self) -> bool {
        self.is_shorter.get()
    }
}

impl Cells for TruncatedBatch<'_> {
    #[inline]
    fn value(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let cell = self.batch.cell(row, column);
        // Nearly all values are whole: they are handed on where they are.
        match &cell {
            Ok(value) => match measure(value, self.longest) {
                Some((full, most)) if full > most => self.shortened(value, full).map_or(cell, Ok),
                _ => cell,
            },
            Err(_) => cell,
        }
    }
}

/// A long value that may be the whole result, or as much of it as that has room for.
pub(in crate::encode) struct LongValue {
    cell: Cell<'static>,
    full: usize,
}

impl LongValue {
    /// `cell`, if it is longer than `longest` octets; of one that is longer than `most` the beginning is kept.
    pub(in crate::encode) fn new(cell: Cell<'_>, longest: usize, most: usize) -> Option<Self> {
        let (full, shown) = measure(&cell, longest)?;
        if full <= shown {
            return None;
        }
        let cell = if full <= most {
            cell.into_owned()
        } else {
            match cell {
                Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => {
                    let end = text.floor_char_boundary(most);
                    Cell::Text(text.get(..end).unwrap_or_default().to_owned().into())
                }
                Cell::Bytes(octets) => Cell::Bytes(octets.get(..most).unwrap_or_default().to_owned().into()),
                other => other.into_owned(),
            }
        };
        Some(Self { cell, full })
    }

    /// The value, or at most `longest` octets of its beginning; and whether that is all of it.
    pub(in crate::encode) fn shown(&self, longest: usize) -> (Cell<'static>, bool) {
        match beginning(&self.cell, self.full, longest) {
            Some(shorter) => (shorter, false),
            None => (self.cell.clone(), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_tells_its_beginning_and_its_length() {
        let text = |text: &str| Cell::Text(text.to_owned().into());
        assert_eq!(beginning(&text("abc"), 3, 3), None);
        assert_eq!(beginning(&text("äbc"), 4, 3), Some(text("äb… (3 of 4 bytes)")));
        assert_eq!(beginning(&text("äb"), 3, 1), Some(text("… (0 of 3 bytes)")), "no half of a character");
        assert_eq!(beginning(&Cell::Json("[1,2]".into()), 5, 2), Some(text("[1… (2 of 5 bytes)")));
        assert_eq!(beginning(&Cell::Bytes(vec![0; 7].into()), 7, 8), Some(text("AAAAAAAA… (6 of 7 bytes)")));
        assert_eq!(beginning(&Cell::Integer(1 << 60), 0, 1), None);
        let alone = LongValue::new(Cell::Json("[1,2,3]".into()), 2, 100).unwrap();
        assert_eq!(alone.shown(100), (Cell::Json("[1,2,3]".into()), true));
        assert_eq!(alone.shown(3), (text("[1,… (3 of 7 bytes)"), false));
        let alone = LongValue::new(text("abcdef"), 2, 4).unwrap();
        assert_eq!(alone.shown(100), (text("abcd… (4 of 6 bytes)"), false), "its end was never kept");
        assert!(LongValue::new(text("ab"), 2, 4).is_none());
    }
}

//! Writes cells as JSON values; the other formats share what is equal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use portico_actors::error::Result;
use portico_actors::reply::{Batch, Cell};

use super::strict;

/// How a JSON value of the source is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// As a string that holds its text (the SQL API).
    Quoted,
    /// As the JSON value that it is (tools), where every parser reads that; else as a string.
    Plain,
}

/// The source of rows' values: a batch, or a view of one.
pub(in crate::encode) trait Cells {
    /// Returns one value, as [`Batch::cell`] does.
    fn value(&self, row: usize, column: usize) -> Result<Cell<'_>>;
}

impl<T: Batch + ?Sized> Cells for T {
    fn value(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        self.cell(row, column)
    }
}

/// Appends `before` and a row as a JSON array; nothing if one of its values cannot be read.
pub(in crate::encode) fn write_row(
    out: &mut Vec<u8>,
    before: &[u8],
    cells: &(impl Cells + ?Sized),
    row: usize,
    columns: usize,
    nesting: Nesting,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(before);
    out.push(b'[');
    for column in 0..columns {
        if column > 0 {
            out.push(b',');
        }
        match cells.value(row, column) {
            Ok(cell) => write_cell(out, &cell, nesting),
            Err(error) => {
                out.truncate(start);
                return Err(error);
            }
        }
    }
    out.push(b']');
    Ok(())
}

/// Appends `cell` as one JSON value.
pub(crate) fn write_cell(out: &mut Vec<u8>, cell: &Cell<'_>, nesting: Nesting) {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Boolean(true) => out.extend_from_slice(b"true"),
        Cell::Boolean(false) => out.extend_from_slice(b"false"),
        Cell::Integer(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Cell::Float(number) if number.is_finite() => write_float(out, ryu::Buffer::new().format_finite(*number)),
        Cell::Double(number) if number.is_finite() => write_float(out, ryu::Buffer::new().format_finite(*number)),
        Cell::Float(number) => write_infinite(out, f64::from(*number)),
        Cell::Double(number) => write_infinite(out, *number),
        Cell::Decimal(digits) => {
            // "NaN" and the infinities are not JSON numbers.
            if digits.ends_with(|last: char| last.is_ascii_digit()) {
                out.extend_from_slice(digits.as_bytes());
            } else {
                write_string(out, digits);
            }
        }
        Cell::Text(text) => write_string(out, text),
        Cell::Json(json) if nesting == Nesting::Plain && strict::is_strict(json) => {
            out.extend_from_slice(json.as_bytes());
        }
        Cell::Json(json) => write_string(out, json),
        Cell::Bytes(octets) => {
            out.push(b'"');
            write_base64(out, octets);
            out.push(b'"');
        }
    }
}

fn write_float(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
}

fn write_infinite(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(match number {
        infinite if infinite > 0.0 => b"\"Infinity\"".as_slice(),
        infinite if infinite < 0.0 => b"\"-Infinity\"",
        _ => b"\"NaN\"",
    });
}

/// Appends `octets` in base64 (RFC 4648 §4).
pub(crate) fn write_base64(out: &mut Vec<u8>, octets: &[u8]) {
    let start = out.len();
    out.resize(start + octets.len().div_ceil(3) * 4, 0);
    let written = BASE64.encode_slice(octets, &mut out[start..]).unwrap_or_default();
    out.truncate(start + written);
}

/// Appends `text` as a JSON string.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory cannot fail, and a str is always a valid JSON string.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cell: &Cell<'_>, nesting: Nesting) -> String {
        let mut out = Vec::new();
        write_cell(&mut out, cell, nesting);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_cell_is_written_as_the_wire_says() {
        let cases: [(Cell<'_>, &str); 17] = [
            (Cell::Null, "null"),
            (Cell::Boolean(true), "true"),
            (Cell::Integer(i64::MIN), "-9223372036854775808"),
            (Cell::Float(0.1), "0.1"),
            (Cell::Float(f32::NAN), "\"NaN\""),
            (Cell::Double(1.0), "1"),
            (Cell::Double(1e300), "1e300"),
            (Cell::Double(f64::NEG_INFINITY), "\"-Infinity\""),
            (Cell::Double(f64::INFINITY), "\"Infinity\""),
            (Cell::Decimal("12345678901234567890.000".into()), "12345678901234567890.000"),
            (Cell::Decimal("NaN".into()), "\"NaN\""),
            (Cell::Decimal("-Infinity".into()), "\"-Infinity\""),
            (Cell::Text("\"é\n\u{1}".into()), "\"\\\"é\\n\\u0001\""),
            (Cell::Json("{\"a\":[1]}".into()), "\"{\\\"a\\\":[1]}\""),
            (Cell::Bytes(b"".as_slice().into()), "\"\""),
            (Cell::Bytes(b"\xff".as_slice().into()), "\"/w==\""),
            (Cell::Bytes(b"\x00\x01\x02\x03".as_slice().into()), "\"AAECAw==\""),
        ];
        for (cell, expected) in cases {
            assert_eq!(written(&cell, Nesting::Quoted), expected, "{cell:?}");
        }
        assert_eq!(written(&Cell::Json("{\"a\":[1]}".into()), Nesting::Plain), "{\"a\":[1]}");
    }
}

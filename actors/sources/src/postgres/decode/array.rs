//! PostgreSQL's binary arrays as JSON text, nested once per dimension. Lower bounds other than 1
//! have no place in JSON and are left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::postgres::decode::malformed::Malformed;
use portico_core::reply::Cell;

/// The source allows six dimensions (`MAXDIM`).
const MOST_DIMENSIONS: usize = 6;
const BROKEN: Malformed = Malformed("array");

/// Returns the array as JSON, its elements decoded by `decode`: numbers, truth values and JSON are kept, everything
/// else becomes a string.
pub(crate) fn json(
    raw: &[u8],
    decode: impl Fn(&[u8]) -> Result<Cell<'_>, Malformed> + Copy,
) -> Result<String, Malformed> {
    let (&[d0, d1, d2, d3, ..], mut rest) = raw.split_first_chunk::<12>().ok_or(BROKEN)?;
    let count = usize::try_from(i32::from_be_bytes([d0, d1, d2, d3])).map_err(|_| BROKEN)?;
    if count > MOST_DIMENSIONS {
        return Err(BROKEN);
    }
    let mut dimensions = Vec::with_capacity(count);
    for _ in 0..count {
        let (&[l0, l1, l2, l3, ..], more) = rest.split_first_chunk::<8>().ok_or(BROKEN)?;
        dimensions.push(usize::try_from(i32::from_be_bytes([l0, l1, l2, l3])).map_err(|_| BROKEN)?);
        rest = more;
    }
    let mut text = String::with_capacity(raw.len());
    if dimensions.is_empty() {
        text.push_str("[]");
    } else {
        nested(&mut text, &dimensions, &mut rest, decode)?;
    }
    Ok(text)
}

fn nested(
    text: &mut String,
    dimensions: &[usize],
    rest: &mut &[u8],
    decode: impl Fn(&[u8]) -> Result<Cell<'_>, Malformed> + Copy,
) -> Result<(), Malformed> {
    let Some((length, inner)) = dimensions.split_first() else {
        return value(text, rest, decode);
    };
    text.push('[');
    for index in 0..*length {
        if index > 0 {
            text.push(',');
        }
        nested(text, inner, rest, decode)?;
    }
    text.push(']');
    Ok(())
}

fn value(
    text: &mut String,
    rest: &mut &[u8],
    decode: impl Fn(&[u8]) -> Result<Cell<'_>, Malformed>,
) -> Result<(), Malformed> {
    let (length, more) = rest.split_first_chunk::<4>().ok_or(BROKEN)?;
    // A negative length is NULL.
    let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
        *rest = more;
        text.push_str("null");
        return Ok(());
    };
    let (raw, more) = more.split_at_checked(length).ok_or(BROKEN)?;
    *rest = more;
    write_json(text, &decode(raw)?)
}

fn write_json(text: &mut String, cell: &Cell<'_>) -> Result<(), Malformed> {
    match cell {
        Cell::Null => text.push_str("null"),
        Cell::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
        Cell::Integer(value) => text.push_str(&value.to_string()),
        Cell::Float(value) if value.is_finite() => text.push_str(&printed(value)?),
        Cell::Double(value) if value.is_finite() => text.push_str(&printed(value)?),
        Cell::Float(value) => text.push_str(not_a_number(f64::from(*value))),
        Cell::Double(value) => text.push_str(not_a_number(*value)),
        Cell::Decimal(digits) if digits.ends_with(|last: char| last.is_ascii_digit()) => text.push_str(digits),
        Cell::Decimal(word) | Cell::Text(word) => text.push_str(&printed(word)?),
        Cell::Json(json) => text.push_str(json),
        Cell::Bytes(octets) => text.push_str(&printed(&STANDARD.encode(octets))?),
    }
    Ok(())
}

fn printed(value: &(impl serde::Serialize + ?Sized)) -> Result<String, Malformed> {
    serde_json::to_string(value).map_err(|_| BROKEN)
}

const fn not_a_number(value: f64) -> &'static str {
    if value.is_nan() {
        "\"NaN\""
    } else if value > 0.0 {
        "\"Infinity\""
    } else {
        "\"-Infinity\""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_beyond_the_octets_are_an_error() {
        let mut raw = 1_i32.to_be_bytes().to_vec();
        raw.extend([0; 8]);
        raw.extend(i32::MAX.to_be_bytes());
        raw.extend(1_i32.to_be_bytes());
        assert!(json(&raw, |_| Ok(Cell::Null)).is_err());
        assert!(json(&7_i32.to_be_bytes().repeat(3), |_| Ok(Cell::Null)).is_err());
    }
}

//! Binds values to placeholders, from the JSON text that they came in. No value is ever inserted into a statement's
//! text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::Value;

use crate::statements::bindings::{self, name_without_at};
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_core::reply::DataType;

/// Values of one statement at most: `SQLITE_MAX_VARIABLE_NUMBER` (<https://www.sqlite.org/limits.html>).
const MOST_VALUES: usize = 32_766;

/// One value for each of `placeholders`, found by name, else by its number.
///
/// # Errors
/// [`Kind::TooLarge`](portico_core::error::Kind::TooLarge) for more than the engine can bind;
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the placeholders without a value, the
/// values without a placeholder, or the value that cannot be read.
pub(crate) fn bind(placeholders: &[String], given: &[Argument]) -> Result<Vec<Value>> {
    bindings::check_value_count(placeholders.len().max(given.len()), MOST_VALUES)?;
    let places = bindings::all_places(placeholders, given)?;
    places.into_iter().filter_map(|place| given.get(place)).map(value).collect()
}

/// A name with its one `@`.
pub(crate) fn at(name: &str) -> String {
    format!("@{}", name_without_at(name))
}

/// Whether two names mean the same placeholder.
pub(crate) fn same(one: &str, other: &str) -> bool {
    name_without_at(one).eq_ignore_ascii_case(name_without_at(other))
}

/// Returns the value to bind for one argument.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is declared BINARY and is not base64.
pub(crate) fn value(argument: &Argument) -> Result<Value> {
    let json = argument.value.get().trim();
    Ok(match json.as_bytes().first() {
        Some(b'n') | None => Value::Null,
        Some(b't') => Value::Integer(1),
        Some(b'f') => Value::Integer(0),
        Some(b'"') => {
            let text: String = serde_json::from_str(json).map_err(|error| {
                Error::invalid(format!("the value of {} is not a text: {error}", at(&argument.name)))
            })?;
            match argument.data_type {
                Some(hint) if is_number(hint) => of_text(text, hint),
                Some(hint) if hint == i32::from(DataType::Binary.code()) => {
                    Value::Blob(STANDARD.decode(&text).map_err(|error| {
                        Error::invalid(format!(
                            "the value of {} has dataType 1 (BINARY) but is not base64: {error}",
                            at(&argument.name)
                        ))
                    })?)
                }
                Some(hint) if hint == i32::from(DataType::Boolean.code()) => match text.as_str() {
                    "true" => Value::Integer(1),
                    "false" => Value::Integer(0),
                    _ => Value::Text(text),
                },
                _ => Value::Text(text),
            }
        }
        Some(b'{' | b'[') => Value::Text(json.to_owned()),
        Some(_) => number(json),
    })
}

/// A JSON number as SQLite reads a literal: INTEGER where it is one of 64 bits, else REAL.
fn number(json: &str) -> Value {
    match json.parse::<i64>() {
        Ok(integer) => Value::Integer(integer),
        Err(_) => json.parse::<f64>().map_or_else(|_| Value::Text(json.to_owned()), Value::Real),
    }
}

/// Whether a client calls a value a number by this code.
fn is_number(hint: i32) -> bool {
    (i32::from(DataType::TinyInt.code())..=i32::from(DataType::Numeric.code())).contains(&hint)
}

/// Converts a string that the client declares a number; it stays text if it is not one.
fn of_text(text: String, hint: i32) -> Value {
    let Some(json) = Some(text.trim()).filter(|json| decimal_parts(json).is_some()) else { return Value::Text(text) };
    let is_float = [DataType::Float, DataType::Double].map(|float| i32::from(float.code())).contains(&hint);
    match number(json) {
        #[expect(clippy::cast_precision_loss, reason = "what a client calls a float is one")]
        Value::Integer(integer) if is_float => Value::Real(integer as f64),
        value => value,
    }
}

/// Splits a number in JSON's syntax into its sign, its digits without zeros at either end, and the power of ten of
/// the first digit; equal parts mean the same number. Returns `None` for anything else.
pub(crate) fn decimal_parts(json: &str) -> Option<(bool, String, i64)> {
    let (negative, rest) = match json.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, json),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if !all_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) || !fraction.is_none_or(all_digits) {
        return None;
    }
    let exponent = match exponent {
        Some(text) => {
            let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
            if !all_digits(unsigned) {
                return None;
            }
            // A power of ten beyond 32 bits is a number all the same; no float is ever equal to it.
            text.trim_start_matches('+').parse::<i32>().map_or(i64::from(i32::MAX), i64::from)
        }
        None => 0,
    };
    let digits = format!("{whole}{}", fraction.unwrap_or(""));
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_matches('0').to_owned();
    if significant.is_empty() {
        return Some((negative, significant, 0));
    }
    let power = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()? - 1;
    Some((negative, significant, power.saturating_add(exponent)))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn given(name: &str, json: &str, data_type: Option<i32>) -> Argument {
        Argument { name: name.to_owned(), value: RawValue::from_string(json.to_owned()).unwrap(), data_type }
    }

    #[test]
    fn json_values_become_the_closest_values_of_sqlite() {
        for (json, hint, expected) in [
            ("null", None, Value::Null),
            ("true", None, Value::Integer(1)),
            ("false", Some(14), Value::Integer(0)),
            ("\"true\"", Some(14), Value::Integer(1)),
            ("9223372036854775807", Some(8), Value::Integer(i64::MAX)),
            ("9223372036854775808", Some(8), Value::Real(9_223_372_036_854_775_808.0)),
            ("-9223372036854775808", None, Value::Integer(i64::MIN)),
            ("-9223372036854775809", None, Value::Real(-9_223_372_036_854_775_808.0)),
            ("10.500000000000000001", None, Value::Real(10.5)),
            ("7.0", Some(8), Value::Real(7.0)),
            ("\"7\"", Some(8), Value::Integer(7)),
            ("\"7\"", Some(11), Value::Real(7.0)),
            ("\"-7.50\"", Some(12), Value::Real(-7.5)),
            ("\"seven\"", Some(8), Value::Text("seven".to_owned())),
            ("\"7\"", None, Value::Text("7".to_owned())),
            ("\"7\"", Some(5), Value::Text("7".to_owned())),
            ("0.1", Some(12), Value::Real(0.1)),
            ("-1.50e2", None, Value::Real(-150.0)),
            ("1e400", None, Value::Real(f64::INFINITY)),
            ("3.14159265358979323846", None, Value::Real(std::f64::consts::PI)),
            ("\"Łódź \\u0041\"", Some(5), Value::Text("Łódź A".to_owned())),
            ("\"AQID\"", Some(1), Value::Blob(vec![1, 2, 3])),
            ("[1, 2]", None, Value::Text("[1, 2]".to_owned())),
            ("{\"a\":1}", None, Value::Text("{\"a\":1}".to_owned())),
        ] {
            assert_eq!(value(&given("x", json, hint)).unwrap(), expected, "{json}");
        }
        assert!(value(&given("x", "\"no base64!\"", Some(1))).unwrap_err().message.contains("@x"));
    }

    #[test]
    fn more_values_than_the_engine_binds_are_refused() {
        let names: Vec<String> = (0..=MOST_VALUES).map(|number| format!("p{number}")).collect();
        let all = |count: usize| names.iter().take(count).rev().map(|name| given(name, "1", None)).collect::<Vec<_>>();
        assert_eq!(bind(names.get(..MOST_VALUES).unwrap(), &all(MOST_VALUES)).unwrap().len(), MOST_VALUES);
        assert_eq!(bind(&names, &all(MOST_VALUES + 1)).unwrap_err().kind, portico_core::error::Kind::TooLarge);
        let missing = bind(names.get(..20).unwrap(), &[]).unwrap_err();
        assert!(missing.message.ends_with("@p9 and 10 more"), "{}", missing.message);
    }

    #[test]
    fn number_syntax_is_that_of_json() {
        for number in ["0", "-0", "10", "0.50", "1e5", "1E+5", "12.5e-3", "1e99999999999999"] {
            assert!(decimal_parts(number).is_some(), "{number}");
        }
        for other in ["", "-", "01", ".5", "5.", "1e", "1e+", "+1", "NaN", "0x1", "1 ", "1_0", "1.2.3"] {
            assert!(decimal_parts(other).is_none(), "{other}");
        }
        assert_eq!(decimal_parts("0.0120"), decimal_parts("1.2e-2"));
    }
}

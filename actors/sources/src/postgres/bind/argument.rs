//! Binds JSON values as parameters: each becomes the text form of its inferred type, so that no digit is lost and
//! no part of a value is ever inserted into a statement.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::BytesMut;
use serde_json::value::RawValue;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::digest::quoted;
use crate::postgres::decode::cells::hexadecimal;
use crate::postgres::decode::decoder::is_true_array;
use crate::statements::bindings;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Values of one statement at most: the protocol counts them in 16 bits.
const MOST_VALUES: usize = 65_535;
/// Dimensions of an array at most (PostgreSQL, `MAXDIM`).
pub(crate) const MOST_DIMENSIONS: usize = 6;

/// A value in its type's text form; `None` is NULL. `Debug` never prints the value, since the wire library logs
/// what it binds.
pub(crate) struct BoundValue(pub(crate) Option<String>);

impl fmt::Debug for BoundValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoundValue")
    }
}

impl ToSql for BoundValue {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        Ok(match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Puts the arguments in the order of `placeholders`; each is named or numbered once.
///
/// # Errors
/// [`Kind::TooLarge`](portico_core::error::Kind::TooLarge) for more than the protocol can carry,
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming what is missing or unknown.
pub(crate) fn in_order(placeholders: &[String], arguments: Vec<Argument>) -> Result<Vec<Argument>> {
    bindings::check_value_count(placeholders.len().max(arguments.len()), MOST_VALUES)?;
    let places = bindings::all_places(placeholders, &arguments)?;
    let mut left: Vec<Option<Argument>> = arguments.into_iter().map(Some).collect();
    Ok(places.into_iter().filter_map(|place| left.get_mut(place)?.take()).collect())
}

/// The value as `type_` reads it.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the parameter, its type and the form.
pub(crate) fn bound(argument: &Argument, type_: &Type) -> Result<BoundValue> {
    text(&argument.value, type_).map(BoundValue).map_err(|wrong| {
        let refused = wrong_value(&argument.name, type_, wrong.0);
        let name = bindings::name_without_at(&argument.name);
        if let Some(form) = form_as_text(name, type_) {
            return refused.hint(form);
        }
        if bindings::is_array(argument) && !is_true_array(type_) {
            return refused.hint(format!(
                "@{name} is a list: = ANY(@{name}) asks for one of its values, and a cast such as @{name}::int[] or \
                 @{name}::jsonb says what it is"
            ));
        }
        if argument.value.get().trim_start().starts_with('{') {
            return refused.hint(format!("@{name} is a JSON object: a cast, @{name}::jsonb, says so"));
        }
        refused
    })
}

/// How a value of a type is written that JSON has no form for.
fn form_as_text(name: &str, type_: &Type) -> Option<String> {
    Some(match (type_.kind(), type_) {
        (Kind::Composite(fields), _) => {
            let of = format!("{}.{}", quoted(type_.schema()), quoted(type_.name()));
            let fields: Vec<&str> = fields.iter().map(tokio_postgres::types::Field::name).collect();
            format!(
                "a composite value is written of its fields, {}: ROW(@a, @b)::{of}; or of an object by its fields' names: \
                 jsonb_populate_record(NULL::{of}, @{name}::jsonb)",
                fields.join(", ")
            )
        }
        (Kind::Range(_) | Kind::Multirange(_), _) => {
            "a range is given as a text: \"[1,10)\", a multirange as \"{[1,3),[5,7)}\"".to_owned()
        }
        (_, &(Type::POINT | Type::LSEG | Type::PATH | Type::BOX | Type::POLYGON | Type::LINE | Type::CIRCLE)) => {
            "it is given as a text, as the database writes it: a point as \"(1,2)\"".to_owned()
        }
        _ => return None,
    })
}

/// The error for a value that its type does not take.
pub(crate) fn wrong_value(name: &str, type_: &Type, form: &str) -> Error {
    let name = bindings::name_without_at(name);
    Error::invalid(format!("parameter @{name}: {} expects {form}", type_.name().trim_start_matches('_')))
}

/// The value that a type requires.
struct Expected(&'static str);

fn text(raw: &RawValue, type_: &Type) -> Result<Option<String>, Expected> {
    if let Kind::Domain(base) = type_.kind() {
        return text(raw, base);
    }
    let json = raw.get().trim();
    let value = Value::parse(json)?;
    if let Value::Null = value {
        return Ok(None);
    }
    let element = match type_.kind() {
        Kind::Array(element) if is_true_array(type_) => Some(element),
        _ => None,
    };
    let form = match (type_, value) {
        (&Type::BYTEA, value) => octets(&value)?,
        // An array in a result, which is JSON as text, is accepted as a value too.
        (_, Value::Text(text)) => match element.map(|element| (element, elements(&text))) {
            Some((element, Ok(elements))) => literal(&elements, element, 1)?,
            _ => text,
        },
        // A string is JSON text, as with every driver; anything else is that JSON value.
        (&(Type::JSON | Type::JSONB), _) => json.to_owned(),
        (&Type::BOOL, Value::Boolean(truth)) => truth.to_string(),
        (&Type::BOOL, Value::Number("0")) => "false".to_owned(),
        (&Type::BOOL, Value::Number("1")) => "true".to_owned(),
        (&Type::BOOL, _) => return Err(Expected("true or false")),
        (&(Type::INT2 | Type::INT4 | Type::INT8 | Type::OID), Value::Number(digits)) => integral(digits).into_owned(),
        (&(Type::INT2 | Type::INT4 | Type::INT8 | Type::OID), _) => return Err(Expected("a whole number")),
        (&(Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC | Type::MONEY), Value::Number(digits)) => digits.to_owned(),
        (&(Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC | Type::MONEY), _) => return Err(Expected("a number")),
        (&(Type::DATE | Type::TIME | Type::TIMETZ | Type::TIMESTAMP | Type::TIMESTAMPTZ | Type::UUID), _) => {
            return Err(Expected("a string"));
        }
        (_, value) => match (element, value) {
            (Some(element), Value::Array(elements)) => literal(&elements, element, 1)?,
            (Some(_), _) => return Err(Expected("a JSON array")),
            (None, Value::Number(digits)) => digits.to_owned(),
            (None, Value::Boolean(truth)) => truth.to_string(),
            (None, _) => return Err(Expected("a string")),
        },
    };
    Ok(Some(form))
}

fn elements(json: &str) -> serde_json::Result<Vec<&RawValue>> {
    serde_json::from_str(json)
}

/// A JSON value one level deep; nested values stay JSON text.
enum Value<'a> {
    Null,
    Boolean(bool),
    Number(&'a str),
    Text(String),
    Array(Vec<&'a RawValue>),
    Object,
}

impl<'a> Value<'a> {
    fn parse(json: &'a str) -> Result<Self, Expected> {
        const BROKEN: Expected = Expected("a JSON value");
        Ok(match json.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            // It was parsed as JSON before: the only possible error is half of a surrogate pair.
            Some(b'"') => Self::Text(serde_json::from_str(json).map_err(|_| {
                Expected("characters: an escape from \\ud800 to \\udfff is half of one, and stands in a pair")
            })?),
            Some(b'[') => Self::Array(elements(json).map_err(|_| BROKEN)?),
            Some(b'{') => Self::Object,
            Some(_) => Self::Number(json),
            None => return Err(BROKEN),
        })
    }
}

/// Base64 in, standard or for URLs, padded or not, or the source's own hexadecimal, which base64 is never; that
/// out.
fn octets(value: &Value<'_>) -> Result<String, Expected> {
    const EXPECTED: Expected = Expected("a base64 string");
    let Value::Text(text) = value else { return Err(EXPECTED) };
    if text.starts_with("\\x") {
        return Ok(text.clone());
    }
    let octets = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).map_err(|_| EXPECTED)?;
    Ok(hexadecimal(&octets))
}

/// Returns a whole number without fraction and exponent: `1.0` and `1e3` are whole numbers in JSON but not in the
/// source's text form. Other numbers stay as they are, for the source to refuse.
pub(crate) fn integral(digits: &str) -> Cow<'_, str> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<usize>() else { return Cow::Borrowed(digits) };
    let fraction = fraction.trim_end_matches('0');
    // No integer type of the source has more than 19 digits.
    if fraction.len() > exponent || exponent > 19 {
        return Cow::Borrowed(digits);
    }
    Cow::Owned(format!("{whole}{fraction}{}", "0".repeat(exponent - fraction.len())))
}

/// Returns an array literal; every element is quoted, so that none can be taken for syntax. `dimension` counts from
/// 1: the source allows six at most (`MAXDIM`), and a client may send any number.
fn literal(elements: &[&RawValue], element: &Type, dimension: usize) -> Result<String, Expected> {
    if dimension > MOST_DIMENSIONS {
        return Err(Expected("an array of at most 6 dimensions"));
    }
    let delimiter = if *element == Type::BOX { ';' } else { ',' };
    let mut out = String::from("{");
    for (index, raw) in elements.iter().enumerate() {
        if index > 0 {
            out.push(delimiter);
        }
        // A nested array is a further dimension, except where the elements are JSON themselves.
        let nested = match Value::parse(raw.get().trim())? {
            Value::Array(inner) if !matches!(*element, Type::JSON | Type::JSONB) => Some(inner),
            _ => None,
        };
        match nested {
            Some(inner) => out.push_str(&literal(&inner, element, dimension + 1)?),
            // Of an array of JSON the elements are values, as a result shows them.
            None if matches!(*element, Type::JSON | Type::JSONB) && raw.get().trim().starts_with('"') => {
                quote(raw.get().trim(), &mut out);
            }
            None => match text(raw, element)? {
                None => out.push_str("NULL"),
                Some(text) => quote(&text, &mut out),
            },
        }
    }
    out.push('}');
    Ok(out)
}

/// Appends an element of an array literal.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, json: &str) -> Argument {
        Argument { name: name.to_owned(), value: RawValue::from_string(json.to_owned()).unwrap(), data_type: None }
    }

    fn form(json: &str, type_: &Type) -> Option<String> {
        bound(&argument("a", json), type_).unwrap().0
    }

    #[test]
    fn numbers_keep_every_digit() {
        let digits = "123456789012345678901234567890.000000000000000000001000";
        assert_eq!(form(digits, &Type::NUMERIC).as_deref(), Some(digits));
        assert_eq!(form("12.50e2", &Type::INT4).as_deref(), Some("1250"));
        assert_eq!(form("-1.0", &Type::INT8).as_deref(), Some("-1"));
        assert_eq!(form("1.5", &Type::INT4).as_deref(), Some("1.5"));
        assert_eq!(form("1e999999999999", &Type::INT4).as_deref(), Some("1e999999999999"));
    }

    #[test]
    fn elements_of_arrays_cannot_break_out() {
        assert_eq!(
            form(r#"["a\"b","c\\d","x,y{}",null]"#, &Type::TEXT_ARRAY).as_deref(),
            Some(r#"{"a\"b","c\\d","x,y{}",NULL}"#)
        );
        assert_eq!(form("[[1,2],[3,4]]", &Type::INT4_ARRAY).as_deref(), Some(r#"{{"1","2"},{"3","4"}}"#));
        assert_eq!(form(r#""[[1,2],[3,4]]""#, &Type::INT4_ARRAY).as_deref(), Some(r#"{{"1","2"},{"3","4"}}"#));
        assert_eq!(form(r#""{1,2}""#, &Type::INT4_ARRAY).as_deref(), Some("{1,2}"));
        assert_eq!(form(r#""[2:3]={1,2}""#, &Type::INT4_ARRAY).as_deref(), Some("[2:3]={1,2}"));
        assert_eq!(form(r#"[{"k":[1]}]"#, &Type::JSONB_ARRAY).as_deref(), Some(r#"{"{\"k\":[1]}"}"#));
    }

    #[test]
    fn an_array_has_no_more_dimensions_than_the_source_knows() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(form(&nested(6), &Type::INT4_ARRAY).as_deref(), Some("{{{{{{}}}}}}"));
        for depth in [7, 100_000] {
            for json in [nested(depth), format!("\"{}\"", nested(depth))] {
                let message = bound(&argument("a", &json), &Type::INT4_ARRAY).unwrap_err().message;
                assert_eq!(message, "parameter @a: int4 expects an array of at most 6 dimensions");
            }
        }
        let json = nested(100_000);
        assert_eq!(form(&json, &Type::JSONB).as_deref(), Some(json.as_str()), "its own parser bounds it");
    }

    #[test]
    fn a_string_for_json_is_json_text() {
        for type_ in [&Type::JSON, &Type::JSONB] {
            assert_eq!(form(r#""{\"a\": [1]}""#, type_).as_deref(), Some(r#"{"a": [1]}"#));
            assert_eq!(form(r#""\"x\"""#, type_).as_deref(), Some(r#""x""#));
            assert_eq!(form(r#""not json""#, type_).as_deref(), Some("not json"), "the source says what is wrong");
            for value in [r#"{"a": "b"}"#, "[1, 2]", "7", "true"] {
                assert_eq!(form(value, type_).as_deref(), Some(value));
            }
            assert_eq!(form("null", type_), None);
        }
        assert_eq!(form(r#"["a", 1, null]"#, &Type::JSONB_ARRAY).as_deref(), Some(r#"{"\"a\"","1",NULL}"#));
    }

    #[test]
    fn base64_of_every_kind_is_read() {
        for json in [r#""+/8=""#, r#""-_8""#, r#""+/8""#, r#""-_8=""#] {
            assert_eq!(form(json, &Type::BYTEA).as_deref(), Some("\\xfbff"), "{json}");
        }
    }

    #[test]
    fn a_wrong_form_names_the_parameter() {
        let error = bound(&argument("@size", "{}"), &Type::INT4).unwrap_err();
        assert_eq!(error.message, "parameter @size: int4 expects a whole number");
        assert!(error.get_hint().unwrap().contains("@size::jsonb"));
        let error = bound(&argument("@size", "[1]"), &Type::INT4).unwrap_err();
        assert!(error.get_hint().unwrap().contains("= ANY(@size)"));
    }

    #[test]
    fn more_values_than_the_protocol_carries_are_refused() {
        let names: Vec<String> = (0..=MOST_VALUES).map(|number| format!("p{number}")).collect();
        let given = |count: usize| names.iter().take(count).rev().map(|name| argument(name, "1")).collect::<Vec<_>>();
        let most = names.get(..MOST_VALUES).unwrap();
        assert_eq!(in_order(most, given(MOST_VALUES)).unwrap().len(), MOST_VALUES);
        let error = in_order(&names, given(MOST_VALUES + 1)).unwrap_err();
        assert_eq!(error.kind, portico_core::error::Kind::TooLarge);
        let error = in_order(&[], given(20)).unwrap_err();
        assert!(error.message.ends_with("@p10 and 10 more"), "{}", error.message);
    }

    #[test]
    fn half_a_character_is_told_as_such() {
        let error = bound(&argument("x", r#""a\ud800""#), &Type::TEXT).unwrap_err();
        assert!(error.message.contains("@x") && error.message.contains("half of one"), "{}", error.message);
    }
}

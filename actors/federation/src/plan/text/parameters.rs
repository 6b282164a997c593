//! The values of placeholders in the engine's types: those of the same literal.

use datafusion::common::ScalarValue;
use serde_json::Value;

use crate::values::exact_number;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_sources::bindings;

/// Returns the value of each placeholder, in order.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming what is missing, unknown or not a plain value.
pub(crate) fn values(placeholders: &[String], arguments: &[Argument]) -> Result<Vec<ScalarValue>> {
    let places = bindings::all_places(placeholders, arguments)?;
    places.into_iter().filter_map(|place| arguments.get(place)).map(value).collect()
}

fn value(argument: &Argument) -> Result<ScalarValue> {
    let wrong = |what: &str| Error::invalid(format!("parameters: @{}: {what}", argument.name.trim_start_matches('@')));
    match serde_json::from_str(argument.value.get()).map_err(|_| wrong("this is not JSON"))? {
        Value::Null => Ok(ScalarValue::Null),
        Value::Bool(value) => Ok(ScalarValue::Boolean(Some(value))),
        Value::String(text) => Ok(ScalarValue::Utf8(Some(text))),
        Value::Number(_) => number(argument.value.get().trim())
            .ok_or_else(|| wrong("the number has more than 38 digits").hint("give it as text and cast it")),
        Value::Array(_) => {
            Err(wrong("a statement over several connections takes no arrays").hint("name each value: IN (@a, @b)"))
        }
        Value::Object(_) => Err(wrong("a statement over several connections takes no objects")
            .hint("give a text, a number, a truth value or null")),
    }
}

/// A whole number of 64 bits, else an exact number.
fn number(text: &str) -> Option<ScalarValue> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(ScalarValue::Int64(Some(whole)));
    }
    if text.contains(['e', 'E']) {
        return text.parse().ok().map(|value| ScalarValue::Float64(Some(value)));
    }
    exact_number(text)
}

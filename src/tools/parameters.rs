//! Typed parameters of procedures and of an administrator's statements: the JSON Schema of each, and the check of a
//! caller's values. What a tool does with them is not known here.

use portico_actors::call::Argument;
use portico_actors::error::{Error, Result};
use portico_actors::reply::DataType;
use portico_actors::source::{Direction, Parameter};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::schema;
use crate::fields::{self, Fields};

/// Returns the parameters that a caller gives, each with its name, or its position if it has none.
pub(super) fn inputs(parameters: &[Parameter]) -> Vec<(String, &Parameter)> {
    let given = parameters.iter().filter(|parameter| matches!(parameter.direction, Direction::In | Direction::InOut));
    given
        .enumerate()
        .map(|(index, parameter)| match parameter.name.as_str() {
            "" => ((index + 1).to_string(), parameter),
            name => (name.to_owned(), parameter),
        })
        .collect()
}

/// The closed schema of a tool's arguments.
pub(super) fn input_schema(parameters: &[Parameter]) -> Value {
    let inputs = inputs(parameters);
    let properties = inputs.iter().map(|(name, parameter)| (name.clone(), property(parameter))).collect();
    let required = inputs.iter().filter(|(_, parameter)| !parameter.optional).map(|(name, _)| name.as_str());
    schema::input_schema(properties, required.collect())
}

/// Reads the caller's values, each of the type that its schema says.
///
/// # Errors
/// The name of what is missing, unknown or of another type, and the remedy.
pub(super) fn arguments(parameters: &[Parameter], fields: Fields) -> Result<Vec<Argument>> {
    let inputs = inputs(parameters);
    let mut arguments = fields.into_arguments("arguments")?;
    // Some clients say null for all that they leave out.
    let has_default =
        |name: &str| inputs.iter().any(|(known, it)| known == name && it.optional && it.default.is_some());
    arguments.retain(|argument| argument.value.get() != "null" || !has_default(&argument.name));
    for argument in &mut arguments {
        let Some((_, parameter)) = inputs.iter().find(|(name, _)| *name == argument.name) else {
            let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
            return Err(fields::unknown("arguments", &argument.name, &names));
        };
        let schema = property(parameter);
        if let Some(kind) = schema.get("type").and_then(Value::as_str) {
            if let Some(number) = whole_in_quotes(&argument.value).filter(|_| kind == "integer") {
                argument.value = number;
            }
            check(&argument.name, kind, parameter, &argument.value)?;
        }
        argument.data_type = Some(i32::from(parameter.data_type.code()));
    }
    for (name, parameter) in &inputs {
        if !parameter.optional && !arguments.iter().any(|argument| argument.name == *name) {
            return Err(Error::invalid(format!("{name}: this parameter is missing"))
                .hint(format!("its type is {}", parameter.type_name)));
        }
    }
    Ok(arguments)
}

/// Checks a value against its schema, of the type `kind`: by JSON's types. The check accepts more than the schema, which has a single
/// type because some clients refuse unions: a decimal as a string, which keeps every digit, and NULL.
fn check(name: &str, kind: &str, parameter: &Parameter, value: &RawValue) -> Result<()> {
    let kinds: &[&str] = if kind == "number" { &["number", "string"] } else { &[kind] };
    let text = value.get();
    let given = match text.as_bytes().first() {
        Some(b'"') => "string",
        Some(b'[') => "array",
        Some(b'{') => "object",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ if is_whole(text) => "integer",
        _ => "number",
    };
    let fits = kinds.contains(&given) || given == "null" || (given == "integer" && kinds.contains(&"number"));
    if fits {
        return Ok(());
    }
    Err(Error::invalid(format!("{name}: give {}, this is {given}", kinds.join(" or ")))
        .hint(format!("its type is {}", parameter.type_name)))
}

/// Returns the whole number that some models put in quotes.
fn whole_in_quotes(value: &RawValue) -> Option<Box<RawValue>> {
    let digits = value.get().strip_prefix('"')?.strip_suffix('"')?;
    digits.parse::<i64>().ok()?;
    RawValue::from_string(digits.trim_start_matches('+').to_owned()).ok()
}

/// JSON Schema counts 1.0 as an integer too (2020-12, validation §6.1.1).
fn is_whole(number: &str) -> bool {
    if number.contains(['e', 'E']) {
        return false;
    }
    number.split_once('.').is_none_or(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'))
}

/// The JSON Schema of the elements of an array. Some clients refuse the whole list of tools where it is missing.
fn items(element: &str, labels: &[String]) -> Value {
    match element {
        _ if !labels.is_empty() => json!({"type": "string", "enum": labels}),
        "smallint" | "integer" | "bigint" => json!({"type": "integer"}),
        "real" | "double precision" | "numeric" => json!({"type": "number"}),
        "boolean" => json!({"type": "boolean"}),
        "json" | "jsonb" => json!({}),
        _ => json!({"type": "string"}),
    }
}

/// The JSON Schema of one parameter.
fn property(parameter: &Parameter) -> Value {
    let mut schema = match (parameter.data_type, parameter.type_name.as_str()) {
        (_, name) if name.ends_with("[]") => {
            json!({"type": "array", "items": items(name.trim_end_matches("[]"), &parameter.labels)})
        }
        _ if !parameter.labels.is_empty() => json!({"type": "string", "enum": parameter.labels}),
        (_, "json" | "jsonb") => json!({}),
        (DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt, _) => {
            json!({"type": "integer", "examples": [7]})
        }
        (DataType::Float | DataType::Double | DataType::Decimal | DataType::Numeric, _) => {
            json!({"type": "number", "examples": [19.9]})
        }
        (DataType::Boolean, _) => json!({"type": "boolean"}),
        (DataType::Date, _) => json!({"type": "string", "format": "date", "examples": ["2026-01-31"]}),
        (DataType::Time, _) => json!({"type": "string", "examples": ["13:30:00"]}),
        (DataType::Timestamp, _) => json!({"type": "string", "examples": ["2026-01-31T13:30:00"]}),
        (DataType::Uuid, _) => json!({"type": "string", "format": "uuid"}),
        (DataType::Binary, _) => json!({"type": "string", "contentEncoding": "base64"}),
        _ => json!({"type": "string"}),
    };
    if let Some(default) = parameter.default.as_ref().and_then(|json| serde_json::from_str::<Value>(json).ok()) {
        schema["default"] = default;
    }
    schema["description"] = Value::from(match &parameter.remarks {
        Some(remarks) => format!("{remarks} ({})", parameter.type_name),
        None => format!("SQL type {}", parameter.type_name),
    });
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(data_type: DataType, optional: bool) -> Parameter {
        Parameter {
            name: "p".to_owned(),
            direction: Direction::In,
            data_type,
            type_name: data_type.name().to_lowercase(),
            optional,
            remarks: None,
            default: None,
            labels: Vec::new(),
        }
    }

    #[test]
    fn a_value_is_of_the_type_that_its_schema_says() {
        for (data_type, optional, value, fits) in [
            (DataType::BigInt, false, "7", true),
            (DataType::BigInt, false, "7.0", true),
            (DataType::BigInt, false, "7.5", false),
            (DataType::BigInt, false, "\"7\"", true),
            (DataType::BigInt, false, "\"7.5\"", false),
            (DataType::BigInt, false, "\"007\"", false),
            (DataType::BigInt, false, "null", true),
            (DataType::BigInt, true, "null", true),
            (DataType::Decimal, false, "\"12345678901234567890.5\"", true),
            (DataType::Decimal, false, "1e3", true),
            (DataType::Boolean, false, "false", true),
            (DataType::Boolean, false, "0", false),
            (DataType::Varchar, false, "\"x\"", true),
            (DataType::Varchar, false, "{\"value\":\"x\"}", false),
        ] {
            let text = format!("{{\"p\": {value}}}");
            let given = arguments(&[parameter(data_type, optional)], Fields::parse(&text, "arguments").unwrap());
            assert_eq!(given.is_ok(), fits, "{data_type:?} {value}: {given:?}");
        }
    }
}

//! Values by name or by position, bare or in the wrapper that SQL API clients send.

use std::collections::HashSet;

use portico_actors::call::Argument;
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde_json::value::RawValue;

use super::members::Members;

/// How often a value may be wrapped in `{"dataType", "direction", "value"}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapped {
    Once,
    Twice,
}

/// The values in `value`, by name or by position; `name` is the field's.
pub(super) fn arguments(value: &RawValue, name: &str, wrapped: Wrapped) -> Result<Vec<Argument>> {
    let text = value.get();
    // Some models send them as a text.
    if text.starts_with("\"{") || text.starts_with("\"[") {
        let told = serde_json::from_str(text).ok().and_then(|json| RawValue::from_string(json).ok());
        let told = told.filter(|told| told.get().starts_with(['{', '[']));
        let told = told.ok_or_else(|| Error::invalid(format!("{name}: the text in it is not valid JSON")))?;
        return arguments(&told, name, wrapped);
    }
    if text.starts_with('[') {
        let items: Vec<Box<RawValue>> =
            serde_json::from_str(text).map_err(|_| Error::invalid(format!("{name}: the list is not valid JSON")))?;
        let numbered = items.into_iter().enumerate();
        return numbered.map(|(index, item)| argument((index + 1).to_string(), item, wrapped, name)).collect();
    }
    let members: Members = serde_json::from_str(text)
        .map_err(|_| Error::invalid(format!("{name}: give an object of names and values, as {{\"name\": 1}}")))?;
    if let Some(repeated) = &members.1 {
        return Err(Error::invalid(format!("{name}: the parameter {repeated} is given twice")));
    }
    let mut arguments: Vec<Argument> = Vec::with_capacity(members.0.len());
    let mut given: HashSet<String> = HashSet::with_capacity(members.0.len());
    for (key, value) in members.0 {
        let bare = key.strip_prefix(['@', ':', '$']).unwrap_or(&key);
        if bare.is_empty() {
            return Err(Error::invalid(format!("{name}: a parameter needs a name")));
        }
        if !given.insert(bare.to_owned()) {
            return Err(Error::invalid(format!("{name}: the parameter @{bare} is given twice")));
        }
        arguments.push(argument(bare.to_owned(), value, wrapped, name)?);
    }
    Ok(arguments)
}

/// The members of a wrapper.
const WRAPPER: [&str; 3] = ["dataType", "direction", "value"];

/// The value inside a wrapper, where `members` are one; of one that only says which way a value
/// goes, by its number (JDBC), it is NULL, that of an output.
///
/// # Errors
/// What is wrong with what is a wrapper but for its value, or but for the spelling of a member.
fn wrapped_value(members: &[(String, Box<RawValue>)]) -> Result<Option<&RawValue>, String> {
    let has = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_ref());
    let each = |fits: fn(&str, &str) -> bool| {
        members.iter().all(|(member, _)| WRAPPER.iter().any(|known| fits(known, member.as_str())))
    };
    let is_wrapper = each(|known, member| known == member);
    match (has("dataType"), has("direction"), has("value")) {
        (Some(_), _, Some(value)) => Ok(Some(value)),
        (None, _, Some(value)) if is_wrapper => Ok(Some(value)),
        (_, Some(direction), None) if is_wrapper && is_direction(direction) => Ok(Some(RawValue::NULL)),
        (Some(_), _, None) if each(is_nearly) => {
            Err("has a dataType and no value; add the member \"value\"".to_owned())
        }
        // A JSON value of its own, unless it has the members of a wrapper but for their spelling.
        _ => misspelt(members).map_or(Ok(None), Err),
    }
}

/// Returns true for a parameter's direction by its number (JDBC `DatabaseMetaData.getProcedureColumns`).
fn is_direction(value: &RawValue) -> bool {
    value.get().parse::<u8>().is_ok_and(|number| (1..=5).contains(&number))
}

/// Whether a member is called so, or nearly.
pub(super) fn is_nearly(known: &str, member: &str) -> bool {
    member.eq_ignore_ascii_case(known) || !near::nearest(member, [known]).is_empty()
}

/// What is wrong with a value and its type, a number, where one of the two is misspelt.
fn misspelt(members: &[(String, Box<RawValue>)]) -> Option<String> {
    let is_type = |member: &str| member.replace('_', "").eq_ignore_ascii_case("dataType");
    let (_, code) = members.iter().find(|(member, _)| is_type(member))?;
    code.get().trim_matches('"').parse::<i32>().ok()?;
    members.iter().find(|(member, _)| is_nearly("value", member))?;
    let is_known =
        |member: &str| is_type(member) || is_nearly("value", member) || member.eq_ignore_ascii_case("direction");
    let (wrong, _) = members.iter().find(|(member, _)| !WRAPPER.contains(&member.as_str()))?;
    members.iter().all(|(member, _)| is_known(member)).then(|| {
        format!(
            "has the member {wrong:?}; a value is given with \"dataType\" and \"value\", and a JSON object of its own \
                 as {{\"value\": {{…}}}}"
        )
    })
}

/// Unwraps `{"dataType", "direction", "value"}`; anything else is the value itself. `field` is where
/// it stands.
fn argument(name: String, value: Box<RawValue>, wrapped: Wrapped, field: &str) -> Result<Argument> {
    if !value.get().starts_with('{') {
        return Ok(Argument { name, value, data_type: None });
    }
    let Ok(Members(members, repeated)) = serde_json::from_str::<Members>(value.get()) else {
        return Ok(Argument { name, value, data_type: None });
    };
    let inner = wrapped_value(&members).map_err(|wrong| Error::invalid(format!("{field}: @{name} {wrong}")))?;
    // A JSON value of its own is for the source to read.
    let Some(inner) = inner.map(ToOwned::to_owned) else { return Ok(Argument { name, value, data_type: None }) };
    if let Some(repeated) = repeated {
        return Err(Error::invalid(format!("{field}: @{name} has the member {repeated:?} more than once")));
    }
    let data_type = members.iter().find(|(member, _)| member == "dataType");
    let data_type = data_type.and_then(|(_, code)| code.get().trim_matches('"').parse().ok());
    if wrapped == Wrapped::Twice {
        // Within a wrapper, what only looks like another one is a JSON value.
        let inside = argument(name.clone(), inner.clone(), Wrapped::Once, field);
        let inside = inside.unwrap_or(Argument { name, value: inner, data_type: None });
        // The innermost type is nearest to the value.
        return Ok(Argument { data_type: inside.data_type.or(data_type), ..inside });
    }
    Ok(Argument { name, value: inner, data_type })
}

#[cfg(test)]
mod tests {
    use crate::fields::Fields;

    #[test]
    fn a_misspelt_wrapper_is_refused_and_a_json_object_is_a_value() {
        let read = |value: &str| {
            let mut fields = Fields::parse(&format!(r#"{{"parameters": {{"d": {value}}}}}"#), "the body").unwrap();
            fields.arguments("parameters").map(|mut read| read.remove(0).value.get().to_owned())
        };
        for wrapper in [
            r#"{"value":"Z","datatype":5}"#,
            r#"{"Value":1,"DataType":8}"#,
            r#"{"dataType":5,"valeu":1}"#,
            r#"{"dataType":5}"#,
        ] {
            assert!(read(wrapper).unwrap_err().message.starts_with("parameters: @d has "), "{wrapper}");
        }
        for (given, value) in [
            (r#"{"dataType":8,"value":1}"#, "1"),
            (r#"{"dataType":8,"value":1,"name":"of another client"}"#, "1"),
            (r#"{"value":{"value":1,"datatype":5}}"#, r#"{"value":1,"datatype":5}"#),
            (r#"{"value":1,"unit":"kg"}"#, r#"{"value":1,"unit":"kg"}"#),
            (r#"{"value":1,"datatype":"int"}"#, r#"{"value":1,"datatype":"int"}"#),
            (r#"{"Value":1}"#, r#"{"Value":1}"#),
            (r#"{"type":1,"value":2}"#, r#"{"type":1,"value":2}"#),
            (r#"{"data":1,"value":2}"#, r#"{"data":1,"value":2}"#),
            (r#"{"direction":90}"#, r#"{"direction":90}"#),
        ] {
            assert_eq!(read(given).unwrap(), value, "{given}");
        }
    }

    #[test]
    fn arguments_come_in_every_form_that_clients_send() {
        let text = r#"{"parameters": {"@a": {"dataType": 8, "value": 1.10}, "b": {"dataType": "", "value": "x"},
            "c": {"value": 1, "other": 2}, "d": null, "e": {"direction": 1, "dataType": "5", "value": null}}}"#;
        let arguments = Fields::parse(text, "the body").unwrap().arguments("parameters").unwrap();
        let seen: Vec<_> = arguments.iter().map(|a| (a.name.as_str(), a.value.get(), a.data_type)).collect();
        assert_eq!(
            seen,
            [
                ("a", "1.10", Some(8)),
                ("b", "\"x\"", None),
                ("c", r#"{"value": 1, "other": 2}"#, None),
                ("d", "null", None),
                ("e", "null", Some(5)),
            ]
        );
        let twice = Fields::parse(r#"{"p": {"@a": 1, "a": 2}}"#, "the body").unwrap().arguments("p").unwrap_err();
        assert_eq!(twice.message, "p: the parameter @a is given twice");
        let list = Fields::parse(r#"{"p": [7, "x"]}"#, "the body").unwrap().arguments("p").unwrap();
        assert_eq!(list.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn a_wrapper_is_known_by_its_data_type_and_value() {
        let read = |text: &str| Fields::parse(text, "the body").unwrap().arguments("p");
        let arguments = read(
            r#"{"p": {"a": {"dataType": 5, "value": {"x": 1}, "nullable": true}, "b": {"dataType": 5, "x": 1},
                "c": {"Value": 1}, "d": {"dataType": 8, "direction": 2}, "e": {"direction": 4}, "f": {"direction": "x"}}}"#,
        );
        let arguments = arguments.unwrap();
        let seen: Vec<_> = arguments.iter().map(|a| (a.value.get(), a.data_type)).collect();
        assert_eq!(
            seen,
            [
                (r#"{"x": 1}"#, Some(5)),
                (r#"{"dataType": 5, "x": 1}"#, None),
                (r#"{"Value": 1}"#, None),
                ("null", Some(8)),
                ("null", None),
                (r#"{"direction": "x"}"#, None),
            ]
        );
        for text in [
            r#"{"p": {"n": {"dataType": 8}}}"#,
            r#"{"p": {"n": {"dataType": 8, "Value": 1}}}"#,
            r#"{"p": {"n": {"dataType": 5, "valu": "bob"}}}"#,
            r#"{"p": {"n": {"dataType": 5, "vaule": "bob", "direction": 1}}}"#,
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.starts_with("p: @n has a dataType and no value"), "{}", error.message);
        }
        let mut batch = Fields::parse(r#"{"p": [{"n": 1}, {"n": {"dataType": 8}}]}"#, "the body").unwrap();
        let error = batch.argument_sets("p").unwrap_err();
        assert!(error.message.starts_with("p[1]: @n has"), "{}", error.message);
    }
}

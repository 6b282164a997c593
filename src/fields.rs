//! Reads the members of a JSON object one by one: each error names its field and the remedy, and
//! values keep every digit because they stay text.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use portico_actors::call::Argument;
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object that have not been read yet.
#[derive(Debug, Default)]
pub struct Fields {
    members: Vec<(String, Box<RawValue>)>,
    known: Vec<&'static str>,
    /// The first name that was given more than once.
    repeated: Option<String>,
}

/// An object's members in their order. Of duplicate names the last one counts; the first such name is recorded.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>, pub(crate) Option<String>);

/// Members that are looked through one by one; of more the names are kept in a table.
const FEW: usize = 16;

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Gather;
        impl<'de> Visitor<'de> for Gather {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                // There may be tens of thousands of values.
                let mut places: HashMap<String, usize> = HashMap::new();
                let mut repeated = None;
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    let place = if places.is_empty() {
                        members.iter().position(|(known, _)| *known == name)
                    } else {
                        places.get(&name).copied()
                    };
                    match place.and_then(|place| members.get_mut(place)) {
                        Some(member) => {
                            member.1 = value;
                            repeated.get_or_insert(name);
                        }
                        None => {
                            if !places.is_empty() {
                                places.insert(name.clone(), members.len());
                            }
                            members.push((name, value));
                            if members.len() == FEW {
                                places.extend(members.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
                            }
                        }
                    }
                }
                Ok(Members(members, repeated))
            }
        }
        deserializer.deserialize_map(Gather)
    }
}

impl Fields {
    /// Parses `text`, which must be one JSON object; `what` names it in errors.
    pub fn parse(text: &str, what: &str) -> Result<Self> {
        let members: Members = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                Error::invalid(format!("{what} must be a JSON object"))
            } else {
                Error::invalid(format!("{what} is not valid JSON: {error}"))
            }
        })?;
        Ok(Self { members: members.0, known: Vec::new(), repeated: members.1 })
    }

    /// The first name that was given more than once.
    pub(crate) fn repeated(&self) -> Option<&str> {
        self.repeated.as_deref()
    }

    /// Takes the member `name`; `null` counts as absent.
    pub fn take(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let index = self.members.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.members.remove(index);
        (value.get() != "null").then_some(value)
    }

    /// A string.
    pub fn string(&mut self, name: &'static str) -> Result<Option<String>> {
        self.take(name).map(|value| text_of(&value, name)).transpose()
    }

    /// Reads the name of a schema, which may be in double quotes. An empty one counts as absent.
    pub fn schema(&mut self, name: &'static str) -> Result<Option<String>> {
        let text = self.string(name)?.filter(|text| !text.is_empty());
        Ok(text.map(|text| match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(inner) if !inner.is_empty() => inner.replace("\"\"", "\""),
            _ => text,
        }))
    }

    /// A string that stays to be taken.
    pub fn peek(&self, name: &str) -> Result<Option<String>> {
        let value = self.members.iter().find(|(known, value)| known == name && value.get() != "null");
        value.map(|(_, value)| text_of(value, name)).transpose()
    }

    /// A string that has to be there.
    pub fn required(&mut self, name: &'static str) -> Result<String> {
        self.string(name)?.ok_or_else(|| Error::invalid(format!("{name}: this member is missing; give a string")))
    }

    /// A whole number within `range`; a string of digits counts too.
    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.get().trim_matches('"').parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            Error::invalid(format!("{name}: give a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// True or false.
    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>> {
        self.take(name)
            .map(|value| {
                serde_json::from_str(value.get()).map_err(|_| Error::invalid(format!("{name}: give true or false")))
            })
            .transpose()
    }

    /// Reads values by name (`{"name": value}`, with or without `@`) or by position (`[value, …]`). A value is
    /// plain JSON, or `{"dataType", "direction", "value"}` as SQL API clients send it; an object with `dataType`
    /// and `value` is such a wrapper, whatever other members it has.
    pub fn arguments(&mut self, name: &'static str) -> Result<Vec<Argument>> {
        self.take(name).map_or_else(|| Ok(Vec::new()), |value| arguments(&value, name, Wrapped::Once))
    }

    /// Reads a list of such values, one set for each run of a statement. Clients wrap the values of a batch once
    /// more than those of a query.
    pub fn argument_sets(&mut self, name: &'static str) -> Result<Vec<Vec<Argument>>> {
        let form = || {
            Error::invalid(format!("{name}: give a list of objects of names and values, one for each run"))
                .hint("as [{\"@name\": {\"value\": 1}}, {\"@name\": {\"value\": 2}}]")
        };
        let value = self.take(name).filter(|value| value.get().starts_with('[')).ok_or_else(form)?;
        let sets: Vec<Box<RawValue>> = serde_json::from_str(value.get()).map_err(|_| form())?;
        if sets.is_empty() {
            return Err(form());
        }
        let read = |(number, set): (usize, &RawValue)| arguments(set, &format!("{name}[{number}]"), Wrapped::Twice);
        sets.iter().map(AsRef::as_ref).enumerate().map(read).collect()
    }

    /// Every member that is left, as arguments of a procedure's own tool.
    ///
    /// # Errors
    /// The name that was given more than once.
    pub fn into_arguments(self, what: &str) -> Result<Vec<Argument>> {
        if let Some(name) = &self.repeated {
            return Err(repeated(what, name));
        }
        Ok(self.members.into_iter().map(|(name, value)| Argument { name, value, data_type: None }).collect())
    }

    /// Refuses members that were not read, and duplicates: another reader may use the other one.
    pub fn finish(self, what: &str) -> Result<()> {
        if let Some(name) = &self.repeated {
            return Err(repeated(what, name));
        }
        match self.members.first() {
            None => Ok(()),
            Some((name, _)) => Err(unknown(what, name, &self.known)),
        }
    }
}

fn repeated(what: &str, name: &str) -> Error {
    Error::invalid(format!("{what} has the member {name:?} more than once")).hint("give it once")
}

/// Returns the error for the unknown member `name` of `what`, with the `known` names.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::invalid(format!("{what} has no member {name:?}"));
    match near::did_you_mean(&near::nearest(name, known.iter().copied())) {
        Some(hint) => error.hint(hint),
        None if known.is_empty() => error.hint("leave it out: there are none"),
        None => error.hint(format!("known here: {}", known.join(", "))),
    }
}

/// How often a value may be wrapped in `{"dataType", "direction", "value"}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrapped {
    Once,
    Twice,
}

/// The values in `value`, by name or by position; `name` is the field's.
fn arguments(value: &RawValue, name: &str, wrapped: Wrapped) -> Result<Vec<Argument>> {
    let text = value.get();
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
        let bare = key.strip_prefix('@').unwrap_or(&key);
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

/// The string that `value` is, or an error that names the field.
fn text_of(value: &RawValue, name: &str) -> Result<String> {
    let text: String =
        serde_json::from_str(value.get()).map_err(|_| Error::invalid(format!("{name}: give a string")))?;
    if text.contains('\0') {
        return Err(Error::invalid(format!("{name}: contains a NUL character, which no source takes; leave it out")));
    }
    Ok(text)
}

/// The members of a wrapper.
const WRAPPER: [&str; 3] = ["dataType", "direction", "value"];

/// Returns the value inside a wrapper, if `members` are one; for a wrapper with only a direction, by its number
/// (JDBC), NULL, that of an output.
///
/// # Errors
/// A wrapper without a value.
fn wrapped_value(members: &[(String, Box<RawValue>)]) -> Result<Option<&RawValue>, ()> {
    let has = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_ref());
    let each = |fits: fn(&str, &str) -> bool| {
        members.iter().all(|(member, _)| WRAPPER.iter().any(|known| fits(known, member.as_str())))
    };
    let is_wrapper = each(|known, member| known == member);
    match (has("dataType"), has("direction"), has("value")) {
        (Some(_), _, Some(value)) => Ok(Some(value)),
        (None, _, Some(value)) if is_wrapper => Ok(Some(value)),
        (_, Some(direction), None) if is_wrapper && direction.get().parse::<u8>().is_ok() => Ok(Some(RawValue::NULL)),
        (Some(_), _, None) if each(is_nearly) || each(str::eq_ignore_ascii_case) => Err(()),
        // A JSON value of its own.
        _ => Ok(None),
    }
}

/// Beside a type, what is nearly called so is the value.
fn is_nearly(known: &str, member: &str) -> bool {
    known == member || (known == "value" && !near::nearest(member, [known]).is_empty())
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
    let inner = wrapped_value(&members).map_err(|()| {
        Error::invalid(format!("{field}: @{name} has a dataType and no value; add the member \"value\""))
    })?;
    // A JSON value of its own is for the source to read.
    let Some(inner) = inner.map(ToOwned::to_owned) else { return Ok(Argument { name, value, data_type: None }) };
    if let Some(repeated) = repeated {
        return Err(Error::invalid(format!("{field}: @{name} has the member {repeated:?} more than once")));
    }
    let data_type = members.iter().find(|(member, _)| member == "dataType");
    let data_type = data_type.and_then(|(_, code)| code.get().trim_matches('"').parse().ok());
    if wrapped == Wrapped::Twice {
        let inside = argument(name, inner, Wrapped::Once, field)?;
        // The innermost type is nearest to the value.
        return Ok(Argument { data_type: inside.data_type.or(data_type), ..inside });
    }
    Ok(Argument { name, value: inner, data_type })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_its_field() {
        let mut fields = Fields::parse(r#"{"query": 5, "timeout": 0, "flag": "yes", "qery": 1}"#, "the body").unwrap();
        assert_eq!(fields.string("query").unwrap_err().message, "query: give a string");
        assert!(fields.integer("timeout", 1..=300).unwrap_err().message.starts_with("timeout:"));
        assert!(fields.boolean("flag").unwrap_err().message.starts_with("flag:"));
        assert!(fields.required("other").unwrap_err().message.starts_with("other:"));
        let error = fields.finish("the body").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.get_hint()),
            ("the body has no member \"qery\"", Some("did you mean query?"))
        );
    }

    #[test]
    fn a_member_that_is_given_twice_is_refused_by_name() {
        let mut fields = Fields::parse(r#"{"query": "a", "qu\u0065ry": "b"}"#, "the body").unwrap();
        assert_eq!(fields.required("query").unwrap(), "b");
        assert_eq!(fields.finish("the body").unwrap_err().message, "the body has the member \"query\" more than once");
        for (text, message) in [
            (r#"{"p": {"@a": 1, "@a": 2}}"#, "p: the parameter @a is given twice"),
            (r#"{"p": {"a": {"value": 1, "value": 2}}}"#, "p: @a has the member \"value\" more than once"),
        ] {
            let error = Fields::parse(text, "the body").unwrap().arguments("p").unwrap_err();
            assert_eq!(error.message, message);
        }
        let own = Fields::parse(r#"{"p": {"a": {"x": 1, "x": 2}}}"#, "the body").unwrap().arguments("p").unwrap();
        assert_eq!(own[0].value.get(), r#"{"x": 1, "x": 2}"#);
        let tool = Fields::parse(r#"{"a": 1, "a": 2}"#, "arguments").unwrap();
        assert!(tool.into_arguments("arguments").unwrap_err().message.contains("\"a\" more than once"));
    }

    #[test]
    fn what_is_no_object_is_told_apart_from_what_is_no_json() {
        assert_eq!(Fields::parse("[1]", "the body").unwrap_err().message, "the body must be a JSON object");
        assert!(Fields::parse("{\"a\":", "the body").unwrap_err().message.contains("not valid JSON"));
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

    #[test]
    fn a_text_with_nul_names_its_field() {
        let error = Fields::parse(r#"{"tableName": "a\u0000b"}"#, "the body").unwrap().string("tableName").unwrap_err();
        assert!(error.message.starts_with("tableName: contains a NUL"), "{}", error.message);
    }
}

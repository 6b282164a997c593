//! Reads the members of a JSON object one by one: each error names its field and the remedy, and
//! values keep every digit because they stay text.

mod arguments;
pub(crate) mod members;

use std::ops::RangeInclusive;

use portico_actors::call::Argument;
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde_json::value::RawValue;

use self::arguments::{Wrapped, arguments, is_nearly};
use self::members::Members;

/// The members of an object that nobody has asked for yet.
#[derive(Debug, Default)]
pub struct Fields {
    members: Vec<(String, Box<RawValue>)>,
    known: Vec<&'static str>,
    /// The first name that was given more than once.
    repeated: Option<String>,
}

impl Fields {
    /// Reads `text`, which must be one JSON object; `what` names it in errors.
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
        self.take_silently(name)
    }

    /// Takes the member `name`, and does not offer it where another one is not known.
    pub fn take_silently(&mut self, name: &str) -> Option<Box<RawValue>> {
        let index = self.members.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.members.remove(index);
        (value.get() != "null").then_some(value)
    }

    /// A string.
    pub fn string(&mut self, name: &'static str) -> Result<Option<String>> {
        self.take(name).map(|value| text_of(&value, name)).transpose()
    }

    /// The name of a schema, which may stand in double quotes. An empty one is none.
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
        self.string(name)?.ok_or_else(|| {
            let error = Error::invalid(format!("{name}: this member is missing; give a string"));
            match self.members.iter().find(|(member, _)| is_nearly(name, member)) {
                Some((member, _)) => error.hint(format!("there is {member:?}: did you mean {name}?")),
                None => error,
            }
        })
    }

    /// Drops the members with these names whose value is an empty text: so some clients send what they leave out.
    pub fn drop_empty(&mut self, names: &[&str]) {
        self.members.retain(|(name, value)| value.get() != "\"\"" || !names.contains(&name.as_str()));
    }

    /// A whole number within `range`; a string of digits counts too, and so does 1.0 (JSON Schema 2020-12,
    /// validation §6.1.1).
    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let text = value.get().trim_matches('"');
        let number = text.parse().ok().or_else(|| whole(text)).filter(|number| range.contains(number));
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

    /// Values by name (`{"name": value}`, with or without `@`) or by position (`[value, …]`). A
    /// value is bare JSON, or `{"dataType", "direction", "value"}` as SQL API clients send it; what
    /// has a `dataType` and a `value` is such a wrapper whatever else clients put into it.
    pub fn arguments(&mut self, name: &'static str) -> Result<Vec<Argument>> {
        self.take(name).map_or_else(|| Ok(Vec::new()), |value| arguments(&value, name, Wrapped::Once))
    }

    /// A list of such values, one for each run of a statement. Clients wrap the values of a batch
    /// once more than those of a query.
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

    /// Refuses what nobody asked for, and what was given more than once: whoever reads it next may
    /// count the other one.
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

/// The whole number that is written as a fraction or with an exponent.
fn whole(text: &str) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = text.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
    format!("{number:.0}").parse().ok()
}

fn repeated(what: &str, name: &str) -> Error {
    Error::invalid(format!("{what} has the member {name:?} more than once")).hint("give it once")
}

/// The refusal of the member `name` of `what`, where there are those in `known`.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::invalid(format!("{what} has no member {name:?}"));
    if known.is_empty() {
        return error.hint("leave it out: there are none");
    }
    error.hint(near::suggestion_or_list(name, "known here: ", known))
}

/// The string that `value` is, or an error that names the field.
fn text_of(value: &RawValue, name: &str) -> Result<String> {
    let text: String = serde_json::from_str(value.get()).map_err(|_| not_text(value, name))?;
    if text.contains('\0') {
        return Err(Error::invalid(format!("{name}: contains a NUL character, which no source takes; leave it out")));
    }
    Ok(text)
}

/// Why `value` is no string that can be read. It was parsed as JSON before, so that one in quotes has half of a
/// character in it.
fn not_text(value: &RawValue, name: &str) -> Error {
    if value.get().starts_with('"') {
        let message = "an escape from \\ud800 to \\udfff is half of a character, and stands in a pair";
        return Error::invalid(format!("{name}: {message}")).hint("write the character itself, or both of its halves");
    }
    Error::invalid(format!("{name}: give a string"))
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
    fn half_of_a_character_is_told_apart_from_what_is_no_string() {
        let read = |text: &str| Fields::parse(text, "the body").unwrap().required("query");
        assert_eq!(read(r#"{"query": "\ud83d\ude42"}"#).unwrap(), "🙂");
        for half in [r#"{"query": "a\ud800"}"#, r#"{"query": "\udc00b"}"#] {
            let error = read(half).unwrap_err();
            assert!(error.message.starts_with("query: an escape from \\ud800"), "{half}: {}", error.message);
            assert!(error.get_hint().unwrap().contains("both of its halves"), "{half}");
        }
    }

    #[test]
    fn a_text_with_nul_names_its_field() {
        let error = Fields::parse(r#"{"tableName": "a\u0000b"}"#, "the body").unwrap().string("tableName").unwrap_err();
        assert!(error.message.starts_with("tableName: contains a NUL"), "{}", error.message);
    }
}

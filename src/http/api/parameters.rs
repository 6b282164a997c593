//! The query strings of the SQL API: each parameter is known and given once.

use percent_encoding::percent_decode_str;
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde_json::{Map, Value};

use crate::encode::{LineFormat, NumberShape, RowShape, Shape};
use crate::fields::{self, Fields};
use crate::http::api::media::ResultFormat;

/// Every path of the SQL API takes it.
const WORKSPACE: &str = "workspace";
const ROWS: &str = "rows";
const NUMBERS: &str = "numbers";
/// The parameters for the form of rows, on every path that returns rows.
pub(in crate::http) const SHAPE: [&str; 2] = [ROWS, NUMBERS];
/// The forms of a row.
pub(in crate::http) const ROW_SHAPES: [(&str, RowShape); 2] =
    [("arrays", RowShape::Array), ("objects", RowShape::Object)];
/// The forms of a number.
pub(in crate::http) const NUMBER_SHAPES: [(&str, NumberShape); 2] =
    [("json", NumberShape::Number), ("text", NumberShape::Text)];

/// Reads the parameters of `query` that are `known`, as members of an object, and the workspace if it names one. An
/// empty one counts as absent.
///
/// # Errors
/// The name of an unknown or duplicate parameter, or of one that is no text.
pub(in crate::http) fn read(query: &str, known: &[&str]) -> Result<(Fields, Option<String>)> {
    check_text(query)?;
    let mut members = Map::new();
    let mut all = known.to_vec();
    all.push(WORKSPACE);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if !all.contains(&name.as_ref()) {
            return Err(fields::unknown("the query string", &name, &all));
        }
        let value = if value.is_empty() { Value::Null } else { Value::String(value.into_owned()) };
        if members.insert(name.clone().into_owned(), value).is_some() {
            return Err(Error::invalid(format!("{name}: this parameter is given twice")).hint("give it once"));
        }
    }
    let workspace = members.remove(WORKSPACE).and_then(|name| name.as_str().map(str::to_owned));
    Ok((Fields::parse(&Value::Object(members).to_string(), "the query string")?, workspace))
}

/// Refuses what is no text: with other characters in its place a filter would find nothing.
fn check_text(query: &str) -> Result<()> {
    for pair in query.split('&') {
        if percent_decode_str(pair).decode_utf8().is_err() {
            let name = percent_decode_str(pair.split('=').next().unwrap_or_default()).decode_utf8_lossy();
            return Err(Error::invalid(format!("{name}: the octets behind the % are not UTF-8"))
                .hint("encode the text as UTF-8 first: é is %C3%A9"));
        }
    }
    Ok(())
}

/// How rows are to be written, by the parameters `rows` and `numbers` of `query`; an empty one counts as absent.
///
/// # Errors
/// A word is not known, or rows in `form` cannot be like that.
pub(in crate::http) fn shape(query: &str, form: ResultFormat) -> Result<Shape> {
    let mut shape = Shape::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            ROWS => {
                shape.rows = one_of(ROWS, &value, ROW_SHAPES)?;
                match (form, shape.rows) {
                    (ResultFormat::Document, _) | (ResultFormat::Lines(LineFormat::Ndjson), RowShape::Object) => {}
                    (ResultFormat::Lines(LineFormat::Ndjson), RowShape::Array) => {
                        return Err(Error::invalid("rows: each line of application/x-ndjson is an object")
                            .hint("leave the parameter out, or accept application/json"));
                    }
                    _ => return Err(not_in(ROWS, form)),
                }
            }
            NUMBERS => {
                shape.numbers = one_of(NUMBERS, &value, NUMBER_SHAPES)?;
                if !matches!(form, ResultFormat::Document | ResultFormat::Lines(LineFormat::Ndjson)) {
                    return Err(not_in(NUMBERS, form));
                }
            }
            _ => {}
        }
    }
    Ok(shape)
}

fn one_of<T>(name: &str, value: &str, known: [(&str, T); 2]) -> Result<T> {
    let words = known.each_ref().map(|(word, _)| *word);
    let found = known.into_iter().find(|(word, _)| *word == value);
    found.map(|(_, shape)| shape).ok_or_else(|| {
        let near = near::suggestion(value, words);
        Error::invalid(format!("{name}: give {}", words.join(" or ")))
            .hint(near.unwrap_or_else(|| format!("the default is {}", words[0])))
    })
}

fn not_in(name: &str, form: ResultFormat) -> Error {
    let media = form.content_type().split(';').next().unwrap_or_default();
    Error::invalid(format!("{name}: this is for rows in JSON, and {media} has none"))
        .hint("leave the parameter out, or accept application/json or application/x-ndjson")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_is_known_and_given_once() {
        let known = ["tableName", "timeout"];
        for query in ["", "tableName=a%2e", "timeout=&tableName=x", "workspace=", "workspace=&timeout=3"] {
            assert!(read(query, &known).is_ok(), "{query}");
        }
        for (query, message) in [
            ("tablename=a", "the query string has no member \"tablename\""),
            ("nothing", "the query string has no member \"nothing\""),
            ("timeout=&timeout=2", "timeout: this parameter is given twice"),
            ("workspace=&workspace=", "workspace: this parameter is given twice"),
        ] {
            assert_eq!(read(query, &known).unwrap_err().message, message, "{query}");
        }
        for kept in
            ["tableName=ord%", "tableName=%archive", "tableName=a%25b", "tableName=%C3%A9", "tableName=é+%e2%82%ac"]
        {
            assert!(read(kept, &known).is_ok(), "{kept}");
        }
        for (query, message, remedy) in [
            ("timeout=3&tableName=orders%FF", "tableName: the octets", "%C3%A9"),
            ("tableName=%C3", "tableName: the octets", "UTF-8"),
            ("workspace=%e9", "workspace: the octets", "UTF-8"),
        ] {
            let error = read(query, &known).unwrap_err();
            assert!(error.message.starts_with(message), "{query}: {}", error.message);
            assert!(error.get_hint().unwrap().contains(remedy), "{query}");
        }
        assert_eq!(read("workspace=x&timeout=3", &known).unwrap().1.as_deref(), Some("x"));
        assert_eq!(read("tablename=a", &known).unwrap_err().get_hint(), Some("did you mean tableName?"));
    }
}

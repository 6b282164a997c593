//! The query strings of the SQL API: each parameter is known and given once.

use portico_actors::error::{Error, Result};
use serde_json::{Map, Value};

use crate::fields::{self, Fields};

/// Every path of the SQL API takes it.
const WORKSPACE: &str = "workspace";

/// The parameters of `query` as members of an object, where there are those in `known`, and the workspace that is named.
/// An empty one counts as absent.
///
/// # Errors
/// The name of what is unknown or given twice.
pub(in crate::http) fn read(query: &str, known: &[&str]) -> Result<(Fields, Option<String>)> {
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
        assert_eq!(read("workspace=x&timeout=3", &known).unwrap().1.as_deref(), Some("x"));
        assert_eq!(read("tablename=a", &known).unwrap_err().get_hint(), Some("did you mean tableName?"));
    }
}

//! What the SQL API answers when it fails, by statuses.

use std::collections::BTreeMap;

use portico_actors::error::Kind;
use serde_json::{Value, json};

use crate::http::error;
use crate::http::public::description::schemas;

/// Every kind of failure that an answer may have.
const KINDS: [Kind; 11] = [
    Kind::Invalid,
    Kind::Unauthenticated,
    Kind::Forbidden,
    Kind::NotFound,
    Kind::Rejected,
    Kind::Conflict,
    Kind::TimedOut,
    Kind::Busy,
    Kind::Unavailable,
    Kind::TooLarge,
    Kind::Internal,
];

/// The kinds of failure under each status.
pub(super) fn statuses() -> BTreeMap<u16, Vec<Kind>> {
    let mut statuses: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in KINDS {
        statuses.entry(error::numbers(kind).1).or_default().push(kind);
    }
    statuses
}

/// What the SQL API answers under each of these statuses.
pub(super) fn failures(schema: &Value) -> Value {
    let response = |(status, kinds): (u16, Vec<Kind>)| {
        let words: Vec<String> = kinds.iter().map(|kind| format!("{} {}", error::code(*kind), kind.word())).collect();
        let mut response = json!({
            "description": words.join(", "),
            "content": {"application/json": {
                "schema": schema,
                "example": schemas::failure_example(error::code(kinds[0]), kinds[0].word()),
            }},
        });
        if kinds.iter().any(|kind| matches!(kind, Kind::Busy | Kind::Unavailable)) {
            response["headers"] = json!({"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}});
        }
        (status.to_string(), response)
    };
    Value::Object(statuses().into_iter().map(response).collect())
}

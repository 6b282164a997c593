//! What is written while it is read, and so is in no type of the code's: the shape of a result
//! document. The tests hold real answers against it.
#![expect(dead_code, reason = "these types are described and never made")]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::encode::{Descriptor, ErrorBody};

/// The results, in order.
#[derive(JsonSchema)]
#[schemars(rename = "Results", rename_all = "camelCase")]
pub(super) struct Document {
    /// One for each statement, or one for each set of values of a batch.
    results: Vec<ResultSet>,
    /// Everything was undone.
    #[schemars(with = "bool", extend("const" = true), skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    /// What failed after the first byte. Rows in front of it are whole.
    #[schemars(with = "ErrorBody", skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

/// One result.
#[derive(JsonSchema)]
#[schemars(rename = "Result", rename_all = "camelCase")]
struct ResultSet {
    /// The columns; none where no rows come back.
    schema: Vec<Descriptor<'static>>,
    /// The rows, each with a value for every column: an array, or with `rows=objects` an object by label.
    #[schemars(schema_with = "rows")]
    rows: (),
    /// How many rows were changed; −1 of a statement that only returns rows.
    affected_rows: i64,
}

/// The keys that tokens are verified with (RFC 7517).
#[derive(JsonSchema)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// A public key (RFC 7517 §4), with the members of its kind.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Key {
    kty: String,
    kid: String,
    alg: String,
    #[schemars(rename = "use")]
    usage: String,
}

fn rows(_: &mut SchemaGenerator) -> Schema {
    let value = json!({"type": ["string", "number", "boolean", "null"]});
    json_schema!({"type": "array", "items": {
        "type": ["array", "object"], "items": value, "additionalProperties": value
    }})
}

//! What every tool says of itself in the same words.

use serde_json::{Value, json};

/// What tools say of themselves so that clients can ask before something is changed.
pub(super) fn annotations(title: &str, reads_only: bool, destructive: bool, idempotent: bool) -> Value {
    json!({
        "title": title,
        "readOnlyHint": reads_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": false,
    })
}

/// The schema that every tabular result satisfies.
pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "columns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                    "required": ["name", "type"],
                },
            },
            "rows": {"type": "array", "items": {"type": "array"}},
            "rowCount": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "affectedRows": {"type": "integer", "description": "Rows changed; -1 for a statement that only returns rows"},
            "hint": {"type": "string", "description": "What was left out and how to get it, when truncated"},
        },
        "required": ["columns", "rows", "rowCount", "truncated", "affectedRows"],
    })
}

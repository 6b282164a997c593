//! The common parts of tools' descriptions and schemas.

use serde_json::{Map, Value, json};

/// A tool with a tabular result as `tools/list` shows it. The annotations are there so that clients can ask before
/// something is changed.
pub(super) fn tool(name: &str, title: &str, description: &str, input: Value, writes: bool, destroys: bool) -> Value {
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": input,
        "outputSchema": output_schema(),
        "annotations": {
            "title": title,
            "readOnlyHint": !writes,
            "destructiveHint": destroys,
            "idempotentHint": !writes,
            "openWorldHint": false,
        },
    })
}

/// The closed schema of a tool's arguments.
pub(super) fn input_schema(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The schema of the arguments of a tool that understands more of them than it declares, and refuses all others by
/// name.
pub(super) fn open_schema(properties: Map<String, Value>, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The schema that every tabular result satisfies.
fn output_schema() -> Value {
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
            "truncated": {"type": "boolean"},
            "hint": {"type": "string", "description": "What was left out and how to get it"},
            "rows": {"type": "array", "items": {"type": "array"}},
            "rowCount": {"type": "integer"},
            "affectedRows": {"type": "integer", "description": "Rows changed; -1 for a statement that only returns rows"},
        },
        "required": ["columns", "rows", "rowCount", "truncated", "affectedRows"],
    })
}

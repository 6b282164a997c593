//! The bodies of the SQL API as JSON Schema, with examples. Which of them belongs where is in the
//! folder's `mod.rs`.

use portico_actors::call::Facet;
use portico_actors::reply::{Column, DataType};
use portico_actors::source::catalog::columns;
use serde_json::{Value, json};

use crate::encode::write_schema;

const TYPES: [DataType; 15] = [
    DataType::Binary,
    DataType::Varchar,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Float,
    DataType::Double,
    DataType::Decimal,
    DataType::Numeric,
    DataType::Boolean,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::Uuid,
];

pub(super) fn all() -> Value {
    let codes: Vec<u8> = TYPES.iter().map(|each| each.code()).collect();
    let names: Vec<&str> = TYPES.iter().map(|each| each.name()).collect();
    let text = json!({"type": "string"});
    let optional = json!({"type": ["string", "null"]});
    let number = json!({"type": "integer"});
    let timeout = json!({"type": "integer", "minimum": 1, "maximum": 300, "default": 60, "description": "Seconds"});
    let parameters = json!({
        "type": ["object", "array"],
        "description": "Values by name, with or without @, or by position; each bare or as {dataType, value}. \
            The source's own type decides, dataType is a hint",
        "additionalProperties": true,
    });
    let dry_run = json!({"type": "boolean", "default": false, "description": "Runs all of it, answers as if it were \
        kept, and undoes it. What a transaction does not hold is not undone: sequences go on"});
    json!({
        "Query": {
            "type": "object",
            "required": ["query"],
            "properties": {
                "query": text, "defaultCatalog": optional, "defaultSchema": optional, "parameters": parameters,
                "schemaOnly": {"type": "boolean"}, "dryRun": dry_run, "timeout": timeout,
            },
        },
        "Batch": {
            "type": "object",
            "required": ["query", "parameters"],
            "properties": {
                "query": text, "defaultCatalog": optional, "defaultSchema": optional,
                "parameters": {"type": "array", "minItems": 1, "items": parameters},
                "schemaOnly": {"type": "boolean"}, "dryRun": dry_run, "timeout": timeout,
            },
        },
        "Exec": {
            "type": "object",
            "required": ["procedure"],
            "properties": {
                "procedure": text, "defaultCatalog": optional, "defaultSchema": optional, "parameters": parameters,
                "dryRun": dry_run, "timeout": timeout,
            },
        },
        "Column": {
            "type": "object",
            "required": ["ordinal", "columnName", "columnLabel", "dataType", "dataTypeName"],
            "properties": {
                "ordinal": number, "catalogName": optional, "schemaName": optional, "tableName": optional,
                "columnName": text, "columnLabel": text, "dataType": {"type": "integer", "enum": codes},
                "dataTypeName": {"type": "string", "enum": names}, "length": number, "precision": number,
                "scale": number, "nullable": {"type": "boolean"},
            },
        },
        "Result": {
            "type": "object",
            "required": ["schema", "rows", "affectedRows"],
            "properties": {
                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Column"}},
                "rows": {"type": "array", "items": {"type": "array",
                    "items": {"type": ["string", "number", "boolean", "null"]}}},
                "affectedRows": {"type": "integer", "description": "−1 of a statement that only returns rows"},
            },
        },
        "Results": {
            "type": "object",
            "required": ["results"],
            "properties": {
                "results": {"type": "array", "items": {"$ref": "#/components/schemas/Result"}},
                "dryRun": {"type": "boolean", "const": true, "description": "Everything was undone"},
                "error": {"$ref": "#/components/schemas/Error"},
            },
        },
        "Error": {
            "type": "object",
            "required": ["code", "message", "requestId"],
            "properties": {
                "code": number, "message": text, "sqlState": text, "detail": text, "hint": text, "requestId": text,
            },
        },
        "Failure": {
            "type": "object",
            "required": ["error"],
            "properties": {"error": {"$ref": "#/components/schemas/Error"}},
        },
        "Connections": {
            "type": "object",
            "required": ["connections"],
            "properties": {"connections": {"type": "array", "items": {
                "type": "object",
                "required": ["connectionId", "name", "source", "mcpUrl", "status"],
                "properties": {
                    "connectionId": {"type": "string", "format": "uuid"}, "name": text, "source": text,
                    "mcpUrl": {"type": "string", "format": "uri"},
                    "status": {"enum": ["idle", "connecting", "up", "down", "restarting", "failed"]},
                },
            }}},
        },
    })
}

/// One result with these columns, as the service itself writes them.
fn result(columns: &[Column], row: &Value) -> Value {
    let mut schema = Vec::new();
    write_schema(&mut schema, columns);
    let schema: Value = serde_json::from_slice(&schema).unwrap_or_default();
    json!({"results": [{"schema": schema, "rows": [row], "affectedRows": -1}]})
}

pub(super) fn result_example() -> Value {
    let columns = [Column::computed("id", DataType::Integer), Column::computed("name", DataType::Varchar)];
    result(&columns, &json!([1, "Łukasz"]))
}

pub(super) fn facet_example(facet: Facet) -> Value {
    let columns = columns(facet);
    let value = |column: &Column| match (column.data_type, column.label.as_str()) {
        (DataType::Boolean, _) => json!(false),
        (DataType::Integer | DataType::BigInt, _) => json!(1),
        (_, label) if label.ends_with("_CATALOG") || label.ends_with("_CAT") => json!("shop"),
        (_, label) if label.ends_with("_SCHEMA") || label.ends_with("_SCHEM") => json!("main"),
        (_, label) if label.ends_with("_NAME") => json!("orders"),
        _ => Value::Null,
    };
    result(&columns, &columns.iter().map(value).collect())
}

pub(super) fn failure_example(code: u16, word: &str) -> Value {
    json!({"error": {"code": code, "message": format!("what is {word} here"),
        "requestId": "0198b7a4-5b0e-7c3d-9a44-2f6d1c0e8b11"}})
}

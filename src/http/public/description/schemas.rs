//! The schemas of bodies and answers, each from the type that the service reads or writes, and
//! examples. Which of them belongs where is in `paths.rs`.

use portico_actors::call::Facet;
use portico_actors::reply::{Column, DataType};
use portico_actors::source::catalog::columns;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::encode::{ErrorBody, write_schema};
use crate::http::error::ApiFailure;

/// Gathers the schemas that the document refers to, under `/components/schemas`.
pub(super) struct Components {
    bodies: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Components {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            bodies: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// Of what is read.
    pub(super) fn body<T: JsonSchema>(&mut self) -> Value {
        self.bodies.subschema_for::<T>().to_value()
    }

    /// Of what is written.
    pub(super) fn answer<T: JsonSchema>(&mut self) -> Value {
        self.answers.subschema_for::<T>().to_value()
    }

    /// All of them, by name.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        let mut all = self.bodies.take_definitions(true);
        all.extend(self.answers.take_definitions(true));
        all.sort_keys();
        all
    }
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
    let error = ErrorBody {
        code,
        message: format!("what is {word} here"),
        sql_state: None,
        hint: None,
        request_id: "0198b7a4-5b0e-7c3d-9a44-2f6d1c0e8b11".to_owned(),
    };
    serde_json::to_value(ApiFailure { error }).unwrap_or_default()
}

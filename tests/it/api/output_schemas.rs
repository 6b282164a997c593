//! Every result of every tool satisfies the schema that the tool announces, and every example of
//! an argument the schema of its argument.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::support::fixture::{self, CITIES_OF};

const MORE: &str = r#"access = "read-write"
[[connections.tools]]
name = "orders_above"
description = "The orders above a total."
sql = "SELECT * FROM orders WHERE total > @least"
[[connections.tools.parameters]]
name = "least"
type = "number"
default = 1
"#;

fn satisfies(schema: &Value, value: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", schema.clone()).map_err(|error| error.to_string())?;
    let index = compiler.compile("schema.json", &mut schemas).map_err(|error| format!("{schema}: {error}"))?;
    schemas.validate(value, index).map_err(|error| format!("{value}: {error}"))
}

#[actix_web::test]
async fn every_result_satisfies_its_tool_s_schema() {
    let app = fixture::with_sqlite(&(MORE.to_owned() + CITIES_OF)).await;
    let calls = [
        ("get_instructions", json!({})),
        ("get_catalogs", json!({})),
        ("get_schemas", json!({})),
        ("get_tables", json!({"maxRows": 1})),
        ("get_columns", json!({"tableName": "orders"})),
        ("get_procedures", json!({"format": "csv"})),
        ("get_procedure_parameters", json!({})),
        ("execute_procedure", json!({"procedure": "cities_of"})),
        ("execute_select", json!({"query": "SELECT 1 a, 1.5 b, NULL c, x'00' d, 'x' e, 9e999 f"})),
        ("execute_sql", json!({"query": "CREATE TABLE made (a)"})),
        ("execute_insert", json!({"query": "INSERT INTO made VALUES (1) RETURNING a"})),
        ("execute_update", json!({"query": "DELETE FROM made", "all": true})),
        ("orders_above", json!({})),
        ("cities_of", json!({})),
    ];
    let (_, body) = app.mcp(&app.writer, "tools/list", json!({})).await;
    let tools = body["result"]["tools"].as_array().unwrap();
    let listed: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, calls.iter().map(|(name, _)| *name).collect(), "no tool is left out here");
    for (name, arguments) in calls {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!((&tool["outputSchema"]["type"], &tool["inputSchema"]["type"]), (&json!("object"), &json!("object")));
        satisfies(&tool["inputSchema"], &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        // What is not declared is understood by tools that every connection has, or refused by its name.
        let is_own = matches!(name, "orders_above" | "cities_of");
        assert!(!is_own || satisfies(&tool["inputSchema"], &json!({"noSuch": 1})).is_err(), "{name} is closed");
        let result = app.tool(name, arguments).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        satisfies(&tool["outputSchema"], &result["structuredContent"])
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(satisfies(&tool["outputSchema"], &json!({})).is_err(), "{name}'s schema says something");
    }
    for tool in tools {
        for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            for example in schema["examples"].as_array().into_iter().flatten().chain(schema.get("default")) {
                satisfies(schema, example).unwrap_or_else(|error| panic!("{name} of {}: {error}", tool["name"]));
            }
        }
    }
}

//! `/openapi.json` by itself: what `OpenAPI` 3.1 asks of a document, and JSON Schema of its schemas.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::api::description::{described, keys, operations};
use crate::support::fixture;

/// Everything that stands under `name` anywhere in `value`.
fn all<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                if member == name {
                    found.push(value);
                }
                all(value, name, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all(item, name, found)),
        _ => {}
    }
}

/// That `value` has each of `required`, and nothing that is not among these and `optional`.
fn has(value: &Value, required: &[&str], optional: &[&str]) {
    let own = keys(value);
    assert!(required.iter().all(|member| own.contains(member)), "{required:?} in {value}");
    assert!(own.iter().all(|member| required.contains(member) || optional.contains(member)), "{own:?} of {value}");
}

#[actix_web::test]
async fn every_reference_leads_somewhere() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let mut found = Vec::new();
    all(&document, "$ref", &mut found);
    let found: BTreeSet<&str> = found.into_iter().map(|target| target.as_str().unwrap()).collect();
    assert!(found.len() > 20, "{found:?}");
    for reference in &found {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    for kind in ["schemas", "responses"] {
        for name in keys(&document["components"][kind]) {
            assert!(found.contains(format!("#/components/{kind}/{name}").as_str()), "{kind} {name} is for nothing");
        }
    }
}

/// The fixed fields of `OpenAPI` 3.1.0, §4.8.1 to §4.8.17.
#[actix_web::test]
async fn objects_have_the_fields_of_the_specification() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    has(&document, &["openapi", "info", "paths"], &["servers", "components", "security", "tags"]);
    has(&document["info"], &["title", "version"], &["summary", "description", "license"]);
    has(&document["info"]["license"], &["name"], &["identifier"]);
    has(&document["components"], &[], &["schemas", "responses", "securitySchemes"]);
    for kind in keys(&document["components"]) {
        for name in keys(&document["components"][kind]) {
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{kind} {name}");
        }
    }
    let schemes = keys(&document["components"]["securitySchemes"]);
    let mut securities = Vec::new();
    all(&document, "security", &mut securities);
    for security in securities.into_iter().flat_map(|security| security.as_array().unwrap()) {
        assert!(keys(security).is_subset(&schemes), "{security}");
    }
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        assert!(path.starts_with('/') && ["get", "post", "delete"].contains(&method), "{method} {path}");
        let optional = ["tags", "summary", "description", "parameters", "requestBody", "security"];
        has(operation, &["operationId", "responses"], &optional);
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
        let mut places = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            has(parameter, &["name", "in", "schema"], &["description", "required"]);
            let (name, place) = (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap());
            assert!(["query", "header", "path"].contains(&place), "{parameter}");
            assert!(places.insert((place, name)), "{path} has {name} twice");
            let in_path = path.contains(&format!("{{{name}}}"));
            assert_eq!((in_path, parameter["required"] == true), (place == "path", place == "path"), "{parameter}");
        }
        let templates = path.matches('{').count();
        assert_eq!(places.iter().filter(|(place, _)| *place == "path").count(), templates, "{method} {path}");
        if let Some(body) = operation.get("requestBody") {
            has(body, &["content"], &["required"]);
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit()), "{status}");
            if response.get("$ref").is_none() {
                has(response, &["description"], &["content", "headers"]);
            }
        }
    }
    let mut contents = Vec::new();
    all(&document, "content", &mut contents);
    for media in contents.into_iter().flat_map(|content| content.as_object().unwrap().values()) {
        has(media, &["schema"], &["example"]);
    }
}

/// Every schema is one of JSON Schema 2020-12, which is `OpenAPI` 3.1's own dialect.
#[actix_web::test]
async fn schemas_are_json_schema() {
    const META: &str = "https://json-schema.org/draft/2020-12/schema";
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let index = compiler.compile(META, &mut schemas).unwrap();
    let mut found: Vec<&Value> = document["components"]["schemas"].as_object().unwrap().values().collect();
    for (_, _, operation) in operations(&document) {
        all(operation, "schema", &mut found);
    }
    assert!(found.len() > 60, "{}", found.len());
    // Example rows have a member of that name too, which is a list of columns.
    for schema in found.into_iter().filter(|schema| !schema.is_array()) {
        let checked = schemas.validate(schema, index);
        assert!(checked.is_ok(), "{schema}: {}", checked.err().map(|error| error.to_string()).unwrap_or_default());
    }
    assert!(schemas.validate(&serde_json::json!({"type": "text"}), index).is_err(), "the check finds what is wrong");
}

//! `/openapi.json` and `/docs`: what they describe is what is served.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;

async fn described(app: &TestApp) -> Value {
    let (status, document) = read(app.http.get(format!("{}/openapi.json", app.url)).send().await.unwrap()).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    document
}

fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(target) if name == "$ref" => drop(found.insert(target)),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[actix_web::test]
async fn every_reference_leads_somewhere() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 10);
    for reference in found {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    let mut ids = BTreeSet::new();
    for operations in document["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
            assert!(!operation["responses"]["200"]["description"].is_null());
        }
    }
}

#[actix_web::test]
async fn every_path_and_filter_is_served_as_described() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let wrong = if method == "get" { app.post(path) } else { app.get(path) };
            assert_eq!(wrong.send().await.unwrap().status(), 405, "{path} takes more than it says");
            if method == "post" {
                continue;
            }
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query: Vec<String> = parameters
                .filter(|parameter| parameter["in"] == "query" && parameter["name"] != "workspace")
                .map(|parameter| match parameter["name"].as_str().unwrap() {
                    "timeout" => "timeout=5".to_owned(),
                    name => format!("{name}=%25"),
                })
                .collect();
            let (status, answer) = read(app.get(&format!("{path}?{}", query.join("&"))).send().await.unwrap()).await;
            assert_eq!(status, 200, "{path} {query:?}: {answer}");
            let example = &operation["responses"]["200"]["content"]["application/json"]["example"];
            if !example.is_null() {
                assert_eq!(example["results"][0]["schema"], answer["results"][0]["schema"], "{path}");
            }
        }
    }
}

#[actix_web::test]
async fn bodies_have_the_members_that_are_described() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let schemas = &document["components"]["schemas"];
    let (_, answer) = app.query(json!({"query": "SELECT id FROM customers"})).await;
    assert_eq!(keys(&answer["results"][0]), keys(&schemas["Result"]["properties"]));
    assert_eq!(keys(&answer["results"][0]["schema"][0]), keys(&schemas["Column"]["properties"]));
    let (status, answer) = app.query(json!({"query": "SELECT * FROM custmers"})).await;
    assert!(keys(&answer["error"]).is_subset(&keys(&schemas["Error"]["properties"])), "{answer}");
    let described = &document["components"]["responses"][status.to_string()]["description"];
    assert!(described.as_str().unwrap().contains(&answer["error"]["code"].to_string()));
    let (_, answer) = read(app.get("/api/connections").send().await.unwrap()).await;
    let connection = &schemas["Connections"]["properties"]["connections"]["items"]["properties"];
    assert_eq!(keys(&answer["connections"][0]), keys(connection));
}

/// A value of the wrong type for each member is refused by the member's name: it is read.
#[actix_web::test]
async fn every_member_of_a_body_is_read_as_described() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    for path in ["/api/query", "/api/batch", "/api/exec"] {
        let content = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        let schema = content["schema"]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
        let schema = document.pointer(schema).unwrap();
        let example = content["example"].as_object().unwrap();
        assert!(keys(&content["example"]).is_subset(&keys(&schema["properties"])), "{path}");
        for member in keys(&schema["properties"]) {
            let mut body = example.clone();
            body.insert(member.to_owned(), json!({"": [true]}));
            let (status, answer) = read(app.post(path).json(&body).send().await.unwrap()).await;
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{path} {member}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().starts_with(&format!("{member}: ")), "{answer}");
        }
        for member in schema["required"].as_array().unwrap() {
            let mut body = example.clone();
            body.remove(member.as_str().unwrap());
            let (status, answer) = read(app.post(path).json(&body).send().await.unwrap()).await;
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{path} {member}: {answer}");
        }
    }
}

/// Examples and real answers are what their schemas say.
#[actix_web::test]
async fn examples_and_answers_are_valid() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let valid = |schema: &Value, value: &Value| {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let mut root = json!({"components": document["components"]});
        root["$ref"] = schema["$ref"].clone();
        compiler.add_resource("mem:///openapi.json", root).unwrap();
        let index = compiler.compile("mem:///openapi.json", &mut schemas).unwrap();
        let checked = schemas.validate(value, index);
        assert!(
            checked.is_ok(),
            "{schema}: {value}: {}",
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        );
    };
    let mut examples = 0;
    let bodies = document["components"]["responses"].as_object().unwrap().values();
    let mut contents: Vec<&Value> = bodies.map(|response| &response["content"]["application/json"]).collect();
    for operations in document["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            contents.push(&operation["requestBody"]["content"]["application/json"]);
            contents.push(&operation["responses"]["200"]["content"]["application/json"]);
        }
    }
    for content in contents.into_iter().filter(|content| !content["example"].is_null()) {
        valid(&content["schema"], &content["example"]);
        examples += 1;
    }
    assert!(examples > 20, "{examples}");
    for (body, schema) in [
        (json!({"query": "SELECT * FROM orders; DELETE FROM orders", "dryRun": true}), "Results"),
        (json!({"query": "SELECT * FROM orders", "schemaOnly": true}), "Results"),
        (json!({"query": "SELEC 1"}), "Failure"),
        (json!({"query": "INSERT INTO customers VALUES (1, 'x', NULL)"}), "Failure"),
    ] {
        let (_, answer) = app.query(body).await;
        valid(&json!({"$ref": format!("#/components/schemas/{schema}")}), &answer);
    }
}

#[actix_web::test]
async fn the_page_fetches_nothing() {
    let app = fixture::on_sqlite().await;
    let response = app.http.get(format!("{}/docs", app.url)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let page = response.text().await.unwrap();
    for path in ["/api/query", "/api/primaryKeys", "Idempotency-Key", "1700 unavailable"] {
        assert!(page.contains(path), "{path} is not on the page");
    }
    for word in ["<script", "src=", "@import", "url(", "http://", "https://", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

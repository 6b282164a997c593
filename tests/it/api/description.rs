//! `/openapi.json` and `/docs`: what they describe is what is served. Whether the document itself is
//! sound is in `description_document.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use boon::{Compiler, Schemas};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{CONNECTION, TestApp, client, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::process::demo;

pub(crate) async fn described(app: &TestApp) -> Value {
    let (status, document) = read(app.http.get(format!("{}/openapi.json", app.url)).send().await.unwrap()).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    document
}

pub(crate) fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Each path with its methods and operations.
pub(crate) fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().unwrap().iter();
        operations.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

/// The paths that the service registers, as the test beside the route table lists them.
fn registered() -> BTreeSet<String> {
    let listed = "src/http/snapshots/portico__http__tests__each_route_says_what_it_has.snap";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(listed)).unwrap();
    let routes = text.lines().filter(|line| line.starts_with("  "));
    let paths = routes.filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(|path| path.trim_end_matches(',').to_owned()).collect()
}

/// A path that is in the route table is in the document, and the reverse; but for the pages that
/// only people see in a browser.
#[actix_web::test]
async fn every_route_is_described_and_nothing_else() {
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.main.orders\" }]";
    let app = Configuration::new().sqlite("shop", "").with(workspace).start().await;
    let document = described(&app).await;
    let mut known = registered();
    let pages = ["/authorize", "/sign-in", "/sign-out", "/account", "/users", "/assets/"];
    known.retain(|path| !pages.iter().any(|page| path.starts_with(page)));
    assert!(known.len() > 15, "the route table was not found: {known:?}");
    for path in keys(&document["paths"]) {
        assert!(known.remove(path), "{path} is in no route table");
    }
    assert_eq!(known, BTreeSet::new(), "not described");
    for (path, method, _) in operations(&document) {
        let url = format!(
            "{}{}",
            app.url,
            path.replace("{connectionId}", &CONNECTION.to_string()).replace("{workspace}", "store")
        );
        let send = |method: &str| app.http.request(method.to_uppercase().parse().unwrap(), &url).send();
        assert_ne!(send(method).await.unwrap().status(), 405, "{method} {path}");
        let other = app.http.patch(&url).basic_auth(&app.writer.name, Some(&app.writer.secret));
        assert_eq!(other.send().await.unwrap().status(), 405, "{path} takes more than it says");
    }
}

#[actix_web::test]
async fn every_filter_is_taken_as_described() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    for (path, method, operation) in operations(&document) {
        if method != "get" || !path.starts_with("/api/") {
            continue;
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query: Vec<String> = parameters
            .filter(|parameter| parameter["in"] == "query" && parameter["name"] != "workspace")
            .map(|parameter| match parameter["name"].as_str().unwrap() {
                "timeout" => "timeout=5".to_owned(),
                "rows" => "rows=arrays".to_owned(),
                "numbers" => "numbers=text".to_owned(),
                name => format!("{name}=%25"),
            })
            .collect();
        let (status, answer) = read(app.get(&format!("{path}?{}", query.join("&"))).send().await.unwrap()).await;
        assert_eq!(status, 200, "{path} {query:?}: {answer}");
        let example = &operation["responses"]["200"]["content"]["application/json"]["example"];
        if !["/api/connections", "/api/workspaces"].contains(&path) {
            assert_eq!(example["results"][0]["schema"], answer["results"][0]["schema"], "{path}");
        }
    }
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

/// Whoever tries an example of a body on the demo has an answer, also the second time.
#[actix_web::test]
async fn examples_of_bodies_run_on_the_demo() {
    let folder = TempDir::new().unwrap();
    let (_running, page) = demo(folder.path()).await;
    let text = |member: &str| page[member].as_str().unwrap().to_owned();
    let http = client();
    let send = |request: RequestBuilder| request.basic_auth(text("user"), Some(text("pat"))).send();
    let document = read(http.get(format!("{}/openapi.json", text("baseUrl"))).send().await.unwrap()).await.1;
    let mut tried = Vec::new();
    for (path, method, operation) in operations(&document) {
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        if method != "post" || !path.starts_with("/api/") || body.is_null() {
            continue;
        }
        for _ in 0..2 {
            let request = http.post(format!("{}{path}", text("baseUrl"))).json(body);
            let (status, answer) = read(send(request).await.unwrap()).await;
            assert_eq!((status, answer.get("error")), (200, None), "{path}: {answer}");
            match path {
                "/api/query" => {
                    let example = &operation["responses"]["200"]["content"]["application/json"]["example"];
                    assert_eq!(example, &answer, "it is the answer to that example");
                }
                "/api/batch" => {
                    let changed = answer["results"].as_array().unwrap().iter().map(|result| &result["affectedRows"]);
                    assert_eq!(changed.collect::<Vec<_>>(), [&json!(1), &json!(1)], "{answer}");
                }
                _ => assert_eq!(answer["results"][0]["rows"].as_array().unwrap().len(), 3, "{answer}"),
            }
        }
        tried.push(path);
    }
    tried.sort_unstable();
    assert_eq!(tried, ["/api/batch", "/api/exec", "/api/query"]);
}

/// Holds `value` against `schema`, where no object may have a member that is not described.
fn valid(document: &Value, schema: &Value, value: &Value) {
    let mut root = json!({"components": document["components"], "allOf": [schema]});
    for (name, schema) in root["components"]["schemas"].as_object_mut().unwrap() {
        let open = schema.get("additionalProperties").is_some() || schema.get("properties").is_none();
        let keyword = if name == "Introspection" { "unevaluatedProperties" } else { "additionalProperties" };
        if !open {
            schema[keyword] = json!(false);
        }
    }
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("mem:///openapi.json", root).unwrap();
    let index = compiler.compile("mem:///openapi.json", &mut schemas).unwrap();
    let checked = schemas.validate(value, index);
    assert!(checked.is_ok(), "{schema}: {value}: {}", checked.err().map(|error| error.to_string()).unwrap_or_default());
}

#[actix_web::test]
async fn examples_are_valid() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    let mut contents: Vec<&Value> = Vec::new();
    let responses = document["components"]["responses"].as_object().unwrap().values();
    contents
        .extend(responses.filter_map(|response| response["content"].as_object()).flat_map(|content| content.values()));
    for (_, _, operation) in operations(&document) {
        contents
            .extend(operation["requestBody"]["content"].as_object().into_iter().flat_map(|content| content.values()));
        let responses = operation["responses"].as_object().unwrap().values();
        contents.extend(
            responses.filter_map(|response| response["content"].as_object()).flat_map(|content| content.values()),
        );
    }
    let with: Vec<_> = contents.into_iter().filter(|content| !content["example"].is_null()).collect();
    assert!(with.len() > 25, "{}", with.len());
    for content in with {
        valid(&document, &content["schema"], &content["example"]);
    }
}

/// Status, media type and body of a real answer are what the document says of them.
async fn as_described(document: &Value, method: &str, path: &str, expected: u16, response: Response) -> Value {
    let status = response.status().as_u16();
    let media = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
    let text = response.text().await.unwrap();
    assert_eq!(status, expected, "{method} {path}: {text}");
    let mut described = &document["paths"][path][method]["responses"][status.to_string()];
    if let Some(reference) = described["$ref"].as_str() {
        described = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
    }
    assert!(described["description"].is_string(), "{method} {path}: {status} is not described");
    let Some(content) = described["content"].as_object() else {
        assert_eq!(text, "", "{method} {path} {status}");
        return Value::Null;
    };
    let media = media.unwrap_or_default();
    let content = &content.get(media.split(';').next().unwrap()).unwrap_or_else(|| panic!("{method} {path}: {media}"));
    if !media.starts_with("application/json") {
        assert!(!text.is_empty(), "{method} {path}");
        return Value::Null;
    }
    let value = serde_json::from_str(&text).unwrap();
    valid(document, &content["schema"], &value);
    value
}

#[actix_web::test]
async fn answers_of_the_sql_api_are_valid() {
    let app = fixture::on_sqlite().await;
    let document = described(&app).await;
    for (path, status, body) in [
        ("/api/query", 200, json!({"query": "SELECT * FROM orders; DELETE FROM orders", "dryRun": true})),
        ("/api/query", 200, json!({"query": "SELECT id, name, total FROM customers JOIN orders USING (id)"})),
        ("/api/query", 200, json!({"query": "SELECT * FROM orders", "schemaOnly": true})),
        ("/api/query", 400, json!({"query": "SELEC 1"})),
        ("/api/query", 400, json!({"query": 1})),
        ("/api/query", 404, json!({"query": "SELECT * FROM archive.main.orders"})),
        ("/api/query", 409, json!({"query": "INSERT INTO customers VALUES (1, 'x', NULL)"})),
        (
            "/api/batch",
            200,
            json!({"query": "INSERT INTO customers VALUES (@i, 'x', NULL)", "parameters": [{"@i": 7}, {"i": {"value": 8}}]}),
        ),
        ("/api/batch", 400, json!({"query": "SELECT 1", "parameters": []})),
        ("/api/exec", 404, json!({"procedure": "nothing"})),
    ] {
        as_described(&document, "post", path, status, app.post(path).json(&body).send().await.unwrap()).await;
    }
    for media in ["text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"] {
        let request = app.post("/api/query").header("accept", media).json(&json!({"query": "SELECT 1 AS a"}));
        let response = request.send().await.unwrap();
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with(media));
        let described = &document["paths"]["/api/query"]["post"]["responses"]["200"]["content"][media];
        assert!(described.is_object(), "{media}");
    }
    let refused = app.http.post(format!("{}/api/query", app.url)).json(&json!({"query": "SELECT 1"}));
    as_described(&document, "post", "/api/query", 401, refused.send().await.unwrap()).await;
    let refused =
        app.http.post(format!("{}/api/query", app.url)).basic_auth(&app.reader.name, Some(&app.reader.secret));
    let refused = refused.json(&json!({"query": "DELETE FROM orders"})).send().await.unwrap();
    as_described(&document, "post", "/api/query", 403, refused).await;
    for (path, method, _) in operations(&document) {
        if method == "get" && path.starts_with("/api/") {
            as_described(&document, "get", path, 200, app.get(path).send().await.unwrap()).await;
        }
    }
}

#[actix_web::test]
async fn every_other_answer_is_valid() {
    let app = Configuration::new().sqlite("shop", "").with("[oauth]\ndynamic_registration = true").start().await;
    let document = described(&app).await;
    for path in ["/healthz", "/readyz", "/docs", "/openapi.json"] {
        as_described(&document, "get", path, 200, app.http.get(format!("{}{path}", app.url)).send().await.unwrap())
            .await;
    }
    for (path, _, operation) in operations(&document) {
        if path.starts_with("/.well-known/") {
            let url = format!(
                "{}{}",
                app.url,
                path.replace("{connectionId}", &CONNECTION.to_string()).replace("{workspace}", "store")
            );
            as_described(&document, "get", path, 200, app.http.get(url).send().await.unwrap()).await;
            assert_eq!(operation["security"], json!([]), "{path}");
        }
    }
    let wrong = app.http.get(format!("{}/.well-known/oauth-protected-resource/mcp/connections/a.b", app.url));
    let path = "/.well-known/oauth-protected-resource/mcp/connections/{connectionId}";
    as_described(&document, "get", path, 404, wrong.send().await.unwrap()).await;
    as_described(&document, "get", "/metrics", 403, app.get("/metrics").send().await.unwrap()).await;

    let form = |path: &str, fields: &[(&str, &str)]| app.http.post(format!("{}{path}", app.url)).form(fields).send();
    let own = [("client_id", app.agent.name.as_str()), ("client_secret", app.agent.secret.as_str())];
    let with = |more: (&'static str, &'static str)| [own[0], own[1], more];
    let asked = form("/oauth/token", &with(("grant_type", "client_credentials"))).await.unwrap();
    let token = as_described(&document, "post", "/oauth/token", 200, asked).await;
    let token = token["access_token"].as_str().unwrap();
    let wrong = form("/oauth/token", &with(("grant_type", "password"))).await.unwrap();
    as_described(&document, "post", "/oauth/token", 400, wrong).await;
    let wrong =
        form("/oauth/token", &[("grant_type", "client_credentials"), own[0], ("client_secret", "x")]).await.unwrap();
    as_described(&document, "post", "/oauth/token", 401, wrong).await;
    let shown = [own[0], own[1], ("token", token)];
    let active =
        as_described(&document, "post", "/oauth/introspect", 200, form("/oauth/introspect", &shown).await.unwrap());
    assert_eq!(active.await["sub"], json!(app.agent.name));
    as_described(&document, "post", "/oauth/revoke", 200, form("/oauth/revoke", &shown).await.unwrap()).await;
    let ended =
        as_described(&document, "post", "/oauth/introspect", 200, form("/oauth/introspect", &shown).await.unwrap());
    assert_eq!(ended.await, json!({"active": false}));

    let example =
        &document["paths"]["/oauth/register"]["post"]["requestBody"]["content"]["application/json"]["example"];
    let register = |body: &Value| app.http.post(format!("{}/oauth/register", app.url)).json(body).send();
    as_described(&document, "post", "/oauth/register", 201, register(example).await.unwrap()).await;
    let wrong = register(&json!({"redirect_uris": ["no address"]})).await.unwrap();
    as_described(&document, "post", "/oauth/register", 400, wrong).await;
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
    for word in ["<script", "src=", "@import", "url(", "=\"http", "='http", "=http", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

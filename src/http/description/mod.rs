//! `/openapi.json` and `/docs`: the SQL API as `OpenAPI` 3.1 describes it, put together from the
//! tables that the service itself runs on. What is served is in the route table.

mod page;
mod schemas;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use portico_actors::call::Facet;
use portico_actors::error::Kind;
use portico_actors::source::catalog::labels;
use serde_json::{Map, Value, json};

use super::{error, metadata};

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

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
static PAGE: LazyLock<String> = LazyLock::new(|| page::render(&DOCUMENT));

/// `GET /openapi.json`.
pub(super) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(TEXT.as_str())
}

/// `GET /docs`: a page that fetches nothing.
pub(super) async fn docs() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(PAGE.as_str())
}

fn document() -> Value {
    let mut paths = Map::new();
    paths.insert(
        "/api/query".to_owned(),
        json!({"post": statement(
            "query",
            "Runs a statement",
            "Query",
            &json!({"query": "SELECT id, name FROM shop.main.customers WHERE id = @id",
                "parameters": {"@id": {"dataType": 8, "value": 1}}}),
        )}),
    );
    paths.insert(
        "/api/batch".to_owned(),
        json!({"post": statement(
            "batch",
            "Runs one statement once for each set of values, in one transaction",
            "Batch",
            &json!({"query": "INSERT INTO customers (id, name) VALUES (@id, @name)",
                "parameters": [{"@id": {"value": 8}, "@name": {"value": "Ann"}}, {"@id": {"value": 9}, "@name": {"value": "Bob"}}]}),
        )}),
    );
    paths.insert(
        "/api/exec".to_owned(),
        json!({"post": statement(
            "exec",
            "Calls a function or procedure",
            "Exec",
            &json!({"procedure": "shop.main.roll", "parameters": {"@sides": 6}}),
        )}),
    );
    paths.insert(
        "/api/connections".to_owned(),
        json!({"get": {
            "operationId": "connections",
            "summary": "The caller's connections",
            "responses": answers(json!({"application/json": {"schema": {"$ref": "#/components/schemas/Connections"}}})),
        }}),
    );
    for (name, facet) in metadata::FACETS {
        paths.insert(format!("/api/{name}"), json!({"get": listing(name, facet)}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portico SQL API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "SQL and metadata over HTTP in front of your databases.",
        },
        "servers": [{"url": "/"}],
        "security": [{"basic": []}, {"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic", "description": "E-mail address and personal access token"},
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
            "schemas": schemas::all(),
            "responses": failures(),
        },
    })
}

fn statement(id: &str, summary: &str, body: &str, example: &Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "parameters": [workspace(), {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A repeated request with the same key gets the first one's answer and is not run again",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        }],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"$ref": format!("#/components/schemas/{body}")},
            "example": example,
        }}},
        "responses": answers(results(&schemas::result_example())),
    })
}

fn listing(name: &str, facet: Facet) -> Value {
    let columns: Vec<&str> = labels(facet).iter().map(|(label, _)| *label).collect();
    let mut parameters = vec![workspace()];
    for (filter, meaning) in metadata::filters_of(facet) {
        parameters.push(json!({
            "name": filter,
            "in": "query",
            "description": format!("{meaning}: exact, or a pattern of SQL's LIKE"),
            "schema": {"type": "string"},
        }));
    }
    parameters.push(json!({
        "name": "timeout",
        "in": "query",
        "description": "Seconds",
        "schema": {"type": "integer", "minimum": 1, "maximum": 300, "default": 60},
    }));
    json!({
        "operationId": name,
        "summary": format!("Metadata: {name}"),
        "description": format!("Columns: {}. Without catalogName the rows of all of the caller's connections; \
            where one of them does not answer, `error` names it behind the rows of the others.", columns.join(", ")),
        "parameters": parameters,
        "responses": answers(results(&schemas::facet_example(facet))),
    })
}

fn workspace() -> Value {
    json!({"name": "workspace", "in": "query", "description": "A virtual schema's name", "schema": {"type": "string"}})
}

/// The forms of a result.
fn results(example: &Value) -> Value {
    json!({
        "application/json": {"schema": {"$ref": "#/components/schemas/Results"}, "example": example},
        "text/csv": {"schema": {"type": "string", "description": "RFC 4180 with a header line; one result"}},
        "application/x-ndjson": {"schema": {"type": "string", "description": "An object a row; one result. A failure \
            behind the first row is a last line {\"error\": {…}}"}},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "contentEncoding": "binary",
            "description": "An Apache Arrow IPC stream; one result. A failure behind the first row breaks it off"}},
    })
}

fn answers(content: Value) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({"description": "The answer", "content": content}));
    for status in statuses().keys() {
        responses.insert(status.to_string(), json!({"$ref": format!("#/components/responses/{status}")}));
    }
    Value::Object(responses)
}

/// The kinds of failure under each status.
fn statuses() -> BTreeMap<u16, Vec<Kind>> {
    let mut statuses: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in KINDS {
        statuses.entry(error::numbers(kind).1).or_default().push(kind);
    }
    statuses
}

fn failures() -> Value {
    let response = |(status, kinds): (u16, Vec<Kind>)| {
        let words: Vec<String> = kinds.iter().map(|kind| format!("{} {}", error::code(*kind), kind.word())).collect();
        let mut response = json!({
            "description": words.join(", "),
            "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Failure"},
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

//! `/openapi.json` and `/docs`: the service as `OpenAPI` 3.1 describes it, put together from the types
//! and tables that it runs on. What is served is in the route table.

mod page;
mod paths;
mod schemas;
mod shapes;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use portico_actors::error::Kind;
use serde_json::{Value, json};

use self::schemas::Components;
use super::error::{self, ApiFailure};

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
    let mut components = Components::new();
    let paths = paths::all(&mut components);
    let responses = failures(&components.answer::<ApiFailure>());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portico",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "SQL and metadata over HTTP in front of your databases, and what belongs to it.",
            "license": {"name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE")},
        },
        "servers": [{"url": "/"}],
        "security": [{"basic": []}, {"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic", "description": "E-mail address and personal access token"},
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
            "schemas": components.finish(),
            "responses": responses,
        },
    })
}

/// The kinds of failure under each status.
fn statuses() -> BTreeMap<u16, Vec<Kind>> {
    let mut statuses: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in KINDS {
        statuses.entry(error::numbers(kind).1).or_default().push(kind);
    }
    statuses
}

/// What the SQL API answers under each of these statuses.
fn failures(schema: &Value) -> Value {
    let response = |(status, kinds): (u16, Vec<Kind>)| {
        let words: Vec<String> = kinds.iter().map(|kind| format!("{} {}", error::code(*kind), kind.word())).collect();
        let mut response = json!({
            "description": words.join(", "),
            "content": {"application/json": {
                "schema": schema,
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

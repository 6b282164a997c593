//! `/openapi.json` and `/docs`: the service as `OpenAPI` 3.1 describes it, put together from the types
//! and tables that it runs on. What is served is in the route table.

mod failures;
mod page;
mod paths;
mod schemas;
mod shapes;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use serde_json::{Value, json};

use crate::http::error::ApiFailure;
use crate::http::public::description::failures::failures;
use crate::http::public::description::schemas::Components;

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
static PAGE: LazyLock<String> = LazyLock::new(|| page::render(&DOCUMENT));

/// `GET /openapi.json`.
pub(in crate::http) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(TEXT.as_str())
}

/// `GET /docs`: a page that fetches nothing.
pub(in crate::http) async fn docs() -> HttpResponse {
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

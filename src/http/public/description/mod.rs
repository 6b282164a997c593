//! `/openapi.json` and `/docs`: the service as described by `OpenAPI` 3.1. The texts are in
//! `templates/openapi.json`; schemas and tables come from the types that the service runs on. What is served is in
//! the route table.

mod schemas;
mod shapes;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use askama::Template;
use portico_actors::call::{Limits, MetadataKind};
use portico_actors::error::Kind;
use portico_actors::reply::{Column, DataType};
use portico_actors::source::catalog::columns;
use serde_json::{Value, json};

use crate::encode::{ErrorBody, write_schema};
use crate::http::api::metadata;
use crate::http::error::{self, ApiFailure};
use crate::tools::TIMEOUT_SECONDS;

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
static PAGE: LazyLock<String> = LazyLock::new(|| Page { document: &DOCUMENT }.render().unwrap_or_default());

/// The values for the template.
#[derive(Template)]
#[template(path = "openapi.json", escape = "none")]
struct Document {
    version: &'static str,
    license: &'static str,
    timeouts: RangeInclusive<u64>,
    default_timeout: u64,
    /// The example of a statement's result.
    result: Value,
    metadata: Vec<MetadataListing>,
    responses: Vec<FailureResponse>,
    schemas: Value,
}

/// The rows of one kind of metadata of a catalogue.
struct MetadataListing {
    name: &'static str,
    columns: String,
    filters: Vec<(&'static str, &'static str)>,
    example: Value,
}

/// What the SQL API answers under one status when it fails.
struct FailureResponse {
    status: u16,
    meaning: String,
    example: Value,
    has_delay: bool,
}

/// The document as a page: plain HTML with its style inside, without a script.
#[derive(Template)]
#[template(path = "docs.html")]
struct Page {
    document: &'static Value,
}

impl Page {
    fn text<'v>(&self, value: &'v Value) -> &'v str {
        value.as_str().unwrap_or_default()
    }

    fn members<'v>(&self, value: &'v Value) -> impl Iterator<Item = (&'v String, &'v Value)> {
        value.as_object().into_iter().flatten()
    }

    fn items<'v>(&self, value: &'v Value) -> &'v [Value] {
        value.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the meaning of an answer: an error shared by several paths is described in one place.
    fn meaning<'v>(&'v self, status: &str, response: &'v Value) -> &'v str {
        let shared = &self.document["components"]["responses"][status]["description"];
        response["description"].as_str().unwrap_or_else(|| self.text(shared))
    }

    fn pretty(&self, value: &Value) -> String {
        serde_json::to_string_pretty(value).unwrap_or_default()
    }
}

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
    let document = Document {
        version: env!("CARGO_PKG_VERSION"),
        license: env!("CARGO_PKG_LICENSE"),
        timeouts: TIMEOUT_SECONDS,
        default_timeout: Limits::DEFAULT_TIMEOUT.as_secs(),
        result: result(&products(), &json!([1, "JAC-00001", "Coastal Parka, waxed cotton"])),
        metadata: metadata::METADATA.into_iter().map(listing).collect(),
        responses: failures(),
        schemas: Value::Object(schemas::all()),
    };
    // The template's output is always JSON: the tests check it.
    document.render().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// The columns of the answer to the example of `/api/query`: those of the demo's shop.
fn products() -> [Column; 3] {
    let product = |label: &str, data_type, length, precision| Column {
        table: Some("products".to_owned()),
        schema: Some("main".to_owned()),
        catalog: Some("shop".to_owned()),
        length,
        precision,
        nullable: false,
        ..Column::computed(label, data_type)
    };
    [
        product("id", DataType::BigInt, 0, 19),
        product("sku", DataType::Varchar, 12, 0),
        product("name", DataType::Varchar, 80, 0),
    ]
}

fn listing((path, metadata): (&'static str, MetadataKind)) -> MetadataListing {
    let columns = columns(metadata);
    let labels: Vec<&str> = columns.iter().map(|column| column.label.as_str()).collect();
    let value = |column: &Column| match (column.data_type, column.label.as_str()) {
        (DataType::Boolean, _) => json!(false),
        (DataType::Integer | DataType::BigInt, _) => json!(1),
        (_, label) if label.ends_with("_CATALOG") || label.ends_with("_CAT") => json!("shop"),
        (_, label) if label.ends_with("_SCHEMA") || label.ends_with("_SCHEM") => json!("main"),
        (_, label) if label.ends_with("_NAME") => json!("orders"),
        _ => Value::Null,
    };
    MetadataListing {
        name: path.trim_start_matches('/'),
        columns: labels.join(", "),
        filters: metadata::filters_of(metadata),
        example: result(&columns, &columns.iter().map(value).collect()),
    }
}

/// One result with these columns, as the service itself writes them.
fn result(columns: &[Column], row: &Value) -> Value {
    let mut schema = Vec::new();
    write_schema(&mut schema, columns);
    let schema: Value = serde_json::from_slice(&schema).unwrap_or_default();
    json!({"results": [{"schema": schema, "rows": [row], "affectedRows": -1}]})
}

/// Returns the kinds of error by status; an abandoned call gets no answer.
fn failures() -> Vec<FailureResponse> {
    let mut statuses: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Abandoned) {
        statuses.entry(error::numbers(kind).1).or_default().push(kind);
    }
    let response = |(status, kinds): (u16, Vec<Kind>)| {
        let words: Vec<String> = kinds.iter().map(|kind| format!("{} {}", error::code(*kind), kind.as_str())).collect();
        let error = ErrorBody {
            code: error::code(kinds[0]),
            message: format!("what is {} here", kinds[0].as_str()),
            sql_state: None,
            hint: None,
            request_id: "0198b7a4-5b0e-7c3d-9a44-2f6d1c0e8b11".to_owned(),
        };
        FailureResponse {
            status,
            meaning: words.join(", "),
            example: serde_json::to_value(ApiFailure { error }).unwrap_or_default(),
            has_delay: kinds.iter().any(|kind| matches!(kind, Kind::Busy | Kind::Unavailable)),
        }
    };
    statuses.into_iter().map(response).collect()
}

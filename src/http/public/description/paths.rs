//! Each path of the service with its operations, in the words of `OpenAPI` 3.1. The schemas are those
//! of the types that the handlers read and write.

use portico_actors::call::{Facet, Limits};
use portico_actors::source::catalog::labels;
use serde_json::{Map, Value, json};

use crate::http::api::bodies::{Batch, Exec, Script};
use crate::http::api::metadata::{self, Connections};
use crate::http::error::OAuthFailure;
use crate::http::oauth::register::{Registered, Registration};
use crate::http::oauth::token::{Described, TokenAnswer};
use crate::http::public::description::failures::statuses;
use crate::http::public::description::schemas::{self, Components};
use crate::http::public::description::shapes::{Document, KeySet};
use crate::http::public::health::{Health, Readiness};
use crate::http::public::well_known::{AuthorizationServer, ProtectedResource};
use crate::tools::TIMEOUT_SECONDS;

/// The statuses of an OAuth endpoint's errors.
const REFUSALS: [(&str, &str); 5] = [
    ("400", "The request is wrong"),
    ("401", "The client is not who it says"),
    ("429", "Too many attempts"),
    ("500", "Internal"),
    ("503", "Nobody can judge credentials at the moment"),
];

/// All of them.
pub(super) fn all(components: &mut Components) -> Map<String, Value> {
    let mut paths = Map::new();
    sql(components, &mut paths);
    oauth(components, &mut paths);
    discovery(components, &mut paths);
    operations(components, &mut paths);
    mcp(&mut paths);
    paths
}

fn sql(components: &mut Components, paths: &mut Map<String, Value>) {
    let results = components.answer::<Document>();
    let query = json!({"query": "SELECT id, name FROM shop.main.customers WHERE id = @id",
        "parameters": {"@id": {"dataType": 8, "value": 1}}});
    let batch = json!({"query": "INSERT INTO customers (id, name) VALUES (@id, @name)",
        "parameters": [{"@id": {"value": 8}, "@name": {"value": "Ann"}}, {"@id": {"value": 9}, "@name": {"value": "Bob"}}]});
    let exec = json!({"procedure": "shop.main.roll", "parameters": {"@sides": 6}});
    let bodies = [
        ("query", "Runs statements", components.body::<Script>(), query),
        (
            "batch",
            "Runs one statement once for each set of values, in one transaction",
            components.body::<Batch>(),
            batch,
        ),
        ("exec", "Calls a function or procedure", components.body::<Exec>(), exec),
    ];
    for (name, summary, schema, example) in bodies {
        let operation = json!({"post": {
            "operationId": name,
            "tags": ["SQL"],
            "summary": summary,
            "parameters": [workspace(), {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "A repeated request with the same key gets the first one's answer and is not run again, as long as its caller's \
                    rights and the connection are what they were",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            }],
            "requestBody": {"required": true, "content": {"application/json": {"schema": schema, "example": example}}},
            "responses": answers(forms(&results, &schemas::result_example())),
        }});
        paths.insert(format!("/api/{name}"), operation);
    }
    let connections = components.answer::<Connections>();
    paths.insert(
        "/api/connections".to_owned(),
        json!({"get": {
            "operationId": "connections",
            "tags": ["Metadata"],
            "summary": "The caller's connections",
            "responses": answers(json!({"application/json": {"schema": connections, "example": {"connections": [{
                "connectionId": "6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11", "name": "shop", "source": "sqlite",
                "mcpUrl": "http://localhost:8787/mcp/connections/6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11", "status": "up",
            }]}}})),
        }}),
    );
    for (path, facet) in metadata::FACETS {
        let name = path.trim_start_matches('/');
        paths.insert(format!("/api{path}"), json!({"get": listing(name, facet, &results)}));
    }
}

fn listing(name: &str, facet: Facet, results: &Value) -> Value {
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
        "schema": {"type": "integer", "minimum": TIMEOUT_SECONDS.start(), "maximum": TIMEOUT_SECONDS.end(),
            "default": Limits::DEFAULT_TIMEOUT.as_secs()},
    }));
    json!({
        "operationId": name,
        "tags": ["Metadata"],
        "summary": format!("Metadata: {name}"),
        "description": format!("Columns: {}. Without catalogName the rows of all of the caller's connections; \
            where one of them does not answer, `error` names it behind the rows of the others.", columns.join(", ")),
        "parameters": parameters,
        "responses": answers(forms(results, &schemas::facet_example(facet))),
    })
}

fn workspace() -> Value {
    json!({"name": "workspace", "in": "query", "description": "A virtual schema's name", "schema": {"type": "string"}})
}

/// The forms of a result.
fn forms(schema: &Value, example: &Value) -> Value {
    json!({
        "application/json": {"schema": schema, "example": example},
        "text/csv": {"schema": {"type": "string", "description": "RFC 4180 with a header line; one \
            result. NULL is an empty field, and the word NULL where there is one column; an empty text is \"\""}},
        "application/x-ndjson": {"schema": {"type": "string", "description": "An object a row; one result. A failure \
            behind the first row is a last line {\"error\": {…}}"}},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "contentEncoding": "binary",
            "description": "An Apache Arrow IPC stream; one result. A failure behind the first row breaks it off"}},
    })
}

/// The responses of the SQL API: `content`, or any failure.
fn answers(content: Value) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({"description": "The answer", "content": content}));
    for status in statuses().keys() {
        responses.insert(status.to_string(), json!({"$ref": format!("#/components/responses/{status}")}));
    }
    Value::Object(responses)
}

fn oauth(components: &mut Components, paths: &mut Map<String, Value>) {
    let refusal = components.answer::<OAuthFailure>();
    let parameter = |meaning: &str| json!({"type": "string", "description": meaning});
    let client = [
        ("client_id", parameter("The client, where the Authorization header does not name it")),
        ("client_secret", parameter("Its secret, where it has one and the Authorization header does not")),
    ];
    let form = |required: &[&str], own: &[(&str, Value)], example: Value| {
        let properties: Map<String, Value> =
            own.iter().chain(&client).map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
        json!({"required": true, "content": {"application/x-www-form-urlencoded": {
            "schema": {"type": "object", "required": required, "properties": properties}, "example": example,
        }}})
    };
    let grants = ["client_credentials", "authorization_code", "refresh_token"];
    let token = form(
        &["grant_type"],
        &[
            ("grant_type", json!({"type": "string", "enum": grants})),
            ("scope", parameter("A space-separated list")),
            ("resource", parameter("The address that the token is for (RFC 8707)")),
            ("code", parameter("Of authorization_code")),
            ("redirect_uri", parameter("Of authorization_code")),
            ("code_verifier", parameter("Of authorization_code (RFC 7636)")),
            ("refresh_token", parameter("Of refresh_token")),
        ],
        json!({"grant_type": "client_credentials", "client_id": "ptc_client_…", "client_secret": "ptc_secret_…"}),
    );
    let shown = || {
        let own = [("token", parameter("The token")), ("token_type_hint", parameter("Not needed (RFC 7009 §2.1)"))];
        form(&["token"], &own, json!({"token": "…", "client_id": "ptc_client_…", "client_secret": "ptc_secret_…"}))
    };
    let registration = json!({"required": true, "content": {"application/json": {
        "schema": components.body::<Registration>(),
        "example": {"client_name": "Reports", "redirect_uris": ["https://reports.example.org/callback"]},
    }}});
    let described =
        |schema: Value| json!({"description": "The answer", "content": {"application/json": {"schema": schema}}});
    let endpoints = [
        ("token", "Issues a token (RFC 6749)", token, "200", described(components.answer::<TokenAnswer>())),
        ("revoke", "Ends a token (RFC 7009)", shown(), "200", json!({"description": "It opens nothing any more"})),
        (
            "introspect",
            "Tells what a token opens now (RFC 7662)",
            shown(),
            "200",
            described(components.answer::<Described>()),
        ),
        (
            "register",
            "Registers a client (RFC 7591), where that is switched on; 404 where it is not",
            registration,
            "201",
            described(components.answer::<Registered>()),
        ),
    ];
    for (name, summary, body, status, answer) in endpoints {
        let mut responses = Map::new();
        responses.insert(status.to_owned(), answer);
        for (status, meaning) in REFUSALS {
            let content = json!({"application/json": {"schema": refusal}});
            responses.insert(status.to_owned(), json!({"description": meaning, "content": content}));
        }
        if name == "register" {
            responses.insert("404".to_owned(), json!({"$ref": "#/components/responses/404"}));
        }
        let operation = json!({"post": {"operationId": name, "tags": ["OAuth"], "summary": summary, "security": [],
            "requestBody": body, "responses": responses}});
        paths.insert(format!("/oauth/{name}"), operation);
    }
}

/// One `GET` for anybody, answered with JSON or with `media`.
fn public(id: &str, tag: &str, summary: &str, schema: Value, media: &str) -> Value {
    let mut content = Map::new();
    content.insert(media.to_owned(), json!({"schema": schema}));
    json!({"operationId": id, "tags": [tag], "summary": summary, "security": [],
        "responses": {"200": {"description": "The answer", "content": content}}})
}

fn discovery(components: &mut Components, paths: &mut Map<String, Value>) {
    const JSON: &str = "application/json";
    let (server, keys) = (components.answer::<AuthorizationServer>(), components.answer::<KeySet>());
    let resource = components.answer::<ProtectedResource>();
    let own = public("protectedService", "Discovery", "The service as a resource (RFC 9728)", resource.clone(), JSON);
    let mut connection =
        public("protectedConnection", "Discovery", "An MCP address as a resource (RFC 9728)", resource, JSON);
    connection["parameters"] = json!([connection_id()]);
    connection["responses"]["404"] = json!({"$ref": "#/components/responses/404"});
    let documents = [
        ("jwks.json", public("keys", "Discovery", "The keys that tokens are verified with (RFC 7517)", keys, JSON)),
        (
            "oauth-authorization-server",
            public("authorizationServer", "Discovery", "The authorization server (RFC 8414)", server, JSON),
        ),
        ("oauth-protected-resource", own),
        ("oauth-protected-resource/mcp/connections/{connectionId}", connection),
    ];
    for (name, operation) in documents {
        paths.insert(format!("/.well-known/{name}"), json!({"get": operation}));
    }
}

fn operations(components: &mut Components, paths: &mut Map<String, Value>) {
    let (json_media, text) = ("application/json", json!({"type": "string"}));
    let (health, readiness) = (components.answer::<Health>(), components.answer::<Readiness>());
    let mut ready = public("ready", "Operations", "Whether requests should be sent", readiness.clone(), json_media);
    ready["responses"]["503"] = json!({"description": "Not yet, not now, or no longer: reason says why",
        "content": {"application/json": {"schema": readiness}}});
    let mut alive = public("alive", "Operations", "Whether the process's threads turn", health.clone(), json_media);
    alive["responses"]["503"] = json!({"description": "Some are stuck",
        "content": {"application/json": {"schema": health}}});
    let mut metrics = public(
        "metrics",
        "Operations",
        "What happens inside; for whom, says server.metrics",
        text.clone(),
        "application/openmetrics-text",
    );
    if let Some(operation) = metrics.as_object_mut() {
        // The service's own rule holds unless the file says otherwise.
        operation.remove("security");
    }
    for status in ["401", "403", "404"] {
        metrics["responses"][status] = json!({"$ref": format!("#/components/responses/{status}")});
    }
    let endpoints = [
        ("healthz", alive),
        ("readyz", ready),
        ("metrics", metrics),
        ("openapi.json", public("openapi", "Operations", "This document", json!({"type": "object"}), json_media)),
        ("docs", public("docs", "Operations", "This document as a page", text, "text/html")),
    ];
    for (name, operation) in endpoints {
        paths.insert(format!("/{name}"), json!({"get": operation}));
    }
}

fn connection_id() -> Value {
    json!({"name": "connectionId", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}})
}

/// The protocol describes its own messages; here is where it is spoken.
fn mcp(paths: &mut Map<String, Value>) {
    let messages = json!({
        "application/json": {"schema": {"type": ["object", "array"], "description": "JSON-RPC 2.0"}},
        "text/event-stream": {"schema": {"type": "string", "description": "JSON-RPC 2.0 in server-sent events"}},
    });
    let operation = |id: &str, summary: &str, success: Value| {
        let mut responses = success;
        for (status, meaning) in [
            ("400", "The request is wrong"),
            ("401", "Not authenticated"),
            ("403", "Not allowed"),
            ("404", "No such connection or session"),
        ] {
            responses[status] = json!({"description": meaning,
                "content": {"application/json": {"schema": {"type": "object", "description": "JSON-RPC 2.0"}}}});
        }
        json!({"operationId": id, "tags": ["MCP"], "summary": summary, "parameters": [connection_id()],
            "responses": responses})
    };
    let mut post = operation(
        "mcp",
        "A message of the Model Context Protocol",
        json!({"200": {"description": "The answer", "content": messages}, "202": {"description": "Taken"}}),
    );
    post["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": {"type": ["object", "array"], "description": "JSON-RPC 2.0"},
        "example": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
    }}});
    let stream = json!({"200": {"description": "Events",
        "content": {"text/event-stream": {"schema": {"type": "string"}}}}});
    let item = json!({
        "post": post,
        "get": operation("mcpStream", "The events of a session", stream),
        "delete": operation("mcpEnd", "Ends a session", json!({"200": {"description": "Ended"}, "204": {"description": "Ended"}})),
    });
    paths.insert("/mcp/connections/{connectionId}".to_owned(), item);
}

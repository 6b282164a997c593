//! Discovery: our keys, our authorization server (RFC 8414), and each protected resource (RFC 9728).

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::auth::Jwks;
use portico_actors::auth::oauth::client::DynamicRegistration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::http::error;
use crate::http::mcp::admission;
use crate::http::middleware::recorder;
use crate::http::public::fallback;

/// How long discovery documents may be kept, in seconds.
const MAX_AGE: &str = "public, max-age=300";

/// The methods of client authentication.
const CLIENT_AUTHENTICATION: [&str; 2] = ["client_secret_post", "client_secret_basic"];
/// The methods where a client may also have no secret: its code's verifier or its token identifies it.
const PUBLIC_CLIENTS_TOO: [&str; 3] = ["none", "client_secret_post", "client_secret_basic"];

/// The authorization server (RFC 8414 §2).
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct AuthorizationServer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    jwks_uri: String,
    grant_types_supported: [&'static str; 3],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    code_challenge_methods_supported: [&'static str; 1],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    introspection_endpoint_auth_methods_supported: [&'static str; 2],
    scopes_supported: [&'static str; 3],
    authorization_response_iss_parameter_supported: bool,
    client_id_metadata_document_supported: bool,
    /// Where clients may register themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
}

/// A protected resource (RFC 9728 §2).
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct ProtectedResource {
    resource: String,
    authorization_servers: [String; 1],
    scopes_supported: [&'static str; 2],
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
}

fn document(value: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, MAX_AGE))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .json(value)
}

/// `GET /.well-known/jwks.json`.
pub(in crate::http) async fn jwks(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    match app.auth.send(Jwks).await.flatten() {
        Ok(keys) => document(&keys),
        Err(failure) => error::api(&failure, recorder::request_id(&request), None),
    }
}

/// `GET /.well-known/oauth-authorization-server`.
pub(in crate::http) async fn authorization_server(app: web::Data<App>) -> HttpResponse {
    let config = app.config();
    let issuer = &config.server.public_url;
    document(&AuthorizationServer {
        issuer: issuer.clone(),
        authorization_endpoint: format!("{issuer}/authorize"),
        token_endpoint: format!("{issuer}/oauth/token"),
        revocation_endpoint: format!("{issuer}/oauth/revoke"),
        introspection_endpoint: format!("{issuer}/oauth/introspect"),
        jwks_uri: format!("{issuer}/.well-known/jwks.json"),
        grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: PUBLIC_CLIENTS_TOO,
        revocation_endpoint_auth_methods_supported: PUBLIC_CLIENTS_TOO,
        introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
        scopes_supported: ["read", "write", "admin"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: config.oauth.client_documents,
        registration_endpoint: (config.oauth.registration() != DynamicRegistration::Nobody)
            .then(|| format!("{issuer}/oauth/register")),
    })
}

fn resource(app: &App, resource: &str) -> HttpResponse {
    document(&ProtectedResource {
        resource: resource.to_owned(),
        authorization_servers: [app.config().server.public_url.clone()],
        scopes_supported: ["read", "write"],
        bearer_methods_supported: ["header"],
        resource_name: "Portico",
    })
}

/// `GET /.well-known/oauth-protected-resource`.
pub(in crate::http) async fn protected_service(app: web::Data<App>) -> HttpResponse {
    resource(&app, &app.config().server.public_url)
}

/// `GET /.well-known/oauth-protected-resource/mcp`.
pub(in crate::http) async fn protected_mcp(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    resource(&app, &admission::with_query(app.mcp_url_of_all(), &request))
}

/// `GET /.well-known/oauth-protected-resource/mcp/workspaces/{workspace}`. Any name has a document.
pub(in crate::http) async fn protected_workspace(
    request: HttpRequest,
    name: web::Path<String>,
    app: web::Data<App>,
) -> HttpResponse {
    match admission::workspace_endpoint(&app, &name) {
        Some(endpoint) => resource(&app, &admission::with_query(endpoint, &request)),
        None => fallback::no_such_path(request).await,
    }
}

/// `GET /.well-known/oauth-protected-resource/mcp/connections/{connectionId}`. Any UUID and any name has a
/// document, which does not reveal which connections exist.
pub(in crate::http) async fn protected_connection(
    request: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> HttpResponse {
    match admission::endpoint(&app, &id) {
        Some(endpoint) => resource(&app, &admission::with_query(endpoint, &request)),
        None => fallback::no_such_path(request).await,
    }
}

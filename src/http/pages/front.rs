//! `/`: for people what this is and whether it is healthy; for programs the addresses of everything. A signed-in
//! person sees their own page instead.

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use portico_actors::auth::oauth::client::DynamicRegistration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::http::accept;
use crate::http::pages::account;
use crate::http::pages::browser::{self, Visitor};
use crate::http::pages::page::{self, State};

/// Where everything is, for programs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct Addresses {
    /// What answers here.
    name: &'static str,
    version: &'static str,
    /// MCP: all that a credential opens. One connection is at `/connections/{name}` below it, one workspace at
    /// `/workspaces/{name}`.
    mcp: String,
    /// The SQL API, whose paths are below it.
    api: String,
    /// Where tokens are issued (RFC 6749).
    token: String,
    /// Where people agree to what an application asks for.
    authorize: String,
    /// Where a token is ended (RFC 7009).
    revoke: String,
    /// Where it is told what a token opens (RFC 7662).
    introspect: String,
    /// Where clients register themselves (RFC 7591), if any may.
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
    /// What the authorization server is (RFC 8414).
    authorization_server: String,
    /// What the service is as a resource (RFC 9728).
    protected_resource: String,
    /// The keys that tokens are verified with.
    jwks: String,
    /// The service as `OpenAPI` describes it, and the same as a page.
    openapi: String,
    docs: String,
    /// Whether the process serves, and whether requests should be sent.
    health: String,
    ready: String,
    /// People's own page.
    account: String,
}

impl Addresses {
    fn new(app: &App) -> Self {
        let config = app.config();
        let at = |path: &str| format!("{}{path}", config.server.public_url);
        let registers = config.oauth.registration() != DynamicRegistration::Nobody;
        Self {
            name: "Portico",
            version: env!("CARGO_PKG_VERSION"),
            mcp: at("/mcp"),
            api: at("/api"),
            token: at("/oauth/token"),
            authorize: at("/authorize"),
            revoke: at("/oauth/revoke"),
            introspect: at("/oauth/introspect"),
            register: registers.then(|| at("/oauth/register")),
            authorization_server: at("/.well-known/oauth-authorization-server"),
            protected_resource: at("/.well-known/oauth-protected-resource"),
            jwks: at("/.well-known/jwks.json"),
            openapi: at("/openapi.json"),
            docs: at("/docs"),
            health: at("/healthz"),
            ready: at("/readyz"),
            account: at("/account"),
        }
    }
}

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    addresses: Addresses,
    /// Why no call would be taken now.
    unwell: Option<String>,
}

/// `GET /`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    let mut response = if accept::preferred(&request, &["text/html", "application/json"]) == Some(1) {
        HttpResponse::Ok().json(Addresses::new(&app))
    } else {
        page::answer(&request, &app, async |recorder| {
            if let Some(visitor) = Visitor::find(&request, &app).await? {
                recorder.note_session(&visitor.session);
                return account::show(&request, &app, &visitor, None).await;
            }
            // Over plain http the session's cookie is sent to the pages that need it alone.
            if browser::is_marked(&request) {
                return Ok(page::go("/account", &[]));
            }
            let unwell = app.takes_calls().err().map(|why| why.to_string());
            page::show(&Front { addresses: Addresses::new(&app), unwell })
        })
        .await
    };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept, cookie"));
    response
}

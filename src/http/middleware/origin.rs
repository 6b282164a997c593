//! Browsers send the origin of the page that makes a request; only pages of allowed origins may call (MCP,
//! transports §Security: DNS rebinding). Other clients send no `Origin` and pass.
//!
//! Browsers get the headers that let such a page call (Fetch, §3.2 CORS protocol). Cookies are never sent: these
//! pages have a token.

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::middleware::Next;
use portico_actors::error::Error;

use crate::app::App;
use crate::http::error;
use crate::http::middleware::recorder;
use crate::http::policy::{OriginCheck, RoutePolicy};
use crate::http::state;
use portico_actors::loopback;

/// Methods of the paths that pages may call.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE");
/// The response headers that a page may read, besides those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Mcp-Session-Id, WWW-Authenticate, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, \
     Server-Timing",
);
/// The seconds that a browser may cache a preflight answer: if an origin is removed from the list, its next request
/// is refused all the same.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Refuses a request from a page of a foreign origin, where the route wants it.
pub(in crate::http) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let policy = RoutePolicy::from_request(request.request());
    let open = policy.is_some_and(|policy| matches!(policy.origin, OriginCheck::Any(_)));
    let allowed = open
        || request
            .headers()
            .get_all(header::ORIGIN)
            .all(|origin| origin.to_str().is_ok_and(|origin| is_allowed(origin, &app)));
    if !allowed {
        let refusal = Error::forbidden("the Origin header names a page that may not call this service")
            .hint("an administrator can add it to server.allowed_origins");
        recorder::refused(request.request(), &refusal);
        let response = error::refusal(request.request(), &refusal);
        return Ok(request.into_response(response));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// Whether pages of `origin` may call.
fn is_allowed(origin: &str, app: &App) -> bool {
    let config = app.config();
    let server = &config.server;
    origin.eq_ignore_ascii_case(&server.public_url)
        || server.allowed_origins.iter().any(|allowed| origin.eq_ignore_ascii_case(allowed))
        || loopback::is_origin(origin)
}

/// Answers the questions that a browser asks before a call, and marks answers as readable: where a page
/// of another origin has something to do, which is not at people's own pages.
pub(in crate::http) async fn cors(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    if !RoutePolicy::from_request(request.request()).is_some_and(|policy| policy.cors) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let allowed = allowed_origin(&request, &app);
    let asks_first =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &allowed {
        Some(_) if asks_first => {
            let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
            request.into_response(preflight(asked))
        }
        _ => next.call(request).await?.map_into_boxed_body(),
    };
    let headers = response.headers_mut();
    // A cached answer for one origin must not be used for another.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    Ok(response)
}

/// The request's origin, if it is one alone and may call.
fn allowed_origin(request: &ServiceRequest, app: &App) -> Option<HeaderValue> {
    let mut given = request.headers().get_all(header::ORIGIN);
    let origin = given.next().filter(|_| given.next().is_none())?;
    origin.to_str().is_ok_and(|text| is_allowed(text, app)).then(|| origin.clone())
}

/// Answers a preflight request. The headers of a call depend on its tool (`Mcp-Param-…`), and none of them grants
/// anything by itself, so that all that are `asked` for are allowed.
fn preflight(asked: Option<HeaderValue>) -> HttpResponse {
    let mut response = HttpResponse::NoContent();
    response.insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, METHODS));
    response.insert_header((header::ACCESS_CONTROL_MAX_AGE, MAX_AGE));
    response.append_header((header::VARY, "access-control-request-method, access-control-request-headers"));
    if let Some(asked) = asked {
        response.insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, asked));
    }
    response.finish()
}

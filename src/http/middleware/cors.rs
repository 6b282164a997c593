//! What a browser needs to let a page of an allowed origin call (Fetch, §3.2 CORS protocol). Which
//! origins those are is decided in `origin`, which refuses all others. Cookies are never sent along:
//! these pages bring a token.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpResponse, web};

use crate::app::App;
use crate::http::middleware::origin;
use crate::http::policy::Policy;

/// Methods of the paths that pages may call.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE");
/// Headers of answers that a page may read, besides those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Mcp-Session-Id, WWW-Authenticate, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, \
     Server-Timing",
);
/// Seconds that a browser may remember what it was told: an origin that is taken from the list is
/// refused by its next request all the same.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Answers the questions that a browser asks before a call, and marks answers as readable: where a page
/// of another origin has something to do, which is not at people's own pages.
pub(in crate::http) async fn allow(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    if !Policy::of(request.request()).is_some_and(|policy| policy.cors) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let allowed = allowed_origin(&request);
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
    // What is kept of one origin's answer is not for another's.
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        mark(headers, origin);
    }
    Ok(response)
}

/// The request's origin, if it is one alone and may call.
fn allowed_origin(request: &ServiceRequest) -> Option<HeaderValue> {
    let mut given = request.headers().get_all(header::ORIGIN);
    let origin = given.next().filter(|_| given.next().is_none())?;
    let app = request.app_data::<web::Data<App>>()?;
    origin.to_str().is_ok_and(|text| origin::is_allowed(text, app)).then(|| origin.clone())
}

/// The answer to a preflight request. Which headers a call has depends on its tool (`Mcp-Param-…`), and
/// none of them opens anything by itself, so that all that are `asked` for are allowed.
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

fn mark(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

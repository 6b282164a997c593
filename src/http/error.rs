//! Kinds of failure become statuses, codes, challenges and bodies. Status numbers live only here.

use std::time::{Duration, SystemTime};

use actix_web::http::header::{self, HeaderValue, HttpDate};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use portico_actors::auth::GrantError;
use portico_actors::backoff;
use portico_actors::call::RequestId;
use portico_actors::error::{Error, Kind, Quota, bounded};
use schemars::JsonSchema;
use serde::Serialize;

use crate::encode::ErrorBody;
use crate::http::middleware::request_id;
use crate::http::policy::{ErrorFormat, RoutePolicy};
use crate::http::quota;
use crate::mcp::envelope::{self, ResponseStatus, RpcError};
use crate::mcp::model::Id;

/// Code and status of each kind, in one table. `docs/troubleshooting.md` has a row for each.
pub(super) const fn numbers(kind: Kind) -> (u16, u16) {
    match kind {
        Kind::Invalid => (1000, 400),
        Kind::Unauthenticated => (1100, 401),
        Kind::Forbidden => (1200, 403),
        Kind::NotFound => (1300, 404),
        Kind::Rejected => (1400, 400),
        Kind::Conflict => (1401, 409),
        Kind::TimedOut | Kind::Abandoned => (1500, 408),
        Kind::Busy => (1600, 429),
        Kind::Unavailable => (1700, 503),
        Kind::TooLarge => (1800, 413),
        Kind::Internal => (1900, 500),
    }
}

/// The code of `kind` in bodies.
pub(crate) const fn code(kind: Kind) -> u16 {
    numbers(kind).0
}

/// The status of `kind`.
pub(super) fn status(kind: Kind) -> StatusCode {
    StatusCode::from_u16(numbers(kind).1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Of a page.
pub(super) const OK: StatusCode = StatusCode::OK;
/// Of a body in a media type that this endpoint does not take.
pub(super) const UNSUPPORTED_MEDIA_TYPE: StatusCode = StatusCode::UNSUPPORTED_MEDIA_TYPE;
/// For a client that accepts none of the media types of this endpoint.
pub(super) const NOT_ACCEPTABLE: StatusCode = StatusCode::NOT_ACCEPTABLE;
/// Of a method that a path does not have.
pub(super) const METHOD_NOT_ALLOWED: StatusCode = StatusCode::METHOD_NOT_ALLOWED;
/// For a request with a head that is too large (RFC 6585 §5).
pub(super) const HEADERS_TOO_LARGE: StatusCode = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
/// For a request whose `Idempotency-Key` belongs to a running request.
pub(super) const CONFLICT: StatusCode = StatusCode::CONFLICT;
/// For a request whose `Idempotency-Key` belongs to another request.
pub(super) const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
/// Of a request for a host that is not ours (RFC 9110 §15.5.20).
pub(super) const MISDIRECTED: StatusCode = StatusCode::MISDIRECTED_REQUEST;

/// An answer of the SQL API that is an error alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub(super) struct ApiFailure {
    pub(super) error: ErrorBody,
}

/// An answer of an OAuth endpoint that is an error (RFC 6749 §5.2).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthFailure")]
pub(super) struct OAuthFailure {
    /// The code of RFC 6749, RFC 7591 or RFC 8707.
    pub(super) error: &'static str,
    /// One sentence.
    pub(super) error_description: String,
}

/// The body of `error` on the SQL API.
pub(super) fn body(error: &Error, request: RequestId) -> ErrorBody {
    ErrorBody {
        code: code(error.kind),
        message: message(error),
        sql_state: error.get_sqlstate().map(str::to_owned),
        hint: error.get_hint().map(str::to_owned),
        request_id: request.to_string(),
    }
}

/// Returns the message with the source's detail and the position in the statement: the error object has no other
/// members for them.
fn message(error: &Error) -> String {
    let mut message = error.message.clone();
    if let Some(detail) = error.get_detail() {
        message.push_str(": ");
        message.push_str(detail);
    }
    if let Some(position) = error.get_position() {
        message.push_str(&format!(" (at position {position})"));
    }
    bounded(message)
}

/// The default delay before another attempt; each 429 and 503 has one.
fn usual_delay(kind: Kind) -> Option<Duration> {
    match kind {
        Kind::Busy => Some(Duration::from_secs(1)),
        Kind::Unavailable => Some(Duration::from_secs(5)),
        _ => None,
    }
}

/// Begins a response to `error`: status, `Retry-After`, the rest of a rate limit, and challenges.
pub(super) fn begin(error: &Error, challenge: Option<&Challenge>) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status(error.kind));
    add_delay(&mut response, error.get_retry_after().or_else(|| usual_delay(error.kind)), error.get_quota());
    if let Some(challenge) = challenge {
        challenge.add_to(&mut response, error);
    }
    response
}

/// Begins a response to a failure of an OAuth endpoint.
pub(super) fn begin_oauth(refusal: &GrantError) -> HttpResponseBuilder {
    let kind = oauth_kind(refusal.code);
    let mut response = HttpResponse::build(status(kind));
    let quota = refusal.quota.as_ref();
    // What such a request waits for is looked at every second.
    let usual = usual_delay(kind).map(|_| Duration::from_secs(1));
    add_delay(&mut response, quota.map(|quota| quota.reset).or(usual), quota);
    response
}

/// Says when to try again, in whole seconds, and what is left of a quota.
fn add_delay(response: &mut HttpResponseBuilder, delay: Option<Duration>, quota: Option<&Quota>) {
    if let Some(delay) = delay {
        response.insert_header((header::RETRY_AFTER, backoff::seconds(delay)));
    }
    for header in quota.into_iter().flat_map(quota::headers) {
        response.insert_header(header);
    }
}

/// What a client is told when it has to authenticate (RFC 6750 §3, RFC 9728 §5.1).
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    /// Where the protected resource describes itself.
    pub(super) metadata: String,
    /// Whether a token was shown.
    pub(super) shown: bool,
    /// Whether Basic is taken too.
    pub(super) basic: bool,
}

impl Challenge {
    fn add_to(&self, response: &mut HttpResponseBuilder, error: &Error) {
        let metadata = &self.metadata;
        let bearer = match (error.kind, error.get_needs()) {
            (Kind::Unauthenticated, _) if self.shown => {
                format!("Bearer error=\"invalid_token\", resource_metadata=\"{metadata}\", scope=\"read\"")
            }
            (Kind::Unauthenticated, _) => format!("Bearer resource_metadata=\"{metadata}\", scope=\"read\""),
            (Kind::Forbidden, Some(scope)) => {
                let scope = portico_actors::principal::Scope::parse(scope).map_or(scope, |scope| scope.list());
                format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{metadata}\"")
            }
            _ => return,
        };
        response.append_header((header::WWW_AUTHENTICATE, bearer));
        if self.basic && error.kind == Kind::Unauthenticated {
            response.append_header((header::WWW_AUTHENTICATE, "Basic realm=\"portico\", charset=\"UTF-8\""));
        }
    }
}

/// A whole response to `error` on the SQL API.
pub(super) fn api(error: &Error, request: RequestId, challenge: Option<&Challenge>) -> HttpResponse {
    begin(error, challenge).json(ApiFailure { error: body(error, request) })
}

/// Makes a complete response to `error` on the SQL API, with another status than its kind's.
pub(super) fn with_status(status: StatusCode, error: &Error, request: RequestId) -> HttpResponse {
    let mut response = api(error, request, None);
    *response.status_mut() = status;
    response
}

/// Returns the answer to a head that does not arrive, when there is no request to answer yet: the same as the HTTP
/// library's for the first one of a connection.
pub(super) fn head_timed_out() -> String {
    let date = HttpDate::from(SystemTime::now());
    format!(
        "HTTP/1.1 {}\r\ncontent-length: 0\r\nconnection: close\r\ndate: {date}\r\n\r\n",
        StatusCode::REQUEST_TIMEOUT
    )
}

/// States in a 415 which content codings are accepted: none (RFC 9110 §12.5.3).
pub(super) fn coding_refused(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    response
}

/// A whole response to a body of another media type than `media`: 415 (RFC 9110 §15.5.16), or 400 where the form of
/// OAuth is due (RFC 6749 §5.2).
pub(super) fn type_refused(request: &HttpRequest, error: &Error, media: &'static str) -> HttpResponse {
    let is_oauth = RoutePolicy::from_request(request).is_some_and(|policy| policy.form == ErrorFormat::OAuth);
    let mut response = HttpResponse::build(if is_oauth { StatusCode::BAD_REQUEST } else { UNSUPPORTED_MEDIA_TYPE });
    response.insert_header((header::ACCEPT, media));
    if is_oauth {
        return response.json(OAuthFailure { error: "invalid_request", error_description: error.message.clone() });
    }
    response.json(ApiFailure { error: body(error, request_id::request_id(request)) })
}

/// A whole response to `error` on the MCP endpoint, before its protocol is reached.
pub(super) fn transport(error: &Error, challenge: Option<&Challenge>) -> HttpResponse {
    let failure = RpcError::transport(code(error.kind), error);
    begin(error, challenge).content_type("application/json").body(failure.body(None))
}

/// Makes a complete response with a protocol error of the MCP endpoint and a status of its own.
pub(super) fn protocol(status: StatusCode, failure: &RpcError, id: Option<&Id>) -> HttpResponse {
    HttpResponse::build(status).content_type("application/json").body(failure.body(id))
}

/// The status of a response of the MCP endpoint.
pub(super) fn rpc_status(status: ResponseStatus) -> StatusCode {
    match status {
        ResponseStatus::Answered => StatusCode::OK,
        ResponseStatus::Malformed => StatusCode::BAD_REQUEST,
        ResponseStatus::Unknown => StatusCode::NOT_FOUND,
    }
}

/// Returns the kind of an error of the token endpoint (RFC 6749 §5.2).
pub(super) fn oauth_kind(code: &str) -> Kind {
    match code {
        "invalid_client" => Kind::Unauthenticated,
        "temporarily_unavailable" => Kind::Busy,
        "service_unavailable" => Kind::Unavailable,
        "server_error" => Kind::Internal,
        _ => Kind::Invalid,
    }
}

/// The code of an error of an OAuth endpoint that is refused before its own rules are asked: [`oauth_kind`] read the
/// other way round.
pub(super) fn oauth_code(kind: Kind) -> &'static str {
    match kind {
        Kind::Unauthenticated => "invalid_client",
        Kind::Forbidden => "access_denied",
        Kind::Busy => "temporarily_unavailable",
        Kind::Unavailable => "service_unavailable",
        Kind::Internal => "server_error",
        _ => "invalid_request",
    }
}

/// Begins an answer about readiness.
pub(super) fn readiness(ready: bool) -> HttpResponseBuilder {
    if ready {
        return HttpResponse::Ok();
    }
    let mut response = HttpResponse::ServiceUnavailable();
    response.insert_header((header::RETRY_AFTER, "1"));
    response
}

/// Has the connection closed behind `response` (RFC 9112 §9.6).
pub(super) fn close(response: &mut HttpResponse) {
    response.head_mut().set_connection_type(ConnectionType::Close);
}

/// A whole response to `error` in the form of the scope that `request` was matched to.
pub(super) fn refusal(request: &HttpRequest, error: &Error) -> HttpResponse {
    match RoutePolicy::from_request(request).map(|policy| policy.form) {
        Some(ErrorFormat::Mcp) => transport(error, None),
        Some(ErrorFormat::OAuth) => {
            let failure = OAuthFailure { error: oauth_code(error.kind), error_description: envelope::message(error) };
            begin(error, None).json(failure)
        }
        Some(ErrorFormat::Api) | None => api(error, request_id::request_id(request), None),
    }
}

/// A whole response to `error`, as [`refusal`] makes it, with a status of its own.
pub(super) fn refusal_with_status(status: StatusCode, request: &HttpRequest, error: &Error) -> HttpResponse {
    let mut response = refusal(request, error);
    *response.status_mut() = status;
    response
}

/// The methods of a readable resource (RFC 9110 §9.1); `middleware/head.rs` answers HEAD as GET.
pub(super) const READ: &str = "GET, HEAD";

/// The MCP endpoint's answer to a method that it does not serve.
pub(super) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, allowed)).finish()
}

//! Reads a request's body up to its limit.
//!
//! On the SQL API and on the MCP endpoint this is request buffering, as in proxies: the caller is authenticated and
//! the body read completely before anything else is reserved for a request. A slow or unauthenticated sender holds
//! no place of others.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::rt::time::timeout;
use actix_web::web::{Bytes, BytesMut, Data, Payload};
use actix_web::{HttpMessage, HttpRequest};
use futures_util::StreamExt;
use portico_actors::auth::network;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::{Endpoint, Principal};

use crate::app::App;
use crate::http::middleware::limits::busy;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::policy::{Authentication, ErrorFormat, RoutePolicy};
use crate::http::{caller, connections::peer, error, state};
use portico_actors::shares::{Allowance, ShareExceeded, ShareLimits};

/// Bytes that are made room for before they came.
const RESERVED: usize = 64 * 1024;

/// How large the body of a route may be.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum Limit {
    /// The body is not read.
    None,
    /// A form of so many bytes at most.
    Form(usize),
    /// JSON of so many bytes at most.
    Json(usize),
    /// JSON up to `server.max_body`.
    MaxBody,
}

impl Limit {
    /// Returns the only media type that is accepted.
    pub(in crate::http) const fn media(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Form(_) => Some("application/x-www-form-urlencoded"),
            Self::Json(_) | Self::MaxBody => Some("application/json"),
        }
    }
}

/// The body of a request that was read before its handler was asked.
struct Received {
    body: Result<Bytes>,
    /// Its memory, counted for its caller.
    _room: Allowance<String>,
}

/// The whole body within the bound of its route, unless the client takes too long to send it.
pub(in crate::http) async fn read(request: &HttpRequest, payload: Payload) -> Result<Bytes> {
    if let Some(received) = request.extensions().get::<Received>() {
        return received.body.clone();
    }
    let Some(app) = request.app_data::<Data<App>>() else {
        return Err(Error::internal("bug: a route has no state"));
    };
    let most = match request.app_data::<Limit>() {
        Some(Limit::Form(most) | Limit::Json(most)) => *most,
        _ => return Err(Error::internal("bug: a body is read where the route table has none")),
    };
    let body = within(app, gather(request, payload, (most, "send less"), |_| Ok(()))).await?;
    // An unauthenticated caller takes a place now, and not only when the body arrives.
    let place = app.strangers.take(peer::client(request, app).map(network), 1, STRANGERS);
    let place = place.map_err(|short| {
        let whom = if short == ShareExceeded::Each { "from this address" } else { "of unauthenticated callers" };
        busy(&format!("it is working on as many requests {whom} as it takes"))
    })?;
    // It is held until the request was answered.
    request.extensions_mut().insert(place);
    Ok(body)
}

/// The limits of concurrent requests of unauthenticated callers.
const STRANGERS: ShareLimits = ShareLimits { each: 32, all: 256 };

/// Reads the body of a request of `by`, on any route, up to `server.max_body` and within the limits for the bodies
/// of a principal and of all.
async fn receive(request: &HttpRequest, payload: Payload, app: &App, by: &Principal) -> Received {
    let config = app.config();
    let most = config.server.max_body;
    let all = config.server.bounds.max_bodies;
    let mut room = app.bodies.room(by.subject.clone(), ShareLimits { each: (all / 2).max(most), all });
    let remedy = "send less at a time; an administrator can raise server.max_body";
    let grow = |octets| {
        room.grow(octets).map_err(|short| match short {
            ShareExceeded::Each => busy("the running requests of this principal hold as many bytes as they may"),
            ShareExceeded::All => busy("the running requests hold as many bytes as they may"),
        })
    };
    let body = within(app, gather(request, payload, (most, remedy), grow)).await;
    Received { body, _room: room }
}

/// Authenticates the caller and reads the body, if the route requires both. The handler reports errors of either.
pub(in crate::http) async fn buffer(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let policy = RoutePolicy::from_request(request.request())
        .filter(|policy| matches!(policy.caller, Authentication::Credential));
    if let Some(policy) = policy {
        let endpoint = if policy.form == ErrorFormat::Mcp { Endpoint::Mcp } else { Endpoint::Api };
        let known = caller::authenticate(request.request(), &app, endpoint).await;
        if let Ok(by) = known
            && request.method() == Method::POST
        {
            let payload = request.extract::<Payload>().await?;
            let received = receive(request.request(), payload, &app, &by).await;
            request.extensions_mut().insert(received);
        }
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// Awaits `body` for at most `server.body_timeout`.
async fn within(app: &App, body: impl Future<Output = Result<Bytes>>) -> Result<Bytes> {
    let patience = app.config().server.bounds.body_timeout;
    let body = timeout(patience, body).await.map_err(|_| {
        Error::new(Kind::TimedOut, format!("the body was not received within {} seconds", patience.as_secs()))
            .hint("send it faster or in smaller pieces; an administrator can raise server.body_timeout")
    })??;
    app.metrics.traffic.received.inc_by(body.len() as u64);
    Ok(body)
}

/// Reads a body; `grow` is asked before each piece is kept.
async fn gather(
    request: &HttpRequest,
    mut payload: Payload,
    (most, remedy): (usize, &'static str),
    mut grow: impl FnMut(usize) -> Result<()>,
) -> Result<Bytes> {
    let too_large = || Error::new(Kind::TooLarge, format!("the body is larger than {most} bytes")).hint(remedy);
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > most) {
        return Err(too_large());
    }
    // Memory is allocated for what arrived, not for the announced length.
    let mut body = BytesMut::with_capacity(announced.unwrap_or(0).min(RESERVED));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Error::invalid("the body was not received whole"))?;
        if body.len() + chunk.len() > most {
            return Err(too_large());
        }
        grow(chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Returns the error for a body with a content coding (RFC 9110 §8.4): none is decoded here, since a few bytes
/// could become any number.
pub(in crate::http) fn coded(request: &HttpRequest) -> Option<Error> {
    let codings = request.headers().get_all(header::CONTENT_ENCODING);
    let named = codings.filter(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let named: Vec<_> = named.map(|coding| String::from_utf8_lossy(coding.as_bytes())).collect();
    let refusal = || {
        Error::invalid(format!("Content-Encoding: a body in {:?} is not accepted", named.join(", ")))
            .hint("send the body as it is, without this header")
    };
    (!named.is_empty()).then(refusal)
}

/// Refuses a body in a content coding on the SQL API.
pub(in crate::http) async fn uncoded(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let Some(refusal) = coded(request.request()) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    CallRecorder::begin(request.request(), &app).finish(0, Some(&refusal));
    let id = recorder::request_id(request.request());
    let response = error::coding_refused(error::with_status(error::UNSUPPORTED_MEDIA_TYPE, &refusal, id));
    Ok(request.into_response(response))
}

/// Refuses a body of another media type than its route reads: pages of any site may have a browser send some
/// types without asking first. The MCP endpoint says so itself, behind its credential; the SQL API, where
/// no browser shows a credential by itself, takes a body without a type too.
pub(in crate::http) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let limit = request.app_data::<Limit>().copied().filter(|_| request.method() == Method::POST);
    let own = RoutePolicy::from_request(request.request()).is_some_and(|policy| policy.form == ErrorFormat::Mcp);
    let wanted = limit.filter(|_| !own).and_then(|limit| limit.media().zip(Some(limit)));
    let is_typed = request.headers().contains_key(header::CONTENT_TYPE);
    let refused = wanted.filter(|(media, limit)| {
        (is_typed || !matches!(limit, Limit::MaxBody)) && !request.content_type().eq_ignore_ascii_case(media)
    });
    let Some((media, _)) = refused else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let refusal = Error::invalid(format!("Content-Type: the body must be {media}"));
    CallRecorder::begin(request.request(), &app).finish(0, Some(&refusal));
    let response = error::type_refused(request.request(), &refusal, media);
    Ok(request.into_response(response))
}

/// The body as text.
pub(in crate::http) fn text(body: &Bytes) -> Result<&str> {
    std::str::from_utf8(body).map_err(|_| Error::invalid("the body is not UTF-8"))
}

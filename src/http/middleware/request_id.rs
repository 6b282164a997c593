//! A request's id, which its answer, the log and the audit trail all say, and its path for these.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest};
use portico_actors::call::RequestId;
use portico_actors::error::Quota;

use crate::http::middleware::span::Span;
use crate::http::quota;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives every request an id, and its answer the same one. A client's own id is kept, if it is a single one and
/// safe for headers and logs.
pub(in crate::http) async fn identify(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> actix_web::Result<ServiceResponse<impl MessageBody>> {
    let mut given = request.headers().get_all(REQUEST_ID);
    let given = given.next().filter(|_| given.next().is_none());
    let given = given.and_then(|id| RequestId::from_client(id.to_str().ok()?));
    let id = given.unwrap_or_else(RequestId::fresh);
    request.extensions_mut().insert(id);
    let span = Span::begin(request.request());
    let mut response = next.call(request).await?;
    span.responded(response.request(), response.status());
    let value = HeaderValue::from_str(id.as_str()).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(REQUEST_ID, value);
    let quota = response.request().extensions().get::<Quota>().copied();
    if let Some(quota) = quota {
        quota::insert_headers(response.headers_mut(), &quota);
    }
    Ok(response)
}

/// The maximal length in bytes of a path in logs.
const LONGEST_PATH: usize = 2_048;

/// The path of `request` for the log and the audit trail.
pub(in crate::http) fn path(request: &HttpRequest) -> String {
    let path = request.path();
    path.get(..path.floor_char_boundary(LONGEST_PATH)).unwrap_or(path).to_owned()
}

/// The id of `request`.
pub(in crate::http) fn request_id(request: &HttpRequest) -> RequestId {
    request.extensions().get::<RequestId>().copied().unwrap_or_else(RequestId::fresh)
}

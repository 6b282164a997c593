//! Adapts answers to a request's method and version: HEAD has no content (RFC 9110 §9.3.2), and HTTP/1.0 has no
//! chunks (RFC 9112 §6.1).

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::body::{self, BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::{ConnectionType, Method, Version, header};
use actix_web::middleware::Next;
use bytes::Bytes;
use futures_util::Stream;

use crate::http::policy::RoutePolicy;

/// Has HEAD worked on as GET, where the route does so; `fit` leaves the content out.
pub(in crate::http) async fn head_as_get(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    if request.method() == Method::HEAD
        && RoutePolicy::from_request(request.request()).is_some_and(|policy| policy.head)
    {
        request.head_mut().method = Method::GET;
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// The body of a request, also of one that nobody reads.
struct SharedPayload(Rc<RefCell<Payload>>);

impl Stream for SharedPayload {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(cx)
    }
}

/// Keeps the body of `request` until the returned value is dropped.
fn keep_payload(request: &mut ServiceRequest) -> SharedPayload {
    let payload = Rc::new(RefCell::new(request.take_payload()));
    request.set_payload(Payload::Stream { payload: Box::pin(SharedPayload(Rc::clone(&payload))) });
    SharedPayload(payload)
}

/// Answers HEAD without content, and HTTP/1.0 in one piece that ends with its connection.
pub(in crate::http) async fn fit(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let is_head = request.method() == Method::HEAD;
    let knows_no_chunks = request.version() < Version::HTTP_11;
    // Of a body in chunks that was dropped, the HTTP library would wait for the rest, and at last answer a second time.
    // Of one that was not it knows that nobody reads the rest, and closes the connection behind the answer.
    let payload = request.headers().contains_key(header::TRANSFER_ENCODING).then(|| keep_payload(&mut request));
    let mut response = next.call(request).await?.map_into_boxed_body();
    if let Some(payload) = payload {
        response.response_mut().extensions_mut().insert(payload);
    }
    let streams = matches!(response.response().body().size(), BodySize::Stream);
    if streams && knows_no_chunks {
        let head = response.response_mut().head_mut();
        head.no_chunking(true);
        // The end of the connection is the end of the content (RFC 9112 §6.3).
        head.set_connection_type(ConnectionType::Close);
    }
    if !is_head {
        return Ok(response);
    }
    let (request, response) = response.into_parts();
    let (response, content) = response.into_parts();
    // Read to its end, so that the call ends as that of a GET does.
    let mut content = pin!(content);
    while let Some(Ok(_)) = poll_fn(|cx| content.as_mut().poll_next(cx)).await {}
    // Not described either: where requests are pipelined, the server forgets which of them was for a
    // head alone, and would wait for the octets that were described.
    Ok(ServiceResponse::new(request, response.set_body(BoxBody::new(body::None::new()))))
}

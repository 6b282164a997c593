//! Selects the format of a result, by `Accept` and `Accept-Encoding` (RFC 9110 §12.5). The formats are written in
//! `encode`.

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderValue};
use actix_web::middleware::Next;
use bytes::Bytes;

use crate::encode::{Compressor, LineFormat};
use crate::http::accept;
use crate::http::state;

/// A body below this many bytes is not worth compressing.
const WORTH_COMPRESSING: u64 = 1024;

/// The media type of an Arrow IPC stream, as IANA has it.
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum ResultFormat {
    /// The SQL API's document.
    Document,
    /// One result, line by line.
    Lines(LineFormat),
    /// One result, in record batches.
    Arrow,
}

impl ResultFormat {
    /// Our forms, the best one first.
    const ALL: [(Self, &'static str); 4] = [
        (Self::Document, "application/json"),
        (Self::Lines(LineFormat::Csv), "text/csv"),
        (Self::Lines(LineFormat::Ndjson), "application/x-ndjson"),
        (Self::Arrow, ARROW),
    ];

    /// Whether it has room for one result alone.
    pub(in crate::http) const fn has_one_result(self) -> bool {
        matches!(self, Self::Lines(_) | Self::Arrow)
    }

    /// The `Content-Type`.
    pub(in crate::http) const fn content_type(self) -> &'static str {
        match self {
            Self::Document => "application/json",
            Self::Lines(LineFormat::Csv) => "text/csv; charset=utf-8; header=present",
            Self::Lines(LineFormat::Ndjson) => "application/x-ndjson",
            Self::Arrow => ARROW,
        }
    }
}

/// Returns the format that the client prefers; `None` if it accepts none of ours.
pub(in crate::http) fn choose(request: &HttpRequest) -> Option<ResultFormat> {
    let offered = ResultFormat::ALL.map(|(_, media)| media);
    accept::preferred(request, &offered).and_then(|order| ResultFormat::ALL.get(order)).map(|(form, _)| *form)
}

/// Compresses answers for clients that ask for it, chunk by chunk, where that is switched on.
pub(in crate::http) async fn compress(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let is_on = app.config().server.compression;
    let encoding = if is_on { encoding(&request) } else { ContentEncoding::Identity };
    let mut response = next.call(request).await?.map_into_boxed_body();
    let varies = if is_on { "accept, accept-encoding" } else { "accept" };
    response.headers_mut().append(header::VARY, HeaderValue::from_static(varies));
    let worth = match response.response().body().size() {
        BodySize::None => false,
        BodySize::Sized(size) => size >= WORTH_COMPRESSING,
        BodySize::Stream => true,
    };
    let packing = match encoding {
        _ if !worth => None,
        ContentEncoding::Gzip => Some(Compressor::gzip()),
        // Without memory for it the answer is sent uncompressed.
        ContentEncoding::Zstd => Compressor::zstd().ok(),
        _ => None,
    };
    if packing.is_none() {
        return Ok(response);
    }
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.as_str()));
    Ok(response.map_body(|_, body| BoxBody::new(Compressed { body, packing })))
}

/// Returns the encoding that the client prefers; among equals the first.
fn encoding(request: &ServiceRequest) -> ContentEncoding {
    let ours = [Encoding::zstd(), Encoding::gzip(), Encoding::identity()];
    if !request.headers().contains_key(header::ACCEPT_ENCODING) {
        return ContentEncoding::Identity;
    }
    match AcceptEncoding::parse(request.request()).ok().and_then(|accepted| accepted.negotiate(ours.iter())) {
        Some(Encoding::Known(encoding)) => encoding,
        _ => ContentEncoding::Identity,
    }
}

struct Compressed {
    body: BoxBody,
    /// Gone after the end.
    packing: Option<Compressor>,
}

impl MessageBody for Compressed {
    type Error = Box<dyn StdError>;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let Self { body, packing } = &mut *self;
        let Some(open) = packing else { return Poll::Ready(None) };
        let packed = match body.as_pin_mut().poll_next(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(chunk))) => open.chunk(&chunk).map(Some).map_err(Into::into),
            Poll::Ready(Some(Err(error))) => Err(error),
            Poll::Ready(None) => packing.take().map(Compressor::finish).transpose().map_err(Into::into),
        };
        if packed.is_err() {
            *packing = None;
        }
        Poll::Ready(packed.transpose())
    }
}

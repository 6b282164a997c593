//! Reads a request's body up to its limit.

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt;
use portico_actors::error::{Error, Kind, Result};

/// The whole body, `most` bytes at most.
pub(super) async fn read(request: &HttpRequest, mut payload: Payload, most: usize) -> Result<Bytes> {
    let too_large = || {
        Error::new(Kind::TooLarge, format!("the body is larger than {most} bytes"))
            .hint("send less at a time; an administrator can raise server.max_body")
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > most) {
        return Err(too_large());
    }
    let mut body = BytesMut::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Error::invalid("the body was not received whole"))?;
        if body.len() + chunk.len() > most {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// The body as text.
pub(super) fn text(body: &Bytes) -> Result<&str> {
    std::str::from_utf8(body).map_err(|_| Error::invalid("the body is not UTF-8"))
}

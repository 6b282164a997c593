//! Server-sent events that may stay open for days: heartbeats, and headers that keep proxies from
//! holding them back. What the events are is not known here.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::rt::time::{Interval, interval};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use super::socket::Socket;
use crate::mcp::ServerEvent;

/// The media type of event streams.
pub(super) const MEDIA_TYPE: &str = "text/event-stream";
/// How often a comment is sent, which keeps proxies from closing an idle stream, and the socket
/// is looked at: a write alone notices a client that left in good order only the second time.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A response that sends `events` as they come. Nothing is read ahead: the stream is asked for an
/// event when the one before is on its way, so a slow reader costs one event and no more.
pub(super) fn open(request: &HttpRequest, events: impl Stream<Item = ServerEvent> + 'static) -> HttpResponse {
    let beating = Beating { events: Box::pin(events), socket: Socket::of(request), beats: interval(HEARTBEAT) };
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        // nginx gathers what it passes on unless it is told not to.
        .insert_header((HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")))
        .streaming(beating)
}

/// Events, and heartbeats between them; it ends when the client is found to have left.
struct Beating<S> {
    events: Pin<Box<S>>,
    socket: Option<Socket>,
    beats: Interval,
}

impl<S: Stream<Item = ServerEvent>> Stream for Beating<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(next) = self.events.poll_next_unpin(cx) {
            return Poll::Ready(next.map(|event| Ok(frame(&event))));
        }
        self.beats.poll_tick(cx).map(|_| {
            let left = self.socket.as_ref().is_some_and(Socket::closed);
            (!left).then(|| Ok(Bytes::from_static(b": keep-alive\n\n")))
        })
    }
}

/// An event as it travels (WHATWG HTML §9.2.5): each line of its data in a field of its own.
fn frame(event: &ServerEvent) -> Bytes {
    let mut out = Vec::with_capacity(event.message.len() + 64);
    if let Some(retry) = event.retry {
        out.extend_from_slice(format!("retry: {}\n\n", retry.as_millis()).as_bytes());
        return out.into();
    }
    if let Some(id) = &event.id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // A line break between the members of JSON may go: in its texts there is none.
    for line in event.message.split(|byte| matches!(byte, b'\r' | b'\n')).filter(|line| !line.is_empty()) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    if event.message.is_empty() {
        out.extend_from_slice(b"data: \n");
    }
    out.push(b'\n');
    out.into()
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_web::test::TestRequest;
    use futures_util::stream;

    use super::*;

    #[actix_web::test]
    async fn events_are_framed_whatever_they_hold() {
        let events = [
            ServerEvent { id: Some("7-0".to_owned()), ..ServerEvent::default() },
            ServerEvent::message("{\"a\":\r\n1}"),
            ServerEvent { retry: Some(Duration::from_millis(500)), ..ServerEvent::default() },
        ];
        let request = TestRequest::default().to_http_request();
        let response = open(&request, stream::iter(events));
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), MEDIA_TYPE);
        assert_eq!((header("cache-control"), header("x-accel-buffering")), ("no-store".to_owned(), "no".to_owned()));
        let body = to_bytes(response.into_body()).await.unwrap();
        assert_eq!(body, "id: 7-0\ndata: \n\ndata: {\"a\":\ndata: 1}\n\nretry: 500\n\n");
    }
}

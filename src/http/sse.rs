//! Server-sent events that may stay open for days: heartbeats, and headers that keep proxies from
//! holding them back. What the events are is not known here.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::rt::time::{Interval, interval};
use actix_web::{HttpRequest, HttpResponse, Responder, web};
use actix_web_lab::sse::{Data, Event, Sse};
use futures_util::{Stream, StreamExt};

use super::socket::Socket;
use crate::app::App;
use crate::mcp::ServerEvent;
use crate::observe::Traffic;

/// The media type of event streams.
pub(super) const MEDIA_TYPE: &str = "text/event-stream";
/// How often a comment is sent, which keeps proxies from closing an idle stream, and the socket
/// is looked at: a write alone notices a client that left in good order only the second time.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A response that sends `events` as they come. Nothing is read ahead: the stream is asked for an
/// event when the one before is on its way, so a slow reader costs one event and no more.
pub(super) fn open(request: &HttpRequest, events: impl Stream<Item = ServerEvent> + 'static) -> HttpResponse {
    let open = Open::of(request);
    let beating =
        Beating { events: Box::pin(events), socket: Socket::of(request), beats: interval(HEARTBEAT), _open: open };
    let sse = Sse::from_infallible_stream(beating);
    let mut response = sse.respond_to(request);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx gathers what it passes on unless it is told not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Events, and heartbeats between them; it ends when the client is found to have left.
struct Beating<S> {
    events: Pin<Box<S>>,
    socket: Option<Socket>,
    beats: Interval,
    _open: Option<Open>,
}

/// Counts a stream among the open ones until it is dropped.
struct Open(Traffic);

impl Open {
    fn of(request: &HttpRequest) -> Option<Self> {
        let traffic = request.app_data::<web::Data<App>>()?.metrics.traffic.clone();
        traffic.streams.inc();
        Some(Self(traffic))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.streams.dec();
    }
}

impl<S: Stream<Item = ServerEvent>> Stream for Beating<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Poll::Ready(next) = self.events.poll_next_unpin(cx) {
            return Poll::Ready(next.map(event));
        }
        self.beats.poll_tick(cx).map(|_| {
            let left = self.socket.as_ref().is_some_and(Socket::closed);
            (!left).then(|| Event::Comment("keep-alive".into()))
        })
    }
}

fn event(event: ServerEvent) -> Event {
    // Messages are JSON, which is always text.
    let data = Data::new(String::from_utf8_lossy(&event.message).into_owned());
    Event::Data(match event.id {
        Some(id) => data.id(id),
        None => data,
    })
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_web::test::TestRequest;
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;

    #[actix_web::test]
    async fn events_are_framed_whatever_they_hold() {
        let events = [
            ServerEvent { id: Some("7-0".to_owned()), message: Bytes::new() },
            ServerEvent { id: None, message: Bytes::from("{\"a\":\r\n1}") },
        ];
        let request = TestRequest::default().to_http_request();
        let response = open(&request, stream::iter(events));
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), MEDIA_TYPE);
        assert_eq!((header("cache-control"), header("x-accel-buffering")), ("no-store".to_owned(), "no".to_owned()));
        let body = to_bytes(response.into_body()).await.unwrap();
        assert_eq!(body, "id: 7-0\ndata: \n\ndata: {\"a\":\ndata: 1}\n\n");
    }
}

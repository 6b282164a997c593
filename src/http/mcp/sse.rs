//! Server-sent events that may stay open for days: heartbeats, and headers that keep proxies from buffering them.
//! The content of the events is not known here.

use std::pin::Pin;
use std::str::Utf8Error;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::rt::time::{Interval, interval};
use actix_web::{HttpRequest, HttpResponse, Responder, web};
use actix_web_lab::sse::{Data, Event, Sse};
use bytestring::ByteString;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};

use crate::app::App;
use crate::http::connections::socket::Socket;
use crate::http::mcp::open_streams::StreamGuard;
use crate::mcp::ServerEvent;
use crate::observe::Traffic;

/// The media type of event streams.
pub(in crate::http) const MEDIA_TYPE: &str = "text/event-stream";
/// How often a comment is sent, which keeps proxies from closing an idle stream, and the socket
/// is looked at: a write alone notices a client that left in good order only the second time.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After how long a client should take up a stream again that was closed before its end.
const RETRY: Duration = Duration::from_millis(500);
const COMMENT: Event = Event::Comment(ByteString::from_static("keep-alive"));

/// How a client continues a stream that broke off.
pub(in crate::http) enum Resumption {
    None,
    ByLastEventId,
}

/// Makes a response that sends `events` as they come. Nothing is read ahead: the next event is requested when the
/// previous one was sent, so that a slow reader costs one event. Each heartbeat checks the `guard`: what ends the events
/// when it is lost is up to the caller.
pub(in crate::http) fn open(
    request: &HttpRequest,
    events: impl Stream<Item = ServerEvent> + 'static,
    guard: Option<StreamGuard>,
    resumption: Resumption,
) -> HttpResponse {
    let stream = Sse::from_stream(HeartbeatStream::new(request, events, guard));
    let stream = match resumption {
        Resumption::None => stream,
        Resumption::ByLastEventId => stream.with_retry_duration(RETRY),
    };
    let mut response = stream.respond_to(request).map_into_boxed_body();
    let headers = response.headers_mut();
    // An unencoded body needs no such header (RFC 9110 §8.4).
    headers.remove(header::CONTENT_ENCODING);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx buffers responses unless it is told not to.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// An event as the responder takes it.
fn event(event: ServerEvent) -> Result<Event, Utf8Error> {
    let mut data = Data::new(ByteString::try_from(event.message)?);
    if let Some(id) = event.id {
        data.set_id(id);
    }
    Ok(data.into())
}

/// Events, and heartbeats between them; it ends when the client is found to have left.
struct HeartbeatStream<S> {
    events: Pin<Box<S>>,
    socket: Option<Socket>,
    beats: Interval,
    standing: Option<GuardWatch>,
    _open: Option<OpenStreamCount>,
}

impl<S: Stream<Item = ServerEvent>> HeartbeatStream<S> {
    fn new(request: &HttpRequest, events: S, guard: Option<StreamGuard>) -> Self {
        let standing = guard.map(GuardWatch::new);
        let (socket, beats, open) = (Socket::new(request), interval(HEARTBEAT), OpenStreamCount::new(request));
        Self { events: Box::pin(events), socket, beats, standing, _open: open }
    }
}

/// Checks with each heartbeat whether an endless stream still has its guard.
struct GuardWatch {
    guard: StreamGuard,
    lost: Option<LocalBoxFuture<'static, ()>>,
    checking: Option<LocalBoxFuture<'static, ()>>,
}

impl GuardWatch {
    fn new(guard: StreamGuard) -> Self {
        Self { lost: Some(guard.lost()), guard, checking: None }
    }

    /// Polls for reasons to end the stream.
    fn poll(&mut self, cx: &mut Context<'_>) {
        for finding in [&mut self.lost, &mut self.checking] {
            if finding.as_mut().is_some_and(|finding| finding.poll_unpin(cx).is_ready()) {
                *finding = None;
            }
        }
    }
}

/// Counts a stream among the open ones until it is dropped.
struct OpenStreamCount(Traffic);

impl OpenStreamCount {
    fn new(request: &HttpRequest) -> Option<Self> {
        let traffic = request.app_data::<web::Data<App>>()?.metrics.traffic.clone();
        traffic.streams.inc();
        Some(Self(traffic))
    }
}

impl Drop for OpenStreamCount {
    fn drop(&mut self) {
        self.0.streams.dec();
    }
}

impl<S: Stream<Item = ServerEvent>> Stream for HeartbeatStream<S> {
    type Item = Result<Event, Utf8Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(standing) = &mut self.standing {
            standing.poll(cx);
        }
        if let Poll::Ready(next) = self.events.poll_next_unpin(cx) {
            return Poll::Ready(next.map(event));
        }
        ready!(self.beats.poll_tick(cx));
        if self.socket.as_ref().is_some_and(Socket::closed) {
            return Poll::Ready(None);
        }
        if let Some(standing) = &mut self.standing {
            standing.checking = Some(standing.guard.check());
        }
        Poll::Ready(Some(Ok(COMMENT)))
    }
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
        ];
        let request = TestRequest::default().to_http_request();
        let response = open(&request, stream::iter(events), None, Resumption::ByLastEventId);
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), MEDIA_TYPE);
        assert_eq!((header("cache-control"), header("x-accel-buffering")), ("no-store".to_owned(), "no".to_owned()));
        let body = to_bytes(response.into_body()).await.unwrap();
        assert_eq!(body, "retry: 500\n\nid: 7-0\ndata: \n\ndata: {\"a\":\ndata: 1}\n\n");
    }
}

//! Notices that a client has left while its request is still being processed: actix-web does not as long as nothing
//! is written.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::rt::{self, time::sleep};
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use portico_actors::error::{Error, Kind, Result};
use tokio::sync::Notify;

use super::connection::HttpConnection;

/// How often a waiting request's socket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Marks a request that continues after its client has left.
pub(in crate::http) struct Unattended;

/// Shows whether the client of a request is connected.
pub(in crate::http) struct Socket {
    connection: HttpConnection,
    /// In HTTP/2 one request can be given up while its connection stays.
    stream: Option<RequestHalf>,
}

impl Socket {
    /// The socket that `request` came by.
    pub(in crate::http) fn new(request: &HttpRequest) -> Option<Self> {
        if request.extensions().contains::<Unattended>() {
            return None;
        }
        let connection = request.conn_data::<HttpConnection>()?.clone();
        Some(Self { connection, stream: request.extensions().get::<RequestHalf>().cloned() })
    }

    /// Whether the client has closed its end.
    pub(in crate::http) fn closed(&self) -> bool {
        self.connection.closed() || self.stream.as_ref().is_some_and(RequestHalf::reset)
    }
}

/// The client's half of an HTTP/2 stream. After its end it still reports a reset of the stream (RFC 9113 §8.7),
/// which the server does not check before it writes.
#[derive(Clone)]
struct RequestHalf(Rc<RefCell<(Payload, bool)>>);

/// Keeps the client's half of the HTTP/2 stream that `request` came by.
pub(in crate::http) fn keep_half(request: &mut ServiceRequest) {
    let half = RequestHalf(Rc::new(RefCell::new((request.take_payload(), false))));
    let reader = Reader(half.clone());
    request.extensions_mut().insert(half);
    request.set_payload(Payload::Stream { payload: Box::pin(reader) });
}

impl RequestHalf {
    fn reset(&self) -> bool {
        // While the handler reads, the handler gets the error.
        let Ok(mut half) = self.0.try_borrow_mut() else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        half.1 && matches!(half.0.poll_next_unpin(&mut cx), Poll::Ready(Some(Err(_))))
    }
}

/// Reads the body for the handler.
struct Reader(RequestHalf);

impl Stream for Reader {
    type Item = std::result::Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (payload, over) = &mut *self.0.0.borrow_mut();
        let next = payload.poll_next_unpin(cx);
        *over = *over || matches!(next, Poll::Ready(None));
        next
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Ok(mut half) = self.0.0.try_borrow_mut() {
            half.1 = true;
        }
    }
}

thread_local! {
    static POLLER: Rc<DisconnectPoller> = Rc::default();
}

/// When the sockets of one thread's requests are looked at: all at once. A timer for each request would have the thread
/// wake itself for each.
#[derive(Default)]
struct DisconnectPoller {
    due: Notify,
    waiting: Cell<usize>,
    is_timed: Cell<bool>,
}

impl DisconnectPoller {
    /// Waits for the next look, at most for [`LOOK_EVERY`].
    async fn next(self: &Rc<Self>) {
        struct Waiting<'a>(&'a DisconnectPoller);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.waiting.set(self.0.waiting.get() - 1);
            }
        }
        self.waiting.set(self.waiting.get() + 1);
        let _waiting = Waiting(self);
        if !self.is_timed.replace(true) {
            rt::spawn(Rc::clone(self).poll());
        }
        self.due.notified().await;
    }

    /// Notifies all waiters of each check, until no one waits for a whole interval.
    async fn poll(self: Rc<Self>) {
        let mut waited = true;
        while waited {
            sleep(LOOK_EVERY).await;
            waited = self.waiting.get() > 0;
            self.due.notify_waiters();
        }
        self.is_timed.set(false);
    }
}

/// Completes when the client of `request` has left.
pub(in crate::http) fn left(request: &HttpRequest) -> impl Future<Output = ()> + use<> {
    let socket = Socket::new(request);
    async move {
        let Some(socket) = socket else { return std::future::pending().await };
        let poller = POLLER.with(Rc::clone);
        // It was there a moment ago, when its request came.
        loop {
            poller.next().await;
            if socket.closed() {
                return;
            }
        }
    }
}

/// Runs `work` while the client of `request` is there. Dropping the work cancels it. It is pinned where it was made: a
/// future that is handed on is held twice.
pub(in crate::http) async fn while_present<T>(
    request: &HttpRequest,
    work: Pin<&mut impl Future<Output = T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = left(request) => Err(Error::new(Kind::Abandoned, "the client has left")),
    }
}

/// A body that ends with an error, and so is dropped, if the client has left while nothing is sent.
pub(in crate::http) struct Watched<S> {
    body: S,
    left: LocalBoxFuture<'static, ()>,
}

impl<S> Watched<S> {
    pub(in crate::http) fn new(request: &HttpRequest, body: S) -> Self {
        Self { body, left: left(request).fuse().boxed_local() }
    }
}

impl<S, E> Stream for Watched<S>
where
    S: Stream<Item = std::result::Result<Bytes, E>> + Unpin,
{
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(next) = self.body.poll_next_unpin(cx) {
            return Poll::Ready(next.map(|bytes| bytes.map_err(|_| io::Error::other("the body failed"))));
        }
        self.left.poll_unpin(cx).map(|()| Some(Err(io::ErrorKind::BrokenPipe.into())))
    }
}

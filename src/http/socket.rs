//! Notices that a client has left while its request is still being worked on: actix-web does not
//! as long as nothing is written.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::Version;
use actix_web::middleware::Next;
use actix_web::rt::net::{TcpStream, UnixStream};
use actix_web::rt::time::{Instant, Interval, interval_at};
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_tcp_user_timeout;
use rustix::net::{Shutdown, shutdown};

use crate::app::App;
use crate::shares::{Most, Share, Shares, Short};

/// How often a waiting request's socket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A handle on a client's socket, kept as long as its connection, unless it is let go of before.
#[derive(Clone)]
pub(super) struct Connection {
    handle: Arc<Mutex<Option<OwnedFd>>>,
    /// Whether the kernel ends it when what was written is not taken.
    pub(super) is_tcp: bool,
    /// The streams of HTTP/2 that are open on it.
    pub(super) streams: Arc<AtomicUsize>,
    /// Its place among those of its address.
    _place: Option<Arc<Share<IpAddr>>>,
}

/// What a new connection has to keep to.
#[derive(Clone)]
pub(super) struct Terms {
    app: Arc<App>,
    addresses: Shares<IpAddr>,
}

impl Terms {
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app, addresses: Shares::default() }
    }

    /// A place for a connection from `address`, where they are counted; `Err` where it has too many.
    fn place(&self, address: Option<IpAddr>) -> Result<Option<Share<IpAddr>>, Short> {
        let config = self.app.config();
        let counted = address.filter(|address| !config.server.trusted_proxies.trust(*address));
        let most = Most { each: config.server.bounds.max_connections_per_address, all: usize::MAX };
        counted.map(|address| self.addresses.take(address.to_canonical(), 1, most)).transpose()
    }
}

/// Keeps a handle on each new connection's socket: TCP, TLS over it, or Unix. The kernel ends a
/// connection on which what was written is not taken for `write_timeout`: nothing is asked of a body while
/// its bytes are in the way, so nobody here would notice. One too many of its address is closed.
pub(super) fn attach(stream: &dyn Any, data: &mut Extensions, terms: &Terms) {
    let tcp = stream.downcast_ref::<TcpStream>();
    let tcp = tcp.or_else(|| stream.downcast_ref::<TlsStream<TcpStream>>().map(|stream| stream.get_ref().0));
    let (socket, is_tcp) = match (tcp, stream.downcast_ref::<UnixStream>()) {
        (Some(stream), _) => (stream.as_fd(), true),
        (None, Some(stream)) => (stream.as_fd(), false),
        (None, None) => return,
    };
    let Ok(place) = terms.place(tcp.and_then(|stream| stream.peer_addr().ok()).map(|address| address.ip())) else {
        terms.app.metrics.traffic.refused.inc();
        // One that has ended already needs no end.
        let _ = shutdown(socket, Shutdown::Both);
        return;
    };
    if is_tcp {
        let patience = terms.app.config().server.bounds.write_timeout;
        // A platform without it keeps slow readers.
        let _ = set_tcp_user_timeout(socket, u32::try_from(patience.as_millis()).unwrap_or(u32::MAX));
    }
    if let Ok(handle) = socket.try_clone_to_owned() {
        let handle = Arc::new(Mutex::new(Some(handle)));
        data.insert(Connection { handle, is_tcp, streams: Arc::default(), _place: place.map(Arc::new) });
    }
}

/// Of a request that goes on when its client has left.
pub(super) struct Unattended;

/// What shows whether the client of one request is there.
pub(super) struct Socket {
    connection: Connection,
    /// In HTTP/2 one request can be given up while its connection stays.
    stream: Option<Half>,
}

impl Socket {
    /// The socket that `request` came by.
    pub(super) fn of(request: &HttpRequest) -> Option<Self> {
        if request.extensions().contains::<Unattended>() {
            return None;
        }
        let connection = request.conn_data::<Connection>()?.clone();
        Some(Self { connection, stream: request.extensions().get::<Half>().cloned() })
    }

    /// Lets go of the handle, which is a descriptor of its own: what stays open for days does
    /// without, where the kernel ends a connection that nobody reads. The connection must not be used
    /// for another request; one of HTTP/2 is, and keeps its one handle for all of them.
    pub(super) fn release(&self) {
        if self.stream.is_none() && self.connection.is_tcp {
            drop(self.connection.lock().take());
        }
    }

    /// Whether the client has closed its end, as far as there is a handle to tell.
    pub(super) fn closed(&self) -> bool {
        self.connection.closed() || self.stream.as_ref().is_some_and(Half::reset)
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it, with everything that is on its way.
    pub(super) fn end(&self) {
        if let Some(handle) = &*self.lock() {
            // One that has ended already needs no end.
            let _ = shutdown(handle, Shutdown::Both);
        }
    }

    fn closed(&self) -> bool {
        let handle = self.lock();
        let Some(handle) = &*handle else { return false };
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut watched = [PollFd::new(handle, gone)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(1..)) && watched[0].revents().intersects(gone)
    }
}

/// The client's half of one HTTP/2 stream. Read to its end it still tells when the stream is reset
/// (RFC 9113 §8.7), which the server does not look for before it writes.
#[derive(Clone)]
struct Half(Rc<RefCell<(Payload, bool)>>);

/// Keeps the client's half of each HTTP/2 stream.
pub(super) async fn attend<B: MessageBody>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> actix_web::Result<ServiceResponse<B>> {
    if request.version() == Version::HTTP_2 {
        let half = Half(Rc::new(RefCell::new((request.take_payload(), false))));
        let reader = Reader(half.clone());
        request.extensions_mut().insert(half);
        request.set_payload(Payload::Stream { payload: Box::pin(reader) });
    }
    next.call(request).await
}

impl Half {
    fn reset(&self) -> bool {
        // While the handler reads, it is the one to be told.
        let Ok(mut half) = self.0.try_borrow_mut() else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        half.1 && matches!(half.0.poll_next_unpin(&mut cx), Poll::Ready(Some(Err(_))))
    }
}

/// Reads the body for the handler.
struct Reader(Half);

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

fn ticks() -> Interval {
    // Most requests are over before the first look.
    interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY)
}

/// Completes when the client of `request` has left.
pub(super) fn left(request: &HttpRequest) -> impl Future<Output = ()> + use<> {
    let socket = Socket::of(request);
    async move {
        let Some(socket) = socket else { return std::future::pending().await };
        let mut ticks = ticks();
        while !socket.closed() {
            ticks.tick().await;
        }
    }
}

/// Runs `work` while the client of `request` is there. Dropping the work cancels it.
pub(super) async fn while_present<T>(request: &HttpRequest, work: impl Future<Output = T>) -> Result<T> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = left(request) => Err(Error::new(Kind::Abandoned, "the client has left")),
    }
}

/// A body that ends with an error, and so is dropped, when the client has left while nothing flows.
pub(super) struct Watched<S> {
    body: S,
    socket: Option<Socket>,
    ticks: Interval,
}

impl<S> Watched<S> {
    pub(super) fn new(request: &HttpRequest, body: S) -> Self {
        Self { body, socket: Socket::of(request), ticks: ticks() }
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
        while self.ticks.poll_tick(cx).is_ready() {
            if self.socket.as_ref().is_some_and(Socket::closed) {
                return Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into())));
            }
        }
        Poll::Pending
    }
}

//! Notices that a client has left while its request is still being worked on: actix-web does not
//! as long as nothing is written.

use std::any::Any;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use actix_web::rt::time::{Instant, Interval, interval_at};
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Kind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_tcp_user_timeout;

/// How often a waiting request's socket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A handle on a client's socket, kept as long as its connection, unless it is let go of before.
#[derive(Clone)]
pub(super) struct Socket(Arc<Mutex<Option<OwnedFd>>>);

/// Keeps a handle on each new connection's socket. The kernel ends a connection on which what was
/// written is not taken for `patience`: nothing is asked of a body while its bytes are in the way,
/// so nobody here would notice.
pub(super) fn attach(stream: &dyn Any, data: &mut Extensions, patience: Duration) {
    if let Some(stream) = stream.downcast_ref::<TcpStream>()
        && let Ok(handle) = stream.as_fd().try_clone_to_owned()
    {
        // A platform without it keeps slow readers.
        let _ = set_tcp_user_timeout(&handle, u32::try_from(patience.as_millis()).unwrap_or(u32::MAX));
        data.insert(Socket(Arc::new(Mutex::new(Some(handle)))));
    }
}

/// Of a request that goes on when its client has left.
pub(super) struct Unattended;

impl Socket {
    /// The socket that `request` came by.
    pub(super) fn of(request: &HttpRequest) -> Option<Self> {
        if request.extensions().contains::<Unattended>() {
            return None;
        }
        request.conn_data::<Self>().cloned()
    }

    /// Lets go of the handle, which is a descriptor of its own: what stays open for days does
    /// without. The connection must not be used for another request.
    pub(super) fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Whether the client has closed its end, as far as there is a handle to tell.
    pub(super) fn closed(&self) -> bool {
        let handle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = &*handle else { return false };
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut watched = [PollFd::new(handle, gone)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(1..)) && watched[0].revents().intersects(gone)
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

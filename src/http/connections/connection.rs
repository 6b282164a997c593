//! A client's connection as used by the HTTP library and by its requests. A stalled connection is ended here,
//! whatever the transport: a head that starts and is not completed, bytes that are not read.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::mem;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use actix_web::rt::time::{Instant, Sleep, sleep_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::input::Input;
use crate::config::Bounds;
use crate::http::error;
use crate::net::transport::{Transport, is_http2, wire};
use portico_actors::shares::Share;

/// How long a connection without a request is kept.
pub(in crate::http) const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// The server's side of a connection: where it is dropped, the connection is over.
pub(in crate::http) struct Stream(Rc<Shared>);

/// A connection as its requests see it.
#[derive(Clone)]
pub(in crate::http) struct HttpConnection(Rc<Shared>);

struct Shared {
    /// `None` when the connection has ended.
    transport: RefCell<Option<Transport>>,
    watch: RefCell<ConnectionTimers>,
    /// Requests that are not answered yet.
    requests: Cell<usize>,
    on_loopback: bool,
    /// Its place among the connections of its address.
    _place: Option<Share<IpAddr>>,
}

/// Until when something has to come of a connection.
struct ConnectionTimers {
    header_timeout: Duration,
    keep_alive: Duration,
    write_timeout: Duration,
    /// In HTTP/1, where one head comes at a time.
    input: Option<Input>,
    /// In HTTP/2, whose library only pings idle clients: since when there is no request.
    idle: Option<Instant>,
    /// Whether octets were read that the server has not looked at yet.
    unseen: bool,
    /// Whether a request is late, and the server was not notified yet.
    late: bool,
    /// Set when there is something to wait for, and not reset: most of the time it fires for nothing, and complete
    /// requests cost only a check of it.
    timer: Option<Pin<Box<Sleep>>>,
}

/// What did not come in time.
#[derive(Clone, Copy)]
enum Late {
    Request,
    Reader,
}

impl ConnectionTimers {
    fn due(&self, transport: &Transport) -> Option<(Instant, Late)> {
        let reader = wire(transport).stalled().map(|since| (since + self.write_timeout, Late::Reader));
        let head = self.input.as_ref().and_then(Input::begun).map(|since| since + self.header_timeout);
        let request = head.or(self.idle.map(|since| since + self.keep_alive)).filter(|_| !self.late);
        let request = request.map(|due| (due, Late::Request));
        [reader, request].into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    /// Completes if something is late; starts a timer if there is none.
    fn poll_late(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<Late> {
        let Some((due, late)) = self.due(transport) else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        loop {
            if timer.deadline() > due {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() == due {
                return Poll::Ready(late);
            }
            timer.as_mut().reset(due);
        }
    }

    /// Checks the timers after each step.
    ///
    /// # Errors
    /// Nothing of the pending output was read in time.
    fn look(&mut self, transport: &Transport, cx: &mut Context<'_>) -> io::Result<()> {
        match self.poll_late(transport, cx) {
            Poll::Ready(Late::Reader) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Ready(Late::Request) => {
                self.late = true;
                // The reading side reports it.
                cx.waker().wake_by_ref();
                Ok(())
            }
            Poll::Pending => Ok(()),
        }
    }
}

impl Stream {
    pub(in crate::http) fn new(
        transport: Transport,
        bounds: &Bounds,
        on_loopback: bool,
        place: Option<Share<IpAddr>>,
    ) -> Self {
        let watch = ConnectionTimers {
            header_timeout: bounds.header_timeout,
            write_timeout: bounds.write_timeout,
            keep_alive: KEEP_ALIVE,
            input: (!is_http2(&transport)).then(Input::default),
            idle: is_http2(&transport).then(Instant::now),
            unseen: false,
            late: false,
            timer: None,
        };
        Self(Rc::new(Shared {
            transport: RefCell::new(Some(transport)),
            watch: RefCell::new(watch),
            requests: Cell::new(0),
            on_loopback,
            _place: place,
        }))
    }

    pub(in crate::http) fn connection(&self) -> HttpConnection {
        HttpConnection(Rc::clone(&self.0))
    }

    /// Writes, and ends the connection if nothing is read for too long.
    fn poll_written<T>(
        &self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut Transport>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut transport = self.0.transport.borrow_mut();
        let Some(transport) = &mut *transport else { return Poll::Ready(Err(over())) };
        let written = write(Pin::new(&mut *transport), cx);
        self.0.watch.borrow_mut().look(transport, cx)?;
        written
    }
}

fn over() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut transport = self.0.transport.borrow_mut();
        let Some(transport) = &mut *transport else { return Poll::Ready(Err(over())) };
        let before = buf.filled().len();
        let read = Pin::new(&mut *transport).poll_read(cx, buf);
        let mut watch = self.0.watch.borrow_mut();
        if read.is_ready() {
            watch.unseen = true;
            if let Some(input) = &mut watch.input {
                input.read(&buf.filled()[before..]);
            }
            return read;
        }
        let unseen = mem::take(&mut watch.unseen);
        watch.look(transport, cx)?;
        if !watch.late {
            return Poll::Pending;
        }
        if unseen {
            // The last bytes may have completed a request: that is known once the server has parsed them.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let head = watch.input.take();
        (watch.late, watch.idle) = (false, None);
        // Output in progress must not be interrupted. A client that does not read these few bytes reads none.
        if head.is_some()
            && wire(transport).stalled().is_none()
            && Pin::new(&mut *transport).poll_write(cx, error::head_timed_out().as_bytes()).is_ready()
        {
            let _ = Pin::new(transport).poll_flush(cx);
        }
        // The end of the client's input, upon which the server closes the connection.
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_written(cx, |transport, cx| transport.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(cx, |transport, cx| transport.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.0.transport.borrow().as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx, AsyncWrite::poll_shutdown)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Requests may have the rest of it for a while; its descriptor is free now.
        drop(self.0.transport.take());
    }
}

impl HttpConnection {
    /// Counts a request as active until the returned guard is dropped.
    pub(in crate::http) fn begin(&self, request: &HttpRequest) -> ActiveRequest {
        self.0.requests.set(self.0.requests.get() + 1);
        let watch = &mut *self.0.watch.borrow_mut();
        (watch.late, watch.idle) = (false, None);
        if let Some(input) = &mut watch.input {
            let headers = request.headers();
            let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            let body = if headers.contains_key(TRANSFER_ENCODING) { None } else { Some(length.unwrap_or(0)) };
            input.begin(body);
        }
        ActiveRequest(self.clone())
    }

    /// How many requests are worked on.
    pub(in crate::http) fn requests(&self) -> usize {
        self.0.requests.get()
    }

    /// Whether it was listened on at a loopback address.
    pub(in crate::http) fn on_loopback(&self) -> bool {
        self.0.on_loopback
    }

    /// Ends it, with everything in transit.
    pub(in crate::http) fn end(&self) {
        if let Some(transport) = &*self.0.transport.borrow() {
            // One that has ended already needs no end.
            let _ = shutdown(wire(transport), Shutdown::Both);
        }
    }

    /// Whether it is over, or the client has closed its end.
    pub(in crate::http) fn closed(&self) -> bool {
        let transport = self.0.transport.borrow();
        let Some(transport) = &*transport else { return true };
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut watched = [PollFd::new(wire(transport), gone)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(1..)) && watched[0].revents().intersects(gone)
    }
}

/// A request that is worked on.
pub(in crate::http) struct ActiveRequest(HttpConnection);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let shared = &self.0.0;
        shared.requests.set(shared.requests.get() - 1);
        let watch = &mut *shared.watch.borrow_mut();
        match &mut watch.input {
            Some(input) => input.end(),
            None if shared.requests.get() == 0 => watch.idle = Some(Instant::now()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::rt::net::UnixStream;
    use actix_web::rt::time::timeout;
    use actix_web::test::TestRequest;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    fn pair() -> (Stream, UnixStream) {
        let (ours, client) = UnixStream::pair().unwrap();
        let bounds = Bounds { header_timeout: LONG, write_timeout: SHORT, ..Bounds::default() };
        (Stream::new(Transport::Right(ours.into()), &bounds, false, None), client)
    }

    #[actix_web::test]
    async fn a_connection_of_http2_without_a_request_ends() {
        let (mut stream, _client) = pair();
        {
            let mut watch = stream.0.watch.borrow_mut();
            (watch.input, watch.idle, watch.keep_alive) = (None, Some(Instant::now()), SHORT);
        }
        let underway = stream.connection().begin(&TestRequest::default().to_http_request());
        assert!(timeout(4 * SHORT, stream.read(&mut [0])).await.is_err(), "a request is worked on");
        drop(underway);
        assert_eq!(timeout(LONG, stream.read(&mut [0])).await.expect("it waits for ever").unwrap(), 0);
    }
}

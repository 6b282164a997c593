//! The octets of a session: its socket, TLS over it where that is agreed upon, and above both the
//! look at each message (`messages.rs`).

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::Config;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_util::either::Either;

use super::messages::{self, Messages};
use super::session_memory::SessionMemory;
use portico_core::budget::MemoryReservation;

/// Octets that are read at once, but in the middle of a long message.
const READ: usize = 8 * 1024;

/// A socket to a server.
pub(crate) type Socket = Either<TcpStream, UnixStream>;

/// Where a session leads.
#[derive(Clone)]
pub(crate) enum ServerAddress {
    Network(SocketAddr),
    Socket(PathBuf),
}

impl ServerAddress {
    /// A socket that leads there.
    pub(crate) async fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Network(address) => TcpStream::connect(address).await.map(Either::Left),
            Self::Socket(path) => UnixStream::connect(path).await.map(Either::Right),
        }
    }

    /// Connects, and sets the options of `config` on the socket.
    pub(crate) async fn connect_with(&self, config: &Config) -> io::Result<Socket> {
        let socket = self.connect().await?;
        let Either::Left(stream) = &socket else { return Ok(socket) };
        stream.set_nodelay(true)?;
        if let Some(timeout) = config.get_tcp_user_timeout() {
            sockopt::set_tcp_user_timeout(stream, u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX))?;
        }
        if config.get_keepalives() {
            sockopt::set_socket_keepalive(stream, true)?;
            sockopt::set_tcp_keepidle(stream, config.get_keepalives_idle())?;
            if let Some(interval) = config.get_keepalives_interval() {
                sockopt::set_tcp_keepintvl(stream, interval)?;
            }
            if let Some(count) = config.get_keepalives_retries() {
                sockopt::set_tcp_keepcnt(stream, count)?;
            }
        }
        Ok(socket)
    }
}

/// A stream that checks the messages while they are read.
pub(crate) struct Bounded<S> {
    stream: S,
    messages: Messages,
    pin: Arc<messages::PinnedSettings>,
    lending: SessionMemory,
    /// A large row was announced: nothing more of it is read until memory is reserved.
    waiting: Option<(usize, BoxFuture<'static, MemoryReservation>)>,
    read: Box<[u8]>,
    /// How much of the bytes to pass on was read.
    taken: usize,
    /// Whether it ends when the other end does.
    patient: bool,
}

impl<S> Bounded<S> {
    /// Makes a stream. The first `unframed` bytes that are read are not a message.
    pub(crate) fn new(stream: S, pin: Arc<messages::PinnedSettings>, lending: SessionMemory, unframed: usize) -> Self {
        let messages = Messages::new(Arc::clone(&pin), lending.budget.most(), unframed);
        let read = vec![0; READ].into();
        Self { stream, messages, pin, lending, waiting: None, read, taken: 0, patient: false }
    }

    /// Makes a stream for a request without an answer: it ends when the other end closes.
    pub(crate) fn patient(stream: S) -> Self {
        Self { patient: true, ..Self::new(stream, Arc::default(), SessionMemory::default(), 1) }
    }

    /// Waits for the memory of the announced row.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(octets) = self.messages.announced.take() {
            self.waiting = Some((octets, self.lending.budget.reserve(octets).boxed()));
        }
        if let Some((octets, loan)) = &mut self.waiting {
            let loan = ready!(loan.poll_unpin(cx));
            self.lending.lent.add(*octets, loan);
            self.waiting = None;
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let out = &mut this.messages.out;
            if let Some(ready) = out.get(this.taken..).filter(|ready| !ready.is_empty()) {
                let now = ready.len().min(buffer.remaining());
                buffer.put_slice(&ready[..now]);
                this.taken += now;
                return Poll::Ready(Ok(()));
            }
            out.clear();
            // A message with cut fields may have made the buffer long.
            out.shrink_to(READ);
            this.taken = 0;
            if this.messages.over {
                return Poll::Ready(Err(io::Error::other("a message of the server was refused")));
            }
            ready!(this.poll_room(cx));
            if buffer.remaining() <= this.messages.passes() {
                let before = buffer.filled().len();
                ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
                this.messages.passed(buffer.filled().len() - before);
                return Poll::Ready(Ok(()));
            }
            let mut read = ReadBuf::new(&mut this.read);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.messages.feed(read.filled());
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, octets)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.patient {
            return Pin::new(&mut this.stream).poll_shutdown(cx);
        }
        // Nothing is written any more; the other end's bytes, of which there are none, are read to their end.
        loop {
            let mut read = ReadBuf::new(&mut this.read);
            let outcome = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut read));
            // A connection that was reset has ended as well.
            if outcome.is_err() || read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for Bounded<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream.channel_binding()
    }
}

/// TLS below the message layer, which does not parse it.
pub(crate) struct Below<T>(pub(crate) T);

impl<S, T> TlsConnect<Bounded<S>> for Below<T>
where
    T: TlsConnect<S>,
    T::Stream: Send,
    T::Error: Send,
    T::Future: Send + 'static,
{
    type Stream = Bounded<T::Stream>;
    type Error = T::Error;
    type Future = BoxFuture<'static, Result<Self::Stream, Self::Error>>;

    fn connect(self, stream: Bounded<S>) -> Self::Future {
        // The one byte that accepts TLS is read without read-ahead.
        let Bounded { stream, pin, lending, patient, .. } = stream;
        let connecting = self.0.connect(stream);
        let below = move |stream| Bounded { patient, ..Bounded::new(stream, pin, lending, 0) };
        async move { connecting.await.map(below) }.boxed()
    }
}

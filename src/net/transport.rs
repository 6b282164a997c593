//! The transport of a client's bytes: TCP, TLS over it, or a Unix socket.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// HTTP/2 as clients name it that choose a protocol (RFC 9113 §3.2).
pub(super) const HTTP2: &[u8] = b"h2";
/// The number of unsent bytes that the kernel may buffer. Without a limit it buffers megabytes for a reader that
/// reads nothing, and accepts no more until a third of them is sent: it could not be seen whether a slow reader
/// reads.
const UNSENT: u32 = 256 * 1024;

/// An open connection: TLS over a wire, or a wire alone.
pub type Transport = Either<Box<TlsStream<StallSocket>>, StallSocket>;

/// A socket that records whether the kernel accepts written data: it buffers data itself.
#[derive(Debug)]
pub struct StallSocket {
    socket: Either<TcpStream, UnixStream>,
    stalled: Option<Instant>,
}

impl From<TcpStream> for StallSocket {
    fn from(socket: TcpStream) -> Self {
        Self { socket: Either::Left(socket), stalled: None }
    }
}

impl From<UnixStream> for StallSocket {
    fn from(socket: UnixStream) -> Self {
        Self { socket: Either::Right(socket), stalled: None }
    }
}

impl StallSocket {
    /// Returns since when the kernel accepts no output: its buffer is full, and the client reads nothing.
    pub fn stalled(&self) -> Option<Instant> {
        self.stalled
    }

    fn wrote(&mut self, written: &Poll<io::Result<usize>>) {
        if written.is_ready() {
            self.stalled = None;
        } else if self.stalled.is_none() {
            self.stalled = Some(Instant::now());
        }
    }
}

/// Returns the socket below `transport`.
pub fn wire(transport: &Transport) -> &StallSocket {
    match transport {
        Either::Left(stream) => stream.get_ref().0,
        Either::Right(wire) => wire,
    }
}

/// Whether the client has chosen HTTP/2 (RFC 7301).
pub fn is_http2(transport: &Transport) -> bool {
    matches!(transport, Either::Left(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP2))
}

/// Makes `tcp` send small pieces at once, buffer little unsent data, and end if sent data is not acknowledged
/// within `patience`: only the kernel notices a client that has vanished.
pub fn prepare(tcp: &TcpStream, patience: Duration) {
    let socket = SockRef::from(tcp);
    // A platform that has one of them not does without.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
    let _ = socket.set_tcp_user_timeout(Some(patience));
}

impl AsFd for StallSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Either::Left(tcp) => tcp.as_fd(),
            Either::Right(unix) => unix.as_fd(),
        }
    }
}

impl AsyncRead for StallSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for StallSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

//! Asks the source to cancel what runs on a session, and waits until it has taken notice. The wire
//! library hangs up as soon as the request is sent; a pooler that has not passed it on by then drops
//! it, or worse. `libpq` waits for the other end to hang up first, and so do we.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::CancelToken;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Where a session leads.
#[derive(Clone)]
pub(crate) enum ServerAddress {
    Network(SocketAddr),
    Socket(PathBuf),
}

/// Cancels what runs on one session, also after it has gone.
#[derive(Clone)]
pub(crate) struct Canceller {
    pub(crate) token: CancelToken,
    pub(crate) place: ServerAddress,
    /// The name in the server's certificate.
    pub(crate) name: String,
    pub(crate) tls: MakeRustlsConnect,
}

impl Canceller {
    /// Asks the source to cancel; whether it does, it does not say.
    pub(crate) fn cancel(self) -> BoxFuture<'static, io::Result<()>> {
        let Self { token, place, name, tls } = self;
        match place {
            ServerAddress::Network(address) => async move {
                let stream = TcpStream::connect(address).await?;
                ask(token, stream, &name, tls).await
            }
            .boxed(),
            ServerAddress::Socket(path) => async move {
                let stream = UnixStream::connect(path).await?;
                ask(token, stream, &name, tls).await
            }
            .boxed(),
        }
    }
}

async fn ask<S>(token: CancelToken, stream: S, name: &str, mut tls: MakeRustlsConnect) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let tls = MakeTlsConnect::<Patient<S>>::make_tls_connect(&mut tls, name).map_err(io::Error::other)?;
    token.cancel_query_raw(Patient(stream), PatientTls(tls)).await.map_err(io::Error::other)
}

/// A stream that ends when the other end does.
struct Patient<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    /// Nothing is said any more; what the other end says, which is nothing, is read to its end.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut octets = [0; 64];
            let mut buffer = ReadBuf::new(&mut octets);
            // A connection that was reset has ended as well.
            let read = ready!(Pin::new(&mut self.0).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for Patient<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.0.channel_binding()
    }
}

/// The same around TLS, whose own end would be an end too.
struct PatientTls<T>(T);

impl<S, T> TlsConnect<S> for PatientTls<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
    T::Stream: Send,
    T::Error: Send,
{
    type Stream = Patient<T::Stream>;
    type Error = T::Error;
    type Future = BoxFuture<'static, Result<Self::Stream, Self::Error>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        async move { connecting.await.map(Patient) }.boxed()
    }
}

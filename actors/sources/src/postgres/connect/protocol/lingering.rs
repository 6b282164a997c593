//! The end of a session whose server process may still be busy: some work on the server ignores cancels and closed
//! sockets. Until the server has closed its side, the session counts against the limit.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, copy, sink};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::stream::Socket;
use crate::plan::CallShare;
use portico_core::mutex::lock;

/// How long a socket waits for the end of the server's side at most.
const LONGEST: Duration = Duration::from_mins(5);

/// The place that a session keeps until its server has ended it.
#[derive(Default)]
pub(crate) struct HeldPlace(Mutex<Option<(OwnedSemaphorePermit, Option<CallShare>)>>);

impl HeldPlace {
    /// Holds `place`, and the `share` of its caller, from now on. Without a socket they are released with the
    /// session.
    pub(crate) fn hold(&self, place: OwnedSemaphorePermit, share: Option<CallShare>) {
        *lock(&self.0) = Some((place, share));
    }
}

/// A socket that is closed when the server has closed its side, where a place is held for it.
pub(crate) struct LingeringSocket {
    /// There until it is dropped.
    socket: Option<Socket>,
    held: Arc<HeldPlace>,
}

impl LingeringSocket {
    /// Of `socket`, with the place that may be held for it.
    pub(crate) fn new(socket: Socket, held: Arc<HeldPlace>) -> Self {
        Self { socket: Some(socket), held }
    }

    fn socket(&mut self) -> Pin<&mut Socket> {
        Pin::new(self.socket.as_mut().expect("the socket is there until it is dropped"))
    }
}

impl Drop for LingeringSocket {
    fn drop(&mut self) {
        let Some(place) = lock(&self.held.0).take() else { return };
        let (Some(mut socket), Ok(runtime)) = (self.socket.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            // No one reads what still arrives.
            let _ = timeout(LONGEST, async {
                socket.shutdown().await?;
                copy(&mut socket, &mut sink()).await
            })
            .await;
            drop((socket, place));
        });
    }
}

impl AsyncRead for LingeringSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().socket().poll_read(cx, buffer)
    }
}

impl AsyncWrite for LingeringSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().socket().poll_write(cx, octets)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().socket().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().socket().poll_shutdown(cx)
    }
}

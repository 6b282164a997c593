//! Whether a client takes its answers, and how many it wants at once, where the kernel sees to neither:
//! in HTTP/2, where octets wait for windows of their own and one connection has any number of streams,
//! and on Unix sockets. Of a single stream nobody can let go here: its connection is ended.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Version;
use actix_web::middleware::Next;
use actix_web::rt::task::JoinHandle;
use actix_web::rt::time::{Instant, sleep_until};
use actix_web::{rt, web};
use bytes::Bytes;
use portico_actors::error::{Error, Kind};

use super::error;
use super::socket::Connection;
use crate::app::App;

/// Streams of one HTTP/2 connection at most. No client that means well has so many: the library that
/// speaks it here announces no bound.
const MOST_STREAMS: usize = 1_000;
/// A client may take a second longer for each so many octets of a piece.
const SLOWEST: usize = 64 * 1024;

/// Watches the answer to a request of such a connection.
pub(super) async fn watch(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let many = request.version() == Version::HTTP_2;
    let connection = request.request().conn_data::<Connection>().filter(|connection| many || !connection.is_tcp);
    let (Some(connection), Some(app)) = (connection.cloned(), request.app_data::<web::Data<App>>().cloned()) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let stream = OpenStream::of(&connection);
    if many && stream.is_one_too_many() {
        app.metrics.traffic.refused.inc();
        connection.end();
        let refusal = Error::new(Kind::Busy, format!("one connection has {MOST_STREAMS} requests at most"));
        let response = error::refusal(request.request(), &refusal);
        return Ok(request.into_response(response));
    }
    let patience = app.config().server.bounds.write_timeout;
    let response = next.call(request).await?.map_into_boxed_body();
    let reception = Reception { connection, patience, due: Rc::default(), watch: None, _stream: stream };
    Ok(response.map_body(|_, body| BoxBody::new(Received { body, reception })))
}

/// One stream of a connection, until its answer was sent.
struct OpenStream(Arc<AtomicUsize>);

impl OpenStream {
    fn of(connection: &Connection) -> Self {
        connection.streams.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&connection.streams))
    }

    fn is_one_too_many(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MOST_STREAMS
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends the connection of a client that takes nothing of what it was given.
struct Reception {
    connection: Connection,
    patience: Duration,
    /// Until when the body has to be asked for its next piece; `None` while the client waits for us.
    due: Rc<Cell<Option<Instant>>>,
    watch: Option<JoinHandle<()>>,
    _stream: OpenStream,
}

impl Reception {
    /// A piece of so many octets is on its way.
    fn given(&mut self, octets: usize) {
        let longer = Duration::from_secs((octets / SLOWEST) as u64);
        self.due.set(Some(Instant::now() + self.patience + longer));
        if self.watch.is_some() {
            return;
        }
        let (connection, patience, due) = (self.connection.clone(), self.patience, Rc::clone(&self.due));
        self.watch = Some(rt::spawn(async move {
            loop {
                let soon = Instant::now() + patience;
                match due.get() {
                    Some(due) if due <= Instant::now() => return connection.end(),
                    due => sleep_until(due.unwrap_or(soon)).await,
                }
            }
        }));
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// A body whose pieces have to be taken.
struct Received {
    body: BoxBody,
    reception: Reception,
}

impl MessageBody for Received {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        self.reception.due.set(None);
        let next = Pin::new(&mut self.body).poll_next(cx);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            self.reception.given(piece.len());
        }
        next
    }
}

//! Watches each request from its first step until its answer was sent. In HTTP/2, where data waits for flow-control
//! windows that are not visible here and one connection has many streams, this shows whether a client reads its
//! answers, and how many it requests at once. A single stream cannot be dropped here: its connection is ended.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Version;
use actix_web::middleware::Next;
use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use actix_web::rt::time::{Instant, sleep_until};
use bytes::Bytes;
use portico_actors::error::{Error, Kind};

use super::connection::{ActiveRequest, HttpConnection};
use crate::http::{connections::socket, error, state};

/// Streams of one HTTP/2 connection at most. No client that means well has so many: the library that
/// speaks it here announces no bound.
const MOST_STREAMS: usize = 1_000;
/// A client may take a second longer for each so many octets of a piece.
const SLOWEST: usize = 64 * 1024;

/// Looks after a request, and after the answer to it.
pub(in crate::http) async fn track_request(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let Some(connection) = request.request().conn_data::<HttpConnection>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let underway = connection.begin(request.request());
    let mut reception = None;
    if request.version() == Version::HTTP_2 {
        if connection.requests() > MOST_STREAMS {
            app.metrics.traffic.refused.inc();
            connection.end();
            let refusal =
                Error::new(Kind::Busy, format!("a connection may have at most {MOST_STREAMS} requests at once"));
            let response = error::refusal(request.request(), &refusal);
            return Ok(request.into_response(response));
        }
        socket::keep_half(&mut request);
        let patience = app.config().server.bounds.write_timeout;
        reception = Some(WriteTimeout { connection, patience, due: Rc::default(), watch: None });
    }
    let response = next.call(request).await?.map_into_boxed_body();
    Ok(response.map_body(|_, body| BoxBody::new(Received { body, reception, _underway: underway })))
}

/// Ends the connection of a client that reads nothing of its answer.
struct WriteTimeout {
    connection: HttpConnection,
    patience: Duration,
    /// When the next piece of the body has to be requested; `None` while the client waits for us.
    due: Rc<Cell<Option<Instant>>>,
    watch: Option<JoinHandle<()>>,
}

impl WriteTimeout {
    /// Extends the deadline by a piece of so many bytes.
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

impl Drop for WriteTimeout {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// A body whose pieces have to be read, and whose end is that of its request.
struct Received {
    body: BoxBody,
    reception: Option<WriteTimeout>,
    _underway: ActiveRequest,
}

impl MessageBody for Received {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if let Some(reception) = &self.reception {
            reception.due.set(None);
        }
        let next = Pin::new(&mut self.body).poll_next(cx);
        if let (Poll::Ready(Some(Ok(piece))), Some(reception)) = (&next, &mut self.reception) {
            reception.given(piece.len());
        }
        next
    }
}

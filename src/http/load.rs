//! The bounds of the whole service: a request whose head is too large, or that comes while too many
//! others are worked on, is told so before anything is done for it. Counts what comes and goes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use portico_actors::error::{Error, Kind};
use tokio::sync::OwnedSemaphorePermit;

use super::ending::{self, Ending};
use super::timing::{SERVER_TIMING, Timing};
use super::{error, sse};
use crate::app::App;
use crate::observe::Traffic;

/// When a caller who was refused may come back: most requests are over by then.
const SOON: Duration = Duration::from_secs(1);

/// Refuses what is too much, and counts what is answered.
pub(super) async fn bound(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let Some(app) = request.app_data::<web::Data<App>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let timing = Timing::of(request.request());
    let traffic = &app.metrics.traffic;
    let mut response = match admit(request.request(), &app) {
        Ok(slot) => {
            let response = next.call(request).await?.map_into_boxed_body();
            let streams = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == sse::MEDIA_TYPE);
            // A stream may stay open for days, and mostly nothing is done for it.
            let slot = slot.filter(|_| !streams);
            let sent = Sent { traffic: traffic.clone(), _slot: slot };
            response.map_body(|_, body| BoxBody::new(Counted { body, sent }))
        }
        Err((status, refusal)) => {
            traffic.refused.inc();
            let mut ending = Ending::begin(request.request(), &app);
            ending.finish(0, Some(&refusal));
            let id = ending::request_id(request.request());
            let response = match status {
                Some(status) => error::with_status(status, &refusal, id),
                None if is_mcp(request.request()) => error::transport(&refusal, None),
                None => error::api(&refusal, id, None),
            };
            request.into_response(response)
        }
    };
    traffic.responded(response.status().as_u16());
    if app.config().server.server_timing
        && let Some(value) = timing.header()
    {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    Ok(response)
}

fn is_mcp(request: &HttpRequest) -> bool {
    request.path().starts_with("/mcp/")
}

/// A place among the requests that are worked on, for those that count.
fn admit(
    request: &HttpRequest,
    app: &App,
) -> Result<Option<OwnedSemaphorePermit>, (Option<actix_web::http::StatusCode>, Error)> {
    let config = app.config();
    let bounds = &config.server.bounds;
    // The octets of RFC 9112 §3 and §5: "name: value" and the ends of lines.
    let fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if fields + target > bounds.max_header {
        let message = format!("the request's head is larger than {} bytes", bounds.max_header);
        let refusal = Error::new(Kind::TooLarge, message)
            .hint("send fewer or shorter headers; an administrator can raise server.max_header");
        return Err((Some(error::HEADERS_TOO_LARGE), refusal));
    }
    if !is_mcp(request) && !request.path().starts_with("/api/") {
        return Ok(None);
    }
    app.slot().map(Some).ok_or_else(|| {
        let refusal = Error::new(Kind::Busy, "the service is busy: as many requests as it takes are worked on");
        (None, refusal.retry_after(SOON).hint("try again after the given delay"))
    })
}

/// A body whose bytes are counted. Its slot is given back with it.
struct Counted {
    body: BoxBody,
    sent: Sent,
}

struct Sent {
    traffic: Traffic,
    _slot: Option<OwnedSemaphorePermit>,
}

impl MessageBody for Counted {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let next = Pin::new(&mut self.body).poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            self.sent.traffic.sent.inc_by(bytes.len() as u64);
        }
        next
    }
}

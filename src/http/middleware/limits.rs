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

use crate::app::App;
use crate::http::mcp::sse;
use crate::http::middleware::audit_trail;
use crate::http::middleware::recorder;
use crate::http::middleware::timing::{SERVER_TIMING, Timing};
use crate::http::policy::{Calls, Policy};
use crate::http::{authenticated, error};
use crate::observe::Traffic;
use portico_actors::shares::{Room, Share, Short};

/// When a caller who was refused may come back: most requests are over by then.
const SOON: Duration = Duration::from_secs(1);

/// Refuses a head that is too large, and counts what is answered.
pub(in crate::http) async fn bound(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let Some(app) = request.app_data::<web::Data<App>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let timing = Timing::of(request.request());
    let traffic = &app.metrics.traffic;
    let mut response = match oversized(request.request(), &app) {
        None => {
            let mut response = next.call(request).await?.map_into_boxed_body();
            let slot = response.response_mut().extensions_mut().remove::<Slot>();
            let prepared = response.response_mut().extensions_mut().remove::<Prepared>();
            let sent = Sent { traffic: traffic.clone(), _slot: slot, _prepared: prepared };
            response.map_body(|_, body| BoxBody::new(Counted { body, sent }))
        }
        Some(refusal) => {
            traffic.refused.inc();
            recorder::refused(request.request(), &refusal);
            audit_trail::record_refusal(request.request(), &app, &refusal).await;
            let id = recorder::request_id(request.request());
            request.into_response(error::with_status(error::HEADERS_TOO_LARGE, &refusal, id))
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

/// A place among the requests that are worked on; it is given back with the body.
struct Slot(#[allow(dead_code, reason = "it is held, not used")] Share<String>);

/// What an answer takes of memory; it is given back with the body.
pub(in crate::http) struct Prepared(
    #[allow(dead_code, reason = "it is held, not used")] pub(in crate::http) Room<String>,
);

/// Takes a place for a request of a route whose requests count, or refuses it. Whoever was not let in is told so and
/// needs none.
pub(in crate::http) async fn admit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let counted = !Policy::of(request.request()).is_some_and(|policy| matches!(policy.calls, Calls::Uncounted(_)));
    let app = request.app_data::<web::Data<App>>().filter(|_| counted).cloned();
    let Some((app, by)) = app.zip(authenticated::known(request.request())) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let slot = match app.slot(&by) {
        Ok(slot) => slot,
        Err(short) => {
            let whose = if short == Short::Each { " of this principal" } else { "" };
            let refusal = busy(&format!("as many requests{whose} as it takes are worked on"));
            app.metrics.traffic.refused.inc();
            recorder::refused(request.request(), &refusal);
            audit_trail::record_refusal(request.request(), &app, &refusal).await;
            let response = error::refusal(request.request(), &refusal);
            return Ok(request.into_response(response));
        }
    };
    let mut response = next.call(request).await?.map_into_boxed_body();
    let streams = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == sse::MEDIA_TYPE);
    // A stream may stay open for days, and mostly nothing is done for it.
    if !streams {
        response.response_mut().extensions_mut().insert(Slot(slot));
    }
    Ok(response)
}

/// Why a request is not taken now, and that it may be soon.
pub(in crate::http) fn busy(what: &str) -> Error {
    Error::new(Kind::Busy, format!("the service is busy: {what}"))
        .retry_after(SOON)
        .hint("try again after the given delay")
}

/// What is wrong with a head that is too large.
fn oversized(request: &HttpRequest, app: &App) -> Option<Error> {
    let config = app.config();
    let bounds = &config.server.bounds;
    // The octets of RFC 9112 §3 and §5: "name: value" and the ends of lines.
    let fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    (fields + target > bounds.max_header).then(|| {
        let message = format!("the request's head is larger than {} bytes", bounds.max_header);
        Error::new(Kind::TooLarge, message)
            .hint("send fewer or shorter headers; an administrator can raise server.max_header")
    })
}

/// A body whose bytes are counted. Its slot is given back with it.
struct Counted {
    body: BoxBody,
    sent: Sent,
}

struct Sent {
    traffic: Traffic,
    _slot: Option<Slot>,
    _prepared: Option<Prepared>,
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

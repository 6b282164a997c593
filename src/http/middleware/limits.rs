//! The limits of the whole service: refuses a request with a head that is too large, or beyond the number of
//! concurrent requests, before anything is done for it. Counts requests and responses.

use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use portico_actors::error::{Error, Kind};

use crate::app::App;
use crate::http::mcp::sse;
use crate::http::middleware::audit_trail;
use crate::http::middleware::recorder;
use crate::http::middleware::timing::{SERVER_TIMING, Timing};
use crate::http::policy::{Calls, RoutePolicy};
use crate::http::{authenticated, error, state};
use crate::observe::Traffic;
use portico_actors::shares::{Share, ShareExceeded};

/// The retry delay for a refused caller: most requests have ended by then.
const SOON: Duration = Duration::from_secs(1);

/// Refuses a head that is too large, and counts responses.
pub(in crate::http) async fn bound(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let timing = Timing::from_request(request.request());
    let traffic = &app.metrics.traffic;
    let mut response = match oversized(request.request(), &app) {
        None => {
            let mut response = next.call(request).await?.map_into_boxed_body();
            let held = response.response_mut().extensions_mut().remove::<Held>();
            let traffic = traffic.clone();
            response.map_body(|_, body| BoxBody::new(Counted { body, rest: Bytes::new(), traffic, _held: held }))
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

/// Resources that are released with the body of an answer.
#[derive(Default)]
struct Held(Vec<Box<dyn Any>>);

/// Holds `what`, such as a place or memory, until the answer with these extensions was sent.
pub(in crate::http) fn hold(answer: &mut Extensions, what: impl Any) {
    answer.get_or_insert_with(Held::default).0.push(Box::new(what));
}

/// Takes a place for a request of a counted route, or refuses it. An unauthenticated caller is refused as such and
/// needs none.
pub(in crate::http) async fn admit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let counted =
        !RoutePolicy::from_request(request.request()).is_some_and(|policy| matches!(policy.calls, Calls::Uncounted(_)));
    let Some(by) = authenticated::known(request.request()).filter(|_| counted) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let slot = match app.slot(&by) {
        Ok(slot) => slot,
        Err(short) => {
            let whose = if short == ShareExceeded::Each { " of this principal" } else { "" };
            let refusal = busy(&format!("it is working on as many requests{whose} as it takes"));
            app.metrics.traffic.refused.inc();
            recorder::refused(request.request(), &refusal);
            audit_trail::record_refusal(request.request(), &app, &refusal).await;
            let response = error::refusal(request.request(), &refusal);
            return Ok(request.into_response(response));
        }
    };
    let slot = CallSlot(Rc::new(slot));
    request.extensions_mut().insert(slot.clone());
    let mut response = next.call(request).await?.map_into_boxed_body();
    drop(response.request().extensions_mut().remove::<CallSlot>());
    let streams = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == sse::MEDIA_TYPE);
    // A stream may stay open for days, mostly idle: a call that is answered with one holds its place itself.
    if !streams {
        hold(&mut response.response_mut().extensions_mut(), slot);
    }
    Ok(response)
}

/// The place of a request among those in progress, until the last clone is dropped.
#[derive(Clone)]
pub(in crate::http) struct CallSlot(#[allow(dead_code, reason = "it is held")] Rc<Share<String>>);

impl CallSlot {
    /// Returns the place of `request`, for work that continues after its answer has started.
    pub(in crate::http) fn from_request(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().cloned()
    }
}

/// Why a request is not taken now, and that it may be soon.
pub(in crate::http) fn busy(what: &str) -> Error {
    Error::new(Kind::Busy, format!("the service is busy: {what}"))
        .retry_after(SOON)
        .hint("try again after the given delay")
}

/// Returns the error for a head that is too large.
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

/// The maximal size in bytes of a piece of a body: the HTTP library copies what it is given before it writes it.
const PIECE: usize = 64 * 1024;

/// A body whose bytes are counted, and passed on in pieces.
struct Counted {
    body: BoxBody,
    /// The rest of a large piece.
    rest: Bytes,
    traffic: Traffic,
    _held: Option<Held>,
}

impl MessageBody for Counted {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(bytes)) => self.rest = bytes,
                end => return Poll::Ready(end),
            }
        }
        let most = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(most);
        self.traffic.sent.inc_by(piece.len() as u64);
        Poll::Ready(Some(Ok(piece)))
    }
}

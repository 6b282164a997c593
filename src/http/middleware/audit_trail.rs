//! A request's place in the audit trail: reserved before the request is processed, and used when it ends. The
//! record's content is collected in `recorder`. The end of the answer waits here until the record is written.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use portico_actors::auth::accounts::session::Session;
use portico_actors::error::Error;

use crate::app::App;
use crate::audit::{self, Audit, AuditEvent, AuditPermit, PendingWrite, Record};
use crate::http::authenticated::{self, SignedIn};
use crate::http::middleware::request_id;
use crate::http::policy::{AuditPolicy, Authentication, RoutePolicy};
use crate::http::{connections::peer, error, state};

/// Characters of a `User-Agent` at most.
const LONGEST_AGENT: usize = 200;

/// The place of one request.
#[derive(Default)]
pub(in crate::http) struct AuditReservation {
    place: RefCell<Option<AuditPermit>>,
    /// A `CallRecorder` has taken over writing the record.
    claimed: Cell<bool>,
    /// The record of a request whose place is reserved only when it ends.
    waiting: RefCell<Option<Box<Record>>>,
    late: bool,
    /// The record in transit.
    written: RefCell<Option<PendingWrite>>,
    /// Why the request was refused, if no recorder has taken over.
    reason: RefCell<Option<String>>,
}

impl AuditReservation {
    /// Returns the reservation of `request`, and marks that a recorder has taken over.
    pub(in crate::http) fn claim(request: &HttpRequest) -> Option<Rc<Self>> {
        let reservation = Rc::clone(request.extensions().get::<Rc<Self>>()?);
        reservation.claimed.set(true);
        Some(reservation)
    }

    /// Stores why `request` was refused, for a record with its status alone.
    pub(in crate::http) fn explain(request: &HttpRequest, refusal: &Error) {
        if let Some(reservation) = request.extensions().get::<Rc<Self>>() {
            reservation.reason.replace(Some(audit::shortened(&refusal.message)));
        }
    }

    /// Waits until the record is written, where there is one by now. Whether it is.
    pub(in crate::http) async fn written(&self) -> bool {
        let written = self.written.take();
        match written {
            Some(written) => written.wait().await,
            None => true,
        }
    }

    /// Marks that the record is written elsewhere.
    pub(in crate::http) fn disclaim(&self) {
        self.claimed.set(false);
    }

    /// Uses the place. A second record of one request has none.
    pub(in crate::http) fn keep(&self, record: impl FnOnce() -> Box<Record>) {
        if let Some(place) = self.place.take() {
            self.written.replace(place.keep(record()));
        } else if self.late {
            self.waiting.replace(Some(record()));
        }
    }

    /// Uses the place for a request without a recorder: its record contains only the status.
    fn keep_status(&self, response: &ServiceResponse<BoxBody>, app: &App) {
        self.keep(|| {
            let (request, status) = (response.request(), response.status());
            let session = request.extensions().get::<SignedIn>().map(|person| person.0.clone());
            Box::new(Record {
                request_id: Some(request_id::request_id(request).to_string()),
                credential: session.as_ref().and_then(Session::credential),
                principal: session.map(|session| session.email).unwrap_or_default(),
                code: Some(status.as_u16().to_string()),
                reason: self.reason.take(),
                ..new_record(request, app).ended(if status.is_success() { "ok" } else { "refused" })
            })
        });
    }

    /// Reserves a place for the waiting record, and uses it.
    ///
    /// # Errors
    /// There is no place.
    async fn record_waiting(&self, audit: &Audit) -> Result<(), Error> {
        let waiting = self.waiting.borrow().clone();
        let Some(record) = waiting else { return Ok(()) };
        // If the request is dropped meanwhile, what is still stored here is recorded.
        let recorded = Box::pin(audit.record(*record)).await;
        self.waiting.take();
        self.written.replace(recorded?);
        Ok(())
    }
}

/// Makes the record of a request before its caller is known.
pub(in crate::http) fn new_record(request: &HttpRequest, app: &App) -> Record {
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    Record {
        event: event(request),
        address: peer::client(request, app).map(|address| address.to_canonical()),
        agent: agent.map(|agent| agent.chars().take(LONGEST_AGENT).collect()),
        path: request_id::path(request),
        ..Record::default()
    }
}

/// The event that the policy of the matched route names; a call where no route matched.
fn event(request: &HttpRequest) -> AuditEvent {
    match RoutePolicy::from_request(request).map(|policy| policy.audit) {
        Some(AuditPolicy::Before(event) | AuditPolicy::After(event)) => event,
        Some(AuditPolicy::No(_)) | None => AuditEvent::Call,
    }
}

/// Records a request that was refused before it had a place, unless its route is exempt. The future is boxed:
/// otherwise each request's own future would include its memory.
pub(in crate::http) fn record_refusal<'r>(
    request: &'r HttpRequest,
    app: &'r App,
    refusal: &'r Error,
) -> LocalBoxFuture<'r, ()> {
    async move {
        let wanted =
            !RoutePolicy::from_request(request).is_some_and(|policy| matches!(policy.audit, AuditPolicy::No(_)));
        let Some(audit) = app.audit.as_deref().filter(|_| wanted) else { return };
        let recorded = audit.record(Record {
            request_id: Some(request_id::request_id(request).to_string()),
            reason: Some(audit::shortened(&refusal.message)),
            ..new_record(request, app).ended(refusal.kind.as_str())
        });
        // Where it cannot be recorded it is refused all the same.
        if let Ok(Some(written)) = recorded.await {
            let _ = written.wait().await;
        }
    }
    .boxed_local()
}

/// Reserves a place for each request of a known caller on a recorded route, and records those without a recorder,
/// such as requests from pages of a foreign origin.
pub(in crate::http) async fn reserve(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let policy = RoutePolicy::from_request(request.request());
    let recording = policy.map(|policy| policy.audit);
    let is_stranger = policy.is_some_and(|policy| matches!(policy.caller, Authentication::Credential))
        && authenticated::known(request.request()).is_none();
    let late = is_stranger || matches!(recording, Some(AuditPolicy::After(_)));
    let is_recorded = !matches!(recording, Some(AuditPolicy::No(_)));
    let Some(audit) = app.audit.as_ref().filter(|_| is_recorded) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let place = if late { Ok(None) } else { audit.reserve().await };
    let reservation = match place {
        Ok(place) => Rc::new(AuditReservation { place: RefCell::new(place), late, ..AuditReservation::default() }),
        Err(refusal) => {
            let response = error::refusal(request.request(), &refusal);
            return Ok(request.into_response(response));
        }
    };
    request.extensions_mut().insert(Rc::clone(&reservation));
    let _on_disconnect = OnDisconnect { reservation: Rc::clone(&reservation), audit: Arc::clone(audit) };
    let response = next.call(request).await?.map_into_boxed_body();
    if !reservation.claimed.get() {
        reservation.keep_status(&response, &app);
    }
    if let Err(refusal) = reservation.record_waiting(audit).await {
        let refused = error::refusal(response.request(), &refusal);
        return Ok(response.into_response(refused));
    }
    // If the record is written already, wait before the first byte is sent.
    let is_written = reservation.written().await;
    // A token, a code, or a session.
    let gives = event(response.request()) == AuditEvent::Token || response.headers().contains_key(header::SET_COOKIE);
    let is_refused = response.status().is_client_error() || response.status().is_server_error();
    if !is_written && audit.refuses() && gives && !is_refused {
        let refused = error::refusal(response.request(), &audit::cannot_record());
        return Ok(response.into_response(refused));
    }
    Ok(response.map_body(|_, body| match body.size() {
        BodySize::Stream => BoxBody::new(UntilRecorded { body, reservation, held: None }),
        BodySize::None | BodySize::Sized(_) => body,
    }))
}

/// Keeps the record of a request whose client has left before its place was reserved.
struct OnDisconnect {
    reservation: Rc<AuditReservation>,
    audit: Arc<Audit>,
}

impl Drop for OnDisconnect {
    fn drop(&mut self) {
        if let Some(record) = self.reservation.waiting.take() {
            self.audit.keep_at_once(*record);
        }
    }
}

/// A body still in production, whose call ends with it: once the record is in transit, the rest of the body, the
/// last piece or only the end, waits until it is written.
struct UntilRecorded {
    body: BoxBody,
    reservation: Rc<AuditReservation>,
    held: Option<(BodyChunk, LocalBoxFuture<'static, ()>)>,
}

type BodyChunk = Option<Result<Bytes, <BoxBody as MessageBody>::Error>>;

impl MessageBody for UntilRecorded {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BodyChunk> {
        let this = &mut *self;
        if this.held.is_none() {
            let piece = ready!(Pin::new(&mut this.body).poll_next(cx));
            let Some(written) = this.reservation.written.take() else { return Poll::Ready(piece) };
            this.held = Some((piece, written.wait().map(drop).boxed_local()));
        }
        if let Some((_, written)) = &mut this.held {
            ready!(written.poll_unpin(cx));
        }
        Poll::Ready(this.held.take().and_then(|(piece, _)| piece))
    }
}

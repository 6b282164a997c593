//! A request's id, and the one event that tells of its end, whichever way it ends.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};
use portico_actors::auth::accounts::session::Session;
use portico_actors::auth::recording::Door;
use portico_actors::call::{Origin, RequestId};
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Kind, Quota};
use portico_actors::event::{CallEnded, Event, Observer};
use portico_actors::principal::Principal;

use super::span::Span;
use super::timing::Timing;
use super::trail::{self, Slot};
use super::{error, peer};
use crate::app::App;
use crate::audit::{self, Record, Request};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Clone, Copy)]
struct Identified(RequestId);

/// Gives every request an id, and every answer the same one. One that the client sent is kept, if
/// it is one alone and fit for headers and logs.
pub(super) async fn identify(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> actix_web::Result<ServiceResponse<impl MessageBody>> {
    let mut given = request.headers().get_all(REQUEST_ID);
    let given = given.next().filter(|_| given.next().is_none());
    let given = given.and_then(|id| RequestId::from_client(id.to_str().ok()?));
    let id = given.unwrap_or_else(RequestId::fresh);
    request.extensions_mut().insert(Identified(id));
    let span = Span::begin(request.request());
    let mut response = next.call(request).await?;
    span.responded(response.request(), response.status());
    let value = HeaderValue::from_str(id.as_str()).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(REQUEST_ID, value);
    let quota = response.request().extensions().get::<Quota>().copied();
    if let Some(quota) = quota {
        error::tell_quota(response.headers_mut(), &quota);
    }
    Ok(response)
}

/// Octets of a path that are told of it at most.
const LONGEST_PATH: usize = 2_048;

/// The path of `request` for the log and the audit trail.
pub(super) fn path(request: &HttpRequest) -> String {
    let path = request.path();
    path.get(..path.floor_char_boundary(LONGEST_PATH)).unwrap_or(path).to_owned()
}

/// The id of `request`.
pub(super) fn request_id(request: &HttpRequest) -> RequestId {
    request.extensions().get::<Identified>().map_or_else(RequestId::fresh, |identified| identified.0)
}

/// Where a call of `request` comes from.
pub(super) fn origin(request: &HttpRequest) -> Origin {
    Origin { id: request_id(request), trace: Span::of(request).trace }
}

/// By which door `request` asks for a change, and who was authenticated with it.
pub(super) fn door(request: &HttpRequest, app: &App, principal: Option<&str>) -> Door {
    let Request { address, agent, path, .. } = trail::introduce(request, app);
    Door { principal: principal.map(str::to_owned), address, agent, request: Some(request_id(request)), path }
}

/// Tells of a request that was refused before it was anybody's call: its path or its method is none
/// that there is, or its page may not call. The audit trail records those by their status and
/// the reason.
pub(super) fn refused(request: &HttpRequest, refusal: &Error) {
    Slot::explain(request, refusal);
    if let Some(app) = request.app_data::<web::Data<App>>() {
        Ending::beside(request, app).finish(0, Some(refusal));
    }
}

/// Emits one [`CallEnded`], at the latest when it is dropped: then the caller went away.
pub(super) struct Ending {
    event: Option<CallEnded>,
    observer: Observer,
    timing: Timing,
    span: Rc<Span>,
    started: Instant,
    trail: Option<Trail>,
}

/// The request's place in the audit trail, and what its record says beyond the event.
struct Trail {
    slot: Rc<Slot>,
    request: Request,
}

impl Ending {
    /// Begins to measure a request.
    pub(super) fn begin(request: &HttpRequest, app: &App) -> Self {
        let mut ending = Self::beside(request, app);
        ending.trail = Slot::claim(request).map(|slot| Trail { slot, request: trail::introduce(request, app) });
        ending
    }

    /// The same for a request whose record in the audit trail is not ours to write.
    fn beside(request: &HttpRequest, app: &App) -> Self {
        let span = Span::of(request);
        let event = CallEnded {
            id: Box::new(request_id(request)),
            client: peer::client(request, app),
            subject: String::new(),
            connection: None,
            connection_id: None,
            what: path(request),
            operation: None,
            trace: span.trace,
            parent: span.parent,
            driver: None,
            asked: None,
            class: None,
            rows: 0,
            queued: None,
            source: None,
            took: std::time::Duration::ZERO,
            failure: Some(Kind::Abandoned),
            cause: None,
        };
        Self {
            event: Some(event),
            observer: Arc::clone(&app.observer),
            timing: Timing::of(request),
            span,
            started: Instant::now(),
            trail: None,
        }
    }

    /// Notes what is known by now.
    pub(super) fn note(&mut self, note: impl FnOnce(&mut CallEnded)) {
        if let Some(event) = &mut self.event {
            note(event);
            self.timing.answered(event.queued, event.source);
        }
    }

    /// Notes who the caller is.
    pub(super) fn note_caller(&mut self, by: &Principal) {
        self.note(|event| event.subject.clone_from(&by.subject));
        self.record(|request| {
            request.client = by.claims.verified("client_id").map(str::to_owned);
            request.account = by.account().map(str::to_owned);
            request.credential = by.credential.as_deref().map(str::to_owned);
        });
    }

    /// Notes whose browser it is.
    pub(super) fn note_session(&mut self, session: &Session) {
        self.note(|event| event.subject.clone_from(&session.email));
        self.record(|request| request.credential = session.credential());
    }

    /// Notes who the caller claims to be, for the audit trail: nobody is authenticated yet.
    pub(super) fn note_claim(&mut self, name: &str) {
        self.record(|request| request.claimed = Some(audit::shortened(name)).filter(|name| !name.is_empty()));
    }

    /// Notes which connection it is, and who the caller is in its database.
    pub(super) fn note_connection(&mut self, app: &App, entry: &Entry, by: &Principal) {
        self.note(|event| {
            event.connection = Some(Arc::clone(&entry.name));
            event.connection_id = Some(entry.id);
            event.driver = Some(entry.kind);
        });
        self.record(|request| {
            let mapping = app.connection(entry.id).ok().and_then(|connection| connection.identity.clone());
            request.role = mapping.and_then(|mapping| mapping.role(&entry.name, by).ok());
        });
    }

    /// Notes what the audit trail alone keeps.
    pub(super) fn record(&mut self, note: impl FnOnce(&mut Request)) {
        if let Some(trail) = &mut self.trail {
            note(&mut trail.request);
        }
    }

    /// The request has ended with so many rows, well or with a failure.
    pub(super) fn finish(&mut self, rows: u64, failure: Option<&Error>) {
        self.note(|event| {
            event.rows = rows;
            event.failure = failure.map(|error| error.kind);
            event.cause = failure
                .filter(|error| matches!(error.kind, Kind::Internal | Kind::Unavailable))
                .and_then(Error::cause)
                .map(str::to_owned);
        });
        self.record(|request| {
            let Some(failure) = failure else { return };
            let text = |text: Option<&str>| text.map(str::to_owned);
            request.code = request.code.take().or_else(|| text(failure.get_sqlstate()));
            request.reason = request.reason.take().or_else(|| audit::reason(failure));
            request.credential = request.credential.take().or_else(|| text(failure.get_credential()));
            request.claimed = request.claimed.take().or_else(|| failure.get_claimed().map(audit::shortened));
        });
        self.emit();
    }

    /// The request's place in the audit trail.
    pub(super) fn slot(&self) -> Option<Rc<Slot>> {
        self.trail.as_ref().map(|trail| Rc::clone(&trail.slot))
    }

    /// Somebody else tells of the end.
    pub(super) fn forget(&mut self) {
        self.event = None;
        if let Some(trail) = self.trail.take() {
            trail.slot.disclaim();
        }
    }

    /// The request has ended as noted.
    pub(super) fn emit(&mut self) {
        if let Some(mut event) = self.event.take() {
            event.took = self.started.elapsed();
            if let Some(Trail { slot, request }) = self.trail.take() {
                slot.keep(|| Record::of_call(&event, request));
            }
            self.span.ended(&event);
            (self.observer)(&Event::CallEnded(Box::new(event)));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.emit();
    }
}

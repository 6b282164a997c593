//! Emits the one event at a request's end, however it ends.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpRequest, web};
use portico_actors::auth::accounts::session::Session;
use portico_actors::auth::recording::AuditContext;
use portico_actors::call::Origin;
use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Kind};
use portico_actors::event::{CallEnded, Event, Observer};
use portico_actors::principal::Principal;

use crate::app::App;
use crate::audit::{self, Record};
use crate::http::connections::peer;
use crate::http::middleware::audit_trail::{self, AuditReservation};
use crate::http::middleware::request_id::path;
pub(in crate::http) use crate::http::middleware::request_id::request_id;
use crate::http::middleware::span::Span;
use crate::http::middleware::timing::Timing;

/// Returns the origin of a call by `request`.
pub(in crate::http) fn origin(request: &HttpRequest) -> Origin {
    Origin { id: request_id(request), trace: Span::from_request(request).trace }
}

/// Returns the context of a change by `request`, with its authenticated principal.
pub(in crate::http) fn audit_context(request: &HttpRequest, app: &App, principal: Option<&str>) -> AuditContext {
    let Record { address, agent, path, .. } = audit_trail::new_record(request, app);
    AuditContext { principal: principal.map(str::to_owned), address, agent, request: Some(request_id(request)), path }
}

/// Records a request that was refused before it was a call: its path or method does not exist, or its page may not
/// call. The audit trail records those by their status and the reason.
pub(in crate::http) fn refused(request: &HttpRequest, refusal: &Error) {
    AuditReservation::explain(request, refusal);
    if let Some(app) = request.app_data::<web::Data<App>>() {
        CallRecorder::beside(request, app).finish(0, Some(refusal));
    }
}

/// Emits one [`CallEnded`], at the latest when it is dropped: then the caller went away.
pub(in crate::http) struct CallRecorder {
    event: Option<Box<CallEnded>>,
    observer: Observer,
    timing: Timing,
    span: Rc<Span>,
    started: Instant,
    trail: Option<Reserved>,
}

/// The request's place in the audit trail, and its record's content beyond the event.
struct Reserved {
    reservation: Rc<AuditReservation>,
    request: Box<Record>,
}

impl CallRecorder {
    /// Begins to measure a request.
    pub(in crate::http) fn begin(request: &HttpRequest, app: &App) -> Self {
        let mut recorder = Self::beside(request, app);
        recorder.trail = AuditReservation::claim(request)
            .map(|reservation| Reserved { reservation, request: Box::new(audit_trail::new_record(request, app)) });
        recorder
    }

    /// For a request whose audit record is written elsewhere.
    fn beside(request: &HttpRequest, app: &App) -> Self {
        let span = Span::from_request(request);
        let event = CallEnded {
            id: Box::new(request_id(request)),
            client: peer::client(request, app),
            subject: String::new(),
            connection: None,
            connection_id: None,
            workspace: None,
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
            event: Some(Box::new(event)),
            observer: Arc::clone(&app.observer),
            timing: Timing::from_request(request),
            span,
            started: Instant::now(),
            trail: None,
        }
    }

    /// Adds what is known by now.
    pub(in crate::http) fn note(&mut self, note: impl FnOnce(&mut CallEnded)) {
        if let Some(event) = &mut self.event {
            note(event);
            self.timing.answered(event.queued, event.source);
        }
    }

    /// Adds the caller.
    pub(in crate::http) fn note_caller(&mut self, by: &Principal) {
        self.note(|event| event.subject.clone_from(&by.subject));
        self.record(|request| {
            request.client = by.claims.verified("client_id").map(str::to_owned);
            request.account = by.account().map(str::to_owned);
            request.credential = by.credential.as_deref().map(str::to_owned);
        });
    }

    /// Adds the person whose session it is.
    pub(in crate::http) fn note_session(&mut self, session: &Session) {
        self.note(|event| event.subject.clone_from(&session.email));
        self.record(|request| request.credential = session.credential());
    }

    /// Adds the claimed identity, for the audit trail: the caller is not authenticated yet.
    pub(in crate::http) fn note_claim(&mut self, name: &str) {
        self.record(|request| request.claimed = Some(audit::shortened(name)).filter(|name| !name.is_empty()));
    }

    /// Adds the connection, and the caller's role in its database.
    pub(in crate::http) fn note_connection(&mut self, app: &App, entry: &ConnectionEntry, by: &Principal) {
        self.note(|event| {
            event.connection = Some(Arc::clone(&entry.name));
            event.connection_id = Some(entry.id);
            event.driver = Some(entry.driver.name);
        });
        self.record(|request| {
            let mapping = app.connection(entry).ok().and_then(|connection| connection.identity.clone());
            request.role = mapping.and_then(|mapping| mapping.role(&entry.name, by).ok());
        });
    }

    /// Notes the connections that are asked.
    pub(in crate::http) fn note_connections(&mut self, app: &App, entries: &[ConnectionEntry], by: &Principal) {
        match entries {
            [entry] => self.note_connection(app, entry, by),
            several => self.note_several(&several.iter().map(|entry| Arc::clone(&entry.name)).collect::<Vec<_>>()),
        }
    }

    /// Notes the names of the connections that are asked, where these are more than one.
    pub(in crate::http) fn note_several(&mut self, names: &[Arc<str>]) {
        if names.len() > 1 {
            self.note(|event| event.connection = Some(names.join(", ").into()));
        }
    }

    /// Notes the workspace that is asked.
    pub(in crate::http) fn note_workspace(&mut self, name: &Arc<str>) {
        self.note(|event| event.workspace = Some(Arc::clone(name)));
    }

    /// Adds what only the audit trail keeps.
    pub(in crate::http) fn record(&mut self, note: impl FnOnce(&mut Record)) {
        if let Some(trail) = &mut self.trail {
            note(&mut trail.request);
        }
    }

    /// The request has ended with so many rows, well or with a failure.
    pub(in crate::http) fn finish(&mut self, rows: u64, failure: Option<&Error>) {
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
    pub(in crate::http) fn reservation(&self) -> Option<Rc<AuditReservation>> {
        self.trail.as_ref().map(|trail| Rc::clone(&trail.reservation))
    }

    /// The end is recorded elsewhere.
    pub(in crate::http) fn forget(&mut self) {
        self.event = None;
        if let Some(trail) = self.trail.take() {
            trail.reservation.disclaim();
        }
    }

    /// The request has ended as noted.
    pub(in crate::http) fn emit(&mut self) {
        if let Some(mut event) = self.event.take() {
            event.took = self.started.elapsed();
            if let Some(Reserved { reservation, mut request }) = self.trail.take() {
                reservation.keep(|| {
                    request.end_call(&event);
                    request
                });
            }
            self.span.ended(&event);
            (self.observer)(&Event::CallEnded(event));
        }
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        self.emit();
    }
}

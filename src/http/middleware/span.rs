//! One request's span, from its arrival until both are known: how its call ended, and the status of its answer. A
//! long result ends after its status was sent, a short one before.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::{HttpMessage, HttpRequest, web};
use portico_actors::event::CallEnded;
use portico_actors::trace::TraceParent;

use crate::app::App;
use crate::observe::tracer::FinishedCall;
use crate::observe::traces::Traces;

/// Methods as OpenTelemetry knows them; each other one is `_OTHER` to it.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A request's place in a trace.
pub(in crate::http) struct Span {
    /// The caller's span.
    pub(in crate::http) parent: Option<TraceParent>,
    /// The trace context for the source.
    pub(in crate::http) trace: Option<TraceParent>,
    traces: Traces,
    method: Option<&'static str>,
    known: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    call: Option<(CallEnded, (Instant, SystemTime))>,
    response: Option<(Option<String>, u16)>,
}

impl Span {
    /// Of a request that has arrived.
    pub(in crate::http) fn begin(request: &HttpRequest) -> Rc<Self> {
        let traces = request.app_data::<web::Data<App>>().map(|app| app.traces.clone()).unwrap_or_default();
        let parent = parent(request);
        let method = METHODS.into_iter().find(|method| *method == request.method().as_str());
        let span = Rc::new(Self { parent, trace: traces.join(parent), traces, method, known: RefCell::default() });
        request.extensions_mut().insert(Rc::clone(&span));
        span
    }

    /// Returns the span that `request` started.
    pub(in crate::http) fn from_request(request: &HttpRequest) -> Rc<Self> {
        let found = request.extensions().get::<Rc<Self>>().cloned();
        found.unwrap_or_else(|| Self::begin(request))
    }

    /// The call has ended.
    pub(in crate::http) fn ended(&self, call: &CallEnded) {
        // The trace of an MCP message takes precedence over the header's.
        if self.traces.wants(call.trace) {
            self.known.borrow_mut().call = Some((call.clone(), (Instant::now(), SystemTime::now())));
            self.hand_on(false);
        }
    }

    /// The response was begun.
    pub(in crate::http) fn responded(&self, request: &HttpRequest, status: StatusCode) {
        if self.traces.records() {
            self.known.borrow_mut().response = Some((request.match_pattern(), status.as_u16()));
            self.hand_on(false);
        }
    }

    /// Records the span when nothing more can become known.
    fn hand_on(&self, last: bool) {
        let mut known = self.known.borrow_mut();
        if known.response.is_none() && !last {
            return;
        }
        if let Some((call, ended)) = known.call.take() {
            let (route, status) = known.response.clone().unzip();
            let method = self.method;
            self.traces.record(&FinishedCall { call, ended, method, route: route.flatten(), status });
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        // The caller left before it was answered.
        self.hand_on(true);
    }
}

/// Returns the span that the header `traceparent` joins `request` to. Several headers count as none (W3C Trace
/// Context §3.2.1).
fn parent(request: &HttpRequest) -> Option<TraceParent> {
    let mut values = request.headers().get_all(TRACEPARENT);
    match (values.next(), values.next()) {
        (Some(value), None) => TraceParent::parse(value.to_str().ok()?),
        _ => None,
    }
}

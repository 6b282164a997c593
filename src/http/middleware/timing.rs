//! `Server-Timing` (W3C): the parts of a request's time, as far as known before the first byte. Only for
//! authenticated callers, and only if an administrator enables it: it shows how busy a connection is.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpMessage, HttpRequest};

/// The header's name.
pub(in crate::http) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The known parts of one request's time.
#[derive(Clone)]
pub(in crate::http) struct Timing(Rc<Times>);

struct Times {
    started: Instant,
    auth: Cell<Option<Duration>>,
    queue: Cell<Option<Duration>>,
    source: Cell<Option<Duration>>,
}

impl Timing {
    /// Of `request`; the first to ask begins to measure.
    pub(in crate::http) fn from_request(request: &HttpRequest) -> Self {
        let mut extensions = request.extensions_mut();
        if let Some(timing) = extensions.get::<Self>() {
            return timing.clone();
        }
        let times =
            Times { started: Instant::now(), auth: Cell::default(), queue: Cell::default(), source: Cell::default() };
        let timing = Self(Rc::new(times));
        extensions.insert(timing.clone());
        timing
    }

    /// A credential was found valid after so long.
    pub(in crate::http) fn authenticated(&self, took: Duration) {
        self.0.auth.set(Some(took));
    }

    /// How long the call waited for its turn, and how long the source then took.
    pub(in crate::http) fn answered(&self, queue: Option<Duration>, source: Option<Duration>) {
        self.0.queue.set(queue.or(self.0.queue.get()));
        self.0.source.set(source.or(self.0.source.get()));
    }

    /// Returns the header's value; `None` for an unauthenticated caller.
    pub(in crate::http) fn header(&self) -> Option<HeaderValue> {
        let times = &self.0;
        times.auth.get()?;
        let mut value = String::new();
        let measures = [
            ("auth", times.auth.get()),
            ("queue", times.queue.get()),
            ("source", times.source.get()),
            ("total", Some(times.started.elapsed())),
        ];
        for (name, took) in measures {
            let Some(took) = took else { continue };
            let separator = if value.is_empty() { "" } else { ", " };
            let _ = write!(value, "{separator}{name};dur={:.3}", took.as_secs_f64() * 1e3);
        }
        HeaderValue::from_str(&value).ok()
    }
}

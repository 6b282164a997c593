//! One request at the MCP endpoint whose caller was let in: who, where, with which headers; and
//! the account that is given of it. What it asks for is not known here.

use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::call::Origin;
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::Principal;

use crate::app::App;
use crate::config::Connection;
use crate::http::error;
use crate::http::mcp::admission;
use crate::http::mcp::open_streams::StreamGuard;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::mcp::envelope::{ResponseStatus, RpcError};
use crate::mcp::model::Id;
use crate::mcp::request_context::RequestContext;
use crate::mcp::streams::changes::ChangeWatcher;
use crate::mcp::{Context, Header, Headers, Summary};
use crate::tools::Filter;

/// A caller at a connection.
pub(in crate::http) struct McpRequest {
    pub(in crate::http) app: web::Data<App>,
    pub(in crate::http) headers: Headers,
    pub(in crate::http) by: Arc<Principal>,
    entry: Entry,
    filter: Result<Filter>,
    everything: Filter,
    origin: Origin,
    settings: Arc<Connection>,
}

/// Lets the caller of `request` in, or gives the refusal.
pub(in crate::http) async fn enter(
    request: &HttpRequest,
    app: &web::Data<App>,
    id: &str,
    recorder: &mut CallRecorder,
) -> Result<McpRequest, HttpResponse> {
    let admitted = admission::admit(request, app, id, recorder).await;
    let entered = admitted.and_then(|admitted| Ok((app.connection(admitted.entry.id)?, admitted)));
    let (settings, admitted) = entered.map_err(|refusal| {
        recorder.finish(0, Some(&refusal));
        error::transport(&refusal, Some(&admission::challenge(request, app, id)))
    })?;
    let query: Vec<_> = form_urlencoded::parse(request.query_string().as_bytes()).collect();
    Ok(McpRequest {
        app: app.clone(),
        headers: headers(request.headers()),
        by: admitted.by,
        filter: Filter::from_query(query.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))),
        everything: Filter::default(),
        origin: recorder::origin(request),
        settings,
        entry: admitted.entry,
    })
}

impl McpRequest {
    /// Where messages of this visit are answered.
    pub(in crate::http) fn context<'a>(&'a self, request: &'a RequestContext) -> Context<'a> {
        self.context_at(&self.entry, request)
    }

    fn context_at<'a>(&'a self, entry: &'a Entry, request: &'a RequestContext) -> Context<'a> {
        Context {
            directory: &self.app.directory,
            entry,
            by: Arc::clone(&self.by),
            origin: self.origin,
            filter: self.filter.as_ref().unwrap_or(&self.everything),
            settings: &self.settings,
            sessions: &self.app.sessions,
            tasks: &self.app.tasks,
            state_signer: &self.app.state_signer,
            request,
            audit: self.app.audit.as_deref(),
            traces: &self.app.traces,
        }
    }

    /// What a stream that the caller opens stands on.
    ///
    /// # Errors
    /// The caller has too many streams open.
    pub(in crate::http) fn guard(&self, request: &HttpRequest) -> Result<StreamGuard> {
        StreamGuard::take(request, &self.app, &self.by, self.entry.id)
    }

    /// Watches what the caller is shown of the connection, by the settings of each moment.
    pub(in crate::http) async fn changes(self: &Rc<Self>) -> ChangeWatcher {
        let mcp_request = Rc::clone(self);
        let look = move |entry: &Entry| {
            let settings = mcp_request.app.connection(entry.id).unwrap_or_else(|_| Arc::clone(&mcp_request.settings));
            let request_context = RequestContext::default();
            let context = Context { settings: &settings, ..mcp_request.context_at(entry, &request_context) };
            mcp_request.app.features().digests(&context)
        };
        // Who listens uses the connection: only then does it look for changes.
        let (entry, in_use) = match self.app.directory.hold(&self.entry).await {
            Ok((entry, in_use)) => (entry, Some(in_use)),
            // It is gone, which the stream will tell.
            Err(_) => (self.entry.clone(), None),
        };
        let features = Arc::clone(self.app.features());
        ChangeWatcher::new(self.app.directory.clone(), &entry, in_use, features, Box::new(look))
    }

    /// Refuses a filter that says nothing, whatever the message is.
    pub(in crate::http) fn check_filter(
        &self,
        id: Option<&Id>,
        recorder: &mut CallRecorder,
    ) -> Result<(), HttpResponse> {
        let Err(refusal) = &self.filter else { return Ok(()) };
        let hint = refusal.get_hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        let failure = RpcError::params(format!("{}{hint}", refusal.message), ResponseStatus::Malformed);
        recorder.finish(0, Some(refusal));
        Err(error::protocol(error::rpc_status(ResponseStatus::Malformed), &failure, id))
    }
}

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

fn headers(headers: &HeaderMap) -> Headers {
    let read = |name: &HeaderName| {
        let mut values = headers.get_all(name);
        match (values.next(), values.next()) {
            (None, _) => Header::Absent,
            (Some(value), None) => match value.to_str() {
                Ok(value) => Header::One(value.trim_matches([' ', '\t']).to_owned()),
                Err(_) => Header::Invalid,
            },
            (Some(_), Some(_)) => Header::Invalid,
        }
    };
    Headers {
        version: read(&PROTOCOL_VERSION),
        method: read(&METHOD),
        name: read(&NAME),
        session: read(&SESSION_ID),
        last_event: read(&LAST_EVENT_ID),
        params: headers
            .keys()
            .filter(|name| name.as_str().starts_with("mcp-param-"))
            .map(|name| (name.as_str().to_owned(), read(name)))
            .collect(),
    }
}

/// The account that is given of one message when this is dropped: in full if it was answered, and
/// as abandoned if it was dropped before.
pub(in crate::http) struct MessageRecorder {
    pub(in crate::http) summary: Summary,
    pub(in crate::http) answered: bool,
    pub(in crate::http) bytes: usize,
    recorder: CallRecorder,
}

impl MessageRecorder {
    pub(in crate::http) fn new(recorder: CallRecorder) -> Self {
        Self { summary: Summary::default(), answered: false, bytes: 0, recorder }
    }

    /// Gives the account, and waits until it is written: the answer may go by more than one way from here.
    pub(in crate::http) async fn close(self) {
        let reservation = self.recorder.reservation();
        drop(self);
        if let Some(reservation) = reservation {
            reservation.written().await;
        }
    }
}

impl Drop for MessageRecorder {
    fn drop(&mut self) {
        let summary = std::mem::take(&mut self.summary);
        let bytes = self.bytes as u64;
        self.recorder.record(|request| {
            (request.statement, request.calls, request.code) = (summary.statement, summary.calls, summary.code);
            request.reason = summary.reason;
            request.bytes = Some(bytes);
        });
        self.recorder.note(|event| {
            event.what = summary.what;
            event.operation = summary.operation;
            if summary.parent.is_some() {
                (event.parent, event.trace) = (summary.parent, summary.trace);
            }
            event.asked = summary.asked;
            event.queued = summary.queued;
            event.source = summary.source;
            event.class = summary.class;
            event.rows = summary.rows;
            event.failure = if self.answered { summary.failure } else { Some(Kind::Abandoned) };
            event.cause = summary.cause;
        });
        self.recorder.emit();
    }
}

/// Refuses a request whose headers are at fault.
pub(in crate::http) fn refuse(refusal: &Error, recorder: &mut CallRecorder) -> HttpResponse {
    recorder.finish(0, Some(refusal));
    error::transport(refusal, None)
}

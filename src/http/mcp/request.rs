//! One authenticated request at the MCP endpoint: its caller, target and headers; and its record. Its content is
//! not known here.

use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::call::Origin;
use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::Principal;

use crate::app::App;
use crate::http::error;
use crate::http::mcp::admission::{self, Address, Admitted};
use crate::http::mcp::open_streams::StreamGuard;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::mcp::envelope::{self, ResponseStatus, RpcError};
use crate::mcp::features::Digests;
use crate::mcp::model::Id;
use crate::mcp::request_context::RequestContext;
use crate::mcp::streams::changes::{ChangeWatcher, Watched};
use crate::mcp::target::{Target, TargetConnection};
use crate::mcp::{Context, Header, Headers, Summary};
use crate::tools::Filter;

/// A caller at an MCP address.
pub(in crate::http) struct McpRequest {
    pub(in crate::http) app: web::Data<App>,
    pub(in crate::http) headers: Headers,
    pub(in crate::http) by: Arc<Principal>,
    target: Target,
    filter: Result<Filter>,
    everything: Filter,
    origin: Origin,
}

/// Admits the caller of `request`, or returns the refusal.
pub(in crate::http) async fn enter(
    request: &HttpRequest,
    app: &web::Data<App>,
    address: &Address,
    recorder: &mut CallRecorder,
) -> Result<McpRequest, HttpResponse> {
    let Admitted { by, target } = admission::admit(request, app, address, recorder).await.map_err(|refusal| {
        recorder.finish(0, Some(&refusal));
        error::transport(&refusal, Some(&admission::challenge(request, app, address)))
    })?;
    let query: Vec<_> = form_urlencoded::parse(request.query_string().as_bytes()).collect();
    Ok(McpRequest {
        app: app.clone(),
        headers: headers(request.headers()),
        by,
        target,
        filter: Filter::from_query(query.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))),
        everything: Filter::default(),
        origin: recorder::origin(request),
    })
}

impl McpRequest {
    /// Where messages of this visit are answered.
    pub(in crate::http) fn context<'a>(&'a self, request: &'a RequestContext) -> Context<'a> {
        self.context_at(&self.target, request)
    }

    fn context_at<'a>(&'a self, target: &'a Target, request: &'a RequestContext) -> Context<'a> {
        Context {
            directory: &self.app.directory,
            target,
            by: Arc::clone(&self.by),
            origin: self.origin,
            filter: self.filter.as_ref().unwrap_or(&self.everything),
            sessions: &self.app.sessions,
            tasks: &self.app.tasks,
            state_signer: &self.app.state_signer,
            request,
            federation: &self.app.federation,
            audit: self.app.audit.as_deref(),
            traces: &self.app.traces,
        }
    }

    /// Returns the target with its current settings; `None` if what it names is gone. While a reload comes into
    /// force it is what it was: the reload announces what is new when it ends.
    fn target_now(&self) -> Option<Target> {
        let found = match &self.target {
            Target::Connection(TargetConnection { entry, .. }) => {
                let entry = self.app.directory.get(entry.id)?;
                let settings = self.app.connection(&entry);
                settings.map(|settings| Target::Connection(TargetConnection { entry, settings }))
            }
            Target::All(_) => admission::all(&self.app, &self.by),
            Target::Workspace(it) => admission::workspace(&self.app, &self.by, &it.reachable.workspace.name),
        };
        match found {
            Err(error) if error.kind == Kind::Unavailable => Some(self.target.clone()),
            found => found.ok(),
        }
    }

    /// Returns the guard of a stream that the caller opens.
    ///
    /// # Errors
    /// The caller has too many streams open.
    pub(in crate::http) fn guard(&self, request: &HttpRequest) -> Result<StreamGuard> {
        StreamGuard::take(request, &self.app, &self.by, self.target.id())
    }

    /// Watches the lists that the caller is shown at the address.
    pub(in crate::http) async fn changes(self: &Rc<Self>) -> ChangeWatcher {
        // A listener keeps the connections in use: only then do they check for changes. The stream reports one that
        // is gone.
        let (_, in_use) = self.target.held(&self.app.directory).await;
        let features = Arc::clone(self.app.features());
        ChangeWatcher::new(self.app.directory.clone(), in_use, features, Box::new(Shown(Rc::clone(self))))
    }

    /// Refuses an ambiguous filter, for every message.
    pub(in crate::http) fn check_filter(
        &self,
        id: Option<&Id>,
        recorder: &mut CallRecorder,
    ) -> Result<(), HttpResponse> {
        let Err(refusal) = &self.filter else { return Ok(()) };
        let failure = RpcError::params(envelope::message(refusal), ResponseStatus::Malformed);
        recorder.finish(0, Some(refusal));
        Err(error::protocol(error::rpc_status(ResponseStatus::Malformed), &failure, id))
    }
}

/// What the caller of a request is shown.
struct Shown(Rc<McpRequest>);

impl Watched for Shown {
    fn entries(&self) -> Option<Vec<ConnectionEntry>> {
        Some(self.0.target_now()?.connections().iter().map(|member| member.entry.clone()).collect())
    }

    fn digests(&self) -> Option<Digests> {
        let (target, request_context) = (self.0.target_now()?, RequestContext::default());
        Some(self.0.app.features().digests(&self.0.context_at(&target, &request_context)))
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
    mcp_request: Rc<McpRequest>,
}

impl MessageRecorder {
    pub(in crate::http) fn new(recorder: CallRecorder, mcp_request: Rc<McpRequest>) -> Self {
        Self { summary: Summary::default(), answered: false, bytes: 0, recorder, mcp_request }
    }

    /// Records the request, and waits until that is written: the answer may be sent in several ways after this.
    pub(in crate::http) fn close(self) -> impl Future<Output = ()> {
        let reservation = self.recorder.reservation();
        drop(self);
        async move {
            if let Some(reservation) = reservation {
                reservation.written().await;
            }
        }
    }
}

impl Drop for MessageRecorder {
    fn drop(&mut self) {
        let summary = std::mem::take(&mut self.summary);
        let bytes = self.bytes as u64;
        if let Some(entry) = &summary.connection {
            let McpRequest { app, by, .. } = &*self.mcp_request;
            self.recorder.note_connection(app, entry, &by.at(entry.id));
        }
        self.recorder.note_several(&summary.several);
        if let Some(workspace) = &summary.workspace {
            self.recorder.note_workspace(workspace);
        }
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

/// Refuses a request with invalid headers.
pub(in crate::http) fn refuse(refusal: &Error, recorder: &mut CallRecorder) -> HttpResponse {
    recorder.finish(0, Some(refusal));
    error::transport(refusal, None)
}

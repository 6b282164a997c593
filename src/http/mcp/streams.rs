//! Streams of the MCP endpoint: a call with progress notifications, the GET stream of the 2025 revisions, and
//! resuming a broken stream.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, rt, web};
use futures_util::future::ready;
use futures_util::{Stream, StreamExt};
use portico_actors::error::Error;

use crate::app::App;
use crate::http::accept;
use crate::http::mcp::admission::Address;
use crate::http::mcp::request::{McpRequest, enter, refuse};
use crate::http::mcp::sse::{self, Resumption};
use crate::http::middleware::recorder::CallRecorder;
use crate::http::{connections::socket, error};
use crate::mcp::envelope::RpcError;
use crate::mcp::era::{SESSION_VERSIONS, STATELESS_VERSION};
use crate::mcp::request_context::{OutboundMessage, RequestContext};
use crate::mcp::sessions::{Owner, Session};
use crate::mcp::streams::progress_stream::ProgressStream;
use crate::mcp::streams::replay::ReplayBuffer;
use crate::mcp::streams::subscription;
use crate::mcp::{self, Header, ServerEvent};

/// How long a call continues after its client has lost the stream, and how long its answer is kept.
const GRACE: Duration = Duration::from_mins(1);

/// Opens the stream of an answer that is more than one message.
pub(in crate::http) fn stream(
    request: &HttpRequest,
    mcp_request: &McpRequest,
    messages: ProgressStream,
    session: Option<Arc<Session>>,
) -> HttpResponse {
    if let Some(session) = session.filter(|session| session.resumes()) {
        let owner = mcp_request.context(&RequestContext::default()).owner();
        return sse::open(request, record(session, messages, owner), None, Resumption::ByLastEventId);
    }
    let events = messages.into_stream().filter_map(|told| {
        ready(match told {
            OutboundMessage::Message(message) => Some(ServerEvent::message(message)),
            // Only streams that can be taken up again are paused.
            OutboundMessage::Pause => None,
        })
    });
    sse::open(request, events.take_until(Box::pin(socket::left(request))), None, Resumption::None)
}

/// Records an answer while it is sent. A client that loses its stream does not cancel the call, which continues for
/// a grace period in which the stream can be resumed.
fn record(session: Arc<Session>, mut messages: ProgressStream, owner: Owner) -> impl Stream<Item = ServerEvent> {
    let recording = session.record(owner);
    let events = recording.follow(None);
    rt::spawn(async move {
        {
            let deserted = recording.deserted(GRACE);
            tokio::pin!(deserted);
            loop {
                tokio::select! {
                    told = messages.next() => match told {
                        Some(OutboundMessage::Message(message)) => recording.push(message),
                        Some(OutboundMessage::Pause) => recording.pause(),
                        None => break,
                    },
                    () = &mut deserted => break,
                }
            }
        }
        drop(messages);
        recording.end();
        if session.retain(&recording) {
            tokio::select! {
                () = rt::time::sleep(GRACE) => {}
                () = session.over() => {}
            }
            session.forget(&recording);
        }
    });
    events
}

/// Tells the client the id of the new session.
pub(in crate::http) fn name_session(response: &mut HttpResponse, session: &Session) {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(HeaderName::from_static("mcp-session-id"), id);
    }
}

/// `GET /mcp/connections/{connectionId}`: a stream of change notifications, or the rest of an answer whose stream
/// broke off.
pub(in crate::http) async fn get(request: HttpRequest, address: Address, app: web::Data<App>) -> HttpResponse {
    let mut recorder = CallRecorder::begin(&request, &app);
    open(&request, &app, &address, &mut recorder).await.unwrap_or_else(|refused| refused)
}

async fn open(
    request: &HttpRequest,
    app: &web::Data<App>,
    address: &Address,
    recorder: &mut CallRecorder,
) -> Result<HttpResponse, HttpResponse> {
    let mcp_request = Rc::new(enter_session(request, app, address, recorder).await?);
    // A client that takes just anything does not expect a stream without an end.
    if !accept::names(request, sse::MEDIA_TYPE) {
        recorder.finish(0, Some(&Error::invalid("Accept")));
        let failure = RpcError::envelope("Accept must name text/event-stream");
        return Err(error::protocol(error::NOT_ACCEPTABLE, &failure, None));
    }
    let session = mcp::find_session(&mcp_request.context(&RequestContext::default()), &mcp_request.headers.session)
        .map_err(|refusal| refuse(&refusal, recorder))?;
    let last = match &mcp_request.headers.last_event {
        Header::Absent => None,
        Header::One(id) if subscription::is_listening(id) => Some(id.as_str()),
        other => return Ok(resume(request, &mcp_request, other, session.as_deref(), recorder)),
    };
    let guard = mcp_request.guard(request).map_err(|refusal| refuse(&refusal, recorder))?;
    recorder.note(|event| "listen".clone_into(&mut event.what));
    recorder.finish(0, None);
    let listening = session.map(|session| session.listen());
    let events = subscription::announcements(listening, mcp_request.changes().await, guard.closing(), last);
    Ok(sse::open(request, events, Some(guard), Resumption::None))
}

/// The rest of the answer that `last` names.
fn resume(
    request: &HttpRequest,
    mcp_request: &McpRequest,
    last: &Header,
    session: Option<&Session>,
    recorder: &mut CallRecorder,
) -> HttpResponse {
    let owner = mcp_request.context(&RequestContext::default()).owner();
    let found = match (last, session) {
        (Header::One(id), Some(session)) => ReplayBuffer::read_id(id).map_or(Ok(None), |(stream, number)| {
            let recording = session.recording(stream, &owner)?;
            Ok(recording.filter(|recording| !recording.is_read(number)).map(|recording| (recording, number)))
        }),
        _ => Ok(None),
    };
    match found {
        Err(refusal) => refuse(&refusal, recorder),
        Ok(Some((recording, number))) => {
            let guard = match mcp_request.guard(request) {
                Ok(guard) => guard.of_one_answer(),
                Err(refusal) => return refuse(&refusal, recorder),
            };
            recorder.note(|event| "resume".clone_into(&mut event.what));
            recorder.finish(0, None);
            // The credential of the first request does not authorise this reader.
            let events = recording.follow(Some(number)).take_until(guard.closing().cancelled_owned());
            sse::open(request, events, Some(guard), Resumption::ByLastEventId)
        }
        // 404 would say that the session is gone.
        Ok(None) => refuse(
            &Error::invalid("Last-Event-ID: there is no such stream in this session, or nothing more comes on it").hint(
                "leave the header out to listen for changes; a call whose answer was lost may have been done, so look at \
                 what it did before you call again",
            ),
            recorder,
        ),
    }
}

/// `DELETE /mcp/connections/{connectionId}`: ends a session.
pub(in crate::http) async fn delete(request: HttpRequest, address: Address, app: web::Data<App>) -> HttpResponse {
    let mut recorder = CallRecorder::begin(&request, &app);
    let ended = async {
        let mcp_request = enter_session(&request, &app, &address, &mut recorder).await?;
        mcp::end_session(&mcp_request.context(&RequestContext::default()), &mcp_request.headers.session)
            .map_err(|refusal| refuse(&refusal, &mut recorder))?;
        recorder.note(|event| "end of session".clone_into(&mut event.what));
        recorder.finish(0, None);
        Ok(HttpResponse::NoContent().finish())
    };
    ended.await.unwrap_or_else(|refused| refused)
}

/// Admits the caller of a method that only the 2025 revisions have.
async fn enter_session(
    request: &HttpRequest,
    app: &web::Data<App>,
    address: &Address,
    recorder: &mut CallRecorder,
) -> Result<McpRequest, HttpResponse> {
    let mcp_request = enter(request, app, address, recorder).await?;
    match &mcp_request.headers.version {
        Header::Absent => {}
        Header::One(version) if SESSION_VERSIONS.contains(&version.as_str()) => {}
        Header::One(version) if version == STATELESS_VERSION => {
            recorder.finish(0, Some(&Error::invalid("method")));
            return Err(error::method_not_allowed("POST"));
        }
        _ => {
            let refusal = Error::invalid("MCP-Protocol-Version: this revision is not served")
                .hint(format!("revisions with this method: {}", SESSION_VERSIONS.join(", ")));
            return Err(refuse(&refusal, recorder));
        }
    }
    mcp_request.check_filter(None, recorder)?;
    Ok(mcp_request)
}

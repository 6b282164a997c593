//! `POST` at the MCP endpoint: admission, media types, the body, and then the protocol. Answers that
//! are streams are opened in `streams.rs`.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
use futures_util::FutureExt;
use portico_actors::error::{Error, Kind, Result};

use crate::app::App;
use crate::audit;
use crate::http::accept::takes;
use crate::http::mcp::admission::{self, Address};
use crate::http::mcp::open_streams::StreamGuard;
use crate::http::mcp::request::{McpRequest, MessageRecorder, enter, refuse};
use crate::http::mcp::{sse, streams};
use crate::http::middleware::body;
use crate::http::middleware::limits::{self, CallSlot};
use crate::http::middleware::recorder::CallRecorder;
use crate::http::{connections::socket, error};
use crate::mcp::envelope::{self, Body, ResponseStatus, RpcError};
use crate::mcp::extensions::tasks;
use crate::mcp::model::Message;
use crate::mcp::request_context::RequestContext;
use crate::mcp::streams::progress_stream::ProgressStream;
use crate::mcp::{self, Outcome, ParsedRequest};

/// `POST /mcp/connections/{connectionId}`, and `POST /mcp`.
pub(in crate::http) async fn post(
    request: HttpRequest,
    address: Address,
    payload: web::Payload,
    app: web::Data<App>,
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(&request, &app);
    let (mcp_request, parsed, body, takes_streams) = match take(&request, payload, &app, &address, &mut recorder).await
    {
        Ok(taken) => taken,
        Err(response) => return response,
    };
    let streams = matches!(body, Body::One(_)) && takes_streams;
    let message = single(&body).and_then(Message::id).cloned();
    let (request_context, outbound) = RequestContext::begin(parsed, streams, app.room(&mcp_request.by));
    let (mcp_request, request_context) = (Rc::new(mcp_request), Arc::new(request_context));
    let listening = Rc::new(Listening { request: request.clone(), takes_streams, admitted: RefCell::default() });
    let begun = (Rc::clone(&mcp_request), Arc::clone(&request_context), Rc::clone(&listening));
    let mut call = call(begun, body, recorder);
    if let Some(message) = message.filter(|_| request_context.client_extends(tasks::EXTENSION)) {
        let (asked, validity) =
            ((message, mcp_request.context(&request_context).owner()), mcp_request.by.validity.clone());
        let lost = async move { validity.lost().await };
        call = tasks::promote(app.tasks.clone(), call, Arc::clone(&request_context), asked, lost).boxed_local();
    }
    let mut messages = ProgressStream::new(call, Arc::clone(&request_context), outbound);
    if streams {
        messages = messages.holding(CallSlot::from_request(&request));
    }
    // As long as nothing has to be sent before the answer, its status can still be chosen.
    let outcome = socket::while_present(&request, pin!(messages.outcome())).await;
    let outcome = match outcome {
        Ok(None) => return streams::stream(&request, &mcp_request, messages, request_context.session().cloned()),
        Ok(Some(outcome)) => Ok(outcome),
        Err(left) => Err(left),
    };
    let mut response = respond(&request, &mcp_request, &address, outcome, &listening).await;
    if let Some(room) = request_context.take_room() {
        limits::hold(&mut response.extensions_mut(), room);
    }
    response
}

/// Everything that is judged before the protocol is reached, and whether the client takes streams.
async fn take(
    request: &HttpRequest,
    payload: web::Payload,
    app: &web::Data<App>,
    address: &Address,
    recorder: &mut CallRecorder,
) -> Result<(McpRequest, ParsedRequest, Body, bool), HttpResponse> {
    let mcp_request = enter(request, app, address, recorder).await?;
    let takes_streams = media_types(request, recorder)?;
    let read = body::read(request, payload).await;
    let bytes = read.map_err(|refusal| refuse(&refusal, recorder))?;
    let request_context = RequestContext::default();
    let context = mcp_request.context(&request_context);
    let batches = if bytes.trim_ascii_start().starts_with(b"[") {
        mcp::receive_batch(&context, &mcp_request.headers).map_err(|refusal| refuse(&refusal, recorder))?
    } else {
        None
    };
    let read = envelope::read_body(&bytes, batches.is_some()).map_err(|(id, failure)| {
        recorder.finish(0, Some(&Error::invalid("envelope")));
        error::protocol(error::rpc_status(failure.status), &failure, id.as_ref())
    })?;
    let message = single(&read);
    mcp_request.check_filter(message.and_then(Message::id), recorder)?;
    let parsed = match (message, batches) {
        (None, Some(parsed)) => parsed,
        (None, None) => return Err(refuse(&Error::internal("bug: a batch was read where none is accepted"), recorder)),
        (Some(message), _) => {
            mcp::receive(&context, &mcp_request.headers, message).map_err(|refusal| refuse(&refusal, recorder))?
        }
    };
    Ok((mcp_request, parsed, read, takes_streams))
}

fn single(body: &Body) -> Option<&Message> {
    match body {
        Body::One(message) => Some(message),
        Body::Several(_) => None,
    }
}

/// The answer to a message that listens: its stream, or an error.
struct Listening {
    request: HttpRequest,
    takes_streams: bool,
    admitted: RefCell<Option<Result<StreamGuard, HttpResponse>>>,
}

impl Listening {
    /// Finds out whether the stream can be opened; the refusal is for the record.
    fn admit(&self, mcp_request: &McpRequest) -> Result<()> {
        let (refusal, response) = if self.takes_streams {
            match mcp_request.guard(&self.request) {
                Ok(guard) => {
                    self.admitted.replace(Some(Ok(guard)));
                    return Ok(());
                }
                Err(refusal) => (refusal.clone(), error::transport(&refusal, None)),
            }
        } else {
            let message = "Accept must allow text/event-stream: subscriptions/listen is answered with a stream";
            (Error::invalid("Accept"), not_acceptable(message))
        };
        self.admitted.replace(Some(Err(response)));
        Err(refusal)
    }
}

/// The work of answering, which can outlive the handler. Dropping it cancels it.
fn call(
    (mcp_request, request_context, listening): (Rc<McpRequest>, Arc<RequestContext>, Rc<Listening>),
    body: Body,
    recorder: CallRecorder,
) -> futures_util::future::LocalBoxFuture<'static, Outcome> {
    async move {
        // It can go on when its client has lost the stream, and the end of the service waits for it.
        let _running = mcp_request.app.begin();
        let mut message_recorder = MessageRecorder::new(recorder, Rc::clone(&mcp_request));
        let (context, features) = (mcp_request.context(&request_context), mcp_request.app.features().as_ref());
        let (headers, summary) = (&mcp_request.headers, &mut message_recorder.summary);
        let asked = single(&body).and_then(Message::id).cloned();
        let outcome = tokio::select! {
            biased;
            () = mcp_request.by.validity.lost() => None,
            // Written inline: a future in a variable would take its memory twice, there and where it is polled.
            outcome = async {
                match body {
                    Body::One(message) => mcp::answer(&context, features, headers, message, summary).await,
                    Body::Several(messages) => {
                        Box::pin(mcp::answer_batch(&context, features, headers, messages, summary)).await
                    }
                }
            } => Some(outcome),
        };
        let outcome = outcome.unwrap_or_else(|| {
            let refusal = mcp_request.by.validity.of_call(&request_context.effects).refusal();
            message_recorder.summary.failure = Some(refusal.kind);
            message_recorder.summary.reason = audit::reason(&refusal);
            let body = RpcError::transport(error::code(refusal.kind), &refusal).body(asked.as_ref());
            if refusal.kind == Kind::Unauthenticated {
                Outcome::Denied(refusal, body)
            } else {
                // No challenge: clients would send again what may stand.
                Outcome::Response(ResponseStatus::Answered, body)
            }
        });
        if let Outcome::Listening(_) = &outcome
            && let Err(refusal) = listening.admit(&mcp_request)
        {
            message_recorder.summary.failure = Some(refusal.kind);
            message_recorder.summary.reason = audit::reason(&refusal);
        }
        message_recorder.answered = true;
        message_recorder.bytes = outcome.bytes();
        message_recorder.close().await;
        outcome
    }
    .boxed_local()
}

/// Returns the response to a message, unless it is the stream of a call.
async fn respond(
    request: &HttpRequest,
    mcp_request: &Rc<McpRequest>,
    address: &Address,
    outcome: Result<Outcome>,
    listening: &Listening,
) -> HttpResponse {
    let json =
        |status, body| HttpResponse::build(error::rpc_status(status)).content_type("application/json").body(body);
    match outcome {
        // A cancelled request has no response, and this status says so.
        Ok(Outcome::Accepted | Outcome::Cancelled) => HttpResponse::Accepted().finish(),
        Ok(Outcome::Response(status, body)) => json(status, body),
        Ok(Outcome::Begun(session, body)) => {
            let mut response = json(envelope::ResponseStatus::Answered, body);
            streams::name_session(&mut response, &session);
            response
        }
        Ok(Outcome::Listening(subscription)) => match listening.admitted.take() {
            Some(Ok(guard)) => {
                let events = subscription.events(Box::pin(mcp_request.changes()).await, guard.closing());
                sse::open(request, events, Some(guard), sse::Resumption::None)
            }
            Some(Err(response)) => response,
            None => error::transport(&Error::internal("bug: a stream was opened without admission"), None),
        },
        Ok(Outcome::Denied(refusal, _)) => {
            error::transport(&refusal, Some(&admission::challenge(request, &mcp_request.app, address)))
        }
        Err(left) => error::transport(&left, None),
    }
}

/// Every method that the endpoint does not have.
pub(in crate::http) async fn other(request: HttpRequest, address: Address, app: web::Data<App>) -> HttpResponse {
    let mut recorder = CallRecorder::begin(&request, &app);
    if let Err(refused) = enter(&request, &app, &address, &mut recorder).await {
        return refused;
    }
    recorder.finish(0, Some(&Error::invalid("method")));
    error::method_not_allowed("GET, POST, DELETE")
}

/// Refuses media types other than JSON and event streams. Returns whether the client accepts streams.
fn media_types(request: &HttpRequest, recorder: &mut CallRecorder) -> Result<bool, HttpResponse> {
    let [takes_json, takes_streams] = takes(request, ["application/json", sse::MEDIA_TYPE]);
    let refused = if !request.content_type().eq_ignore_ascii_case("application/json") {
        let failure = RpcError::envelope("Content-Type must be application/json");
        error::protocol(error::UNSUPPORTED_MEDIA_TYPE, &failure, None)
    } else if let Some(refusal) = body::coded(request) {
        let failure = RpcError::envelope(envelope::message(&refusal));
        error::coding_refused(error::protocol(error::UNSUPPORTED_MEDIA_TYPE, &failure, None))
    } else if !takes_json && !takes_streams {
        not_acceptable("Accept must allow application/json or text/event-stream")
    } else {
        return Ok(takes_streams);
    };
    recorder.finish(0, Some(&Error::invalid("media type")));
    Err(refused)
}

fn not_acceptable(message: &str) -> HttpResponse {
    let failure = RpcError::envelope(message);
    error::protocol(error::NOT_ACCEPTABLE, &failure, None)
}

//! From a message to its outcome: era, session, the rules of its era, and then the method's handler. What a method
//! does is not known here.

use std::sync::Arc;

use portico_actors::error::{Error, Kind};
use portico_actors::trace::TraceParent;

use crate::audit;
use crate::mcp::call::{MethodCall, MethodResult, Outcome};
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::{self, ResponseStatus, RpcError, params_error};
use crate::mcp::era::{self, Era};
use crate::mcp::features::{Features, RequestError, tool_result};
use crate::mcp::logging::Level;
use crate::mcp::methods::{self, Handler, Method};
use crate::mcp::model::{Header, Headers, META_LOG_LEVEL, Message, Meta, Params};
use crate::mcp::request_context::ParsedRequest;
use crate::mcp::sessions::Session;
use crate::mcp::streams::progress;
use crate::mcp::versions::{session, stateless};
use crate::tools;

/// Reads a message: its era, its session, and whether it asks for progress.
///
/// # Errors
/// There is no such session, or it is not this caller's.
pub fn receive(context: &Context<'_>, headers: &Headers, message: &Message) -> Result<ParsedRequest, Error> {
    let none = Meta::default();
    let (method, meta) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (method.as_str(), &params.meta)
        }
        Message::Response { .. } => ("", &none),
    };
    let era = match &headers.version {
        Header::Invalid => Era::Stateless,
        version => era::decide(version.value(), meta.version.is_some()),
    };
    let session = match era {
        Era::Session if method != "initialize" => find_session(context, &headers.session)?,
        _ => None,
    };
    let mut parsed = ParsedRequest::quiet(era, session);
    if era == Era::Stateless {
        // An invalid level is refused only after everything else was checked.
        parsed.level = log_level(meta).unwrap_or_default();
        parsed.capabilities = meta.capabilities();
        parsed.client.clone_from(&meta.client);
    }
    if method == "tools/call" {
        parsed.token = meta.progress_token.as_deref().and_then(progress::read_token);
    }
    Ok(parsed)
}

/// Reads the lowest severity of log messages that the client wants for this request.
fn log_level(meta: &Meta) -> Result<Option<Level>, RpcError> {
    Level::read(meta.log_level.as_deref(), META_LOG_LEVEL)
}

/// Returns the session that `header` names, if it names one.
///
/// # Errors
/// There is no such session, or it is not this caller's.
pub fn find_session(context: &Context<'_>, header: &Header) -> Result<Option<Arc<Session>>, Error> {
    let found = match header {
        Header::Absent => return Ok(None),
        Header::One(id) => context.sessions.find(id, &context.owner()),
        Header::Invalid => None,
    };
    found
        .map(Some)
        .ok_or_else(|| Error::not_found("there is no such session").hint("initialize again, without Mcp-Session-Id"))
}

/// Ends the session that `header` names.
///
/// # Errors
/// There is no such session, or it is not this caller's, or none is named.
pub fn end_session(context: &Context<'_>, header: &Header) -> Result<(), Error> {
    let session = find_session(context, header)?
        .ok_or_else(|| Error::invalid("the header Mcp-Session-Id is missing").hint("it names the session to end"))?;
    context.sessions.end(&session.id, &context.owner());
    Ok(())
}

/// Answers one message about what `features` offer.
pub async fn answer(
    context: &Context<'_>,
    features: &dyn Features,
    headers: &Headers,
    message: Message,
    summary: &mut Summary,
) -> Outcome {
    let session = context.request.session();
    let is_stateless = context.request.era == Era::Stateless;
    let mut refused = |refusal: RpcError| {
        summary.failure = Some(Kind::Invalid);
        Outcome::Response(refusal.status, refusal.body(None))
    };
    let (id, method, params) = match message {
        Message::Request { id, method, params } => (id, method, params),
        Message::Notification { method, .. } if is_stateless => {
            let checked = stateless::check_notification(&method, headers);
            let outcome = checked.map_or_else(&mut refused, |()| Outcome::Accepted);
            summary.what = method;
            return outcome;
        }
        Message::Response { .. } if is_stateless => {
            summary.what.push_str("response");
            return refused(RpcError::envelope(
                "a response belongs to a session, and this revision asks clients nothing",
            ));
        }
        Message::Notification { method, params } => {
            if method == "notifications/cancelled"
                && let (Some(session), Ok(mut fields)) = (session, params.fields)
            {
                session::cancel(session, &mut fields);
            }
            summary.what = method;
            return Outcome::Accepted;
        }
        Message::Response { id, answer } => {
            if let (Some(session), Some(id)) = (session, id) {
                session.answered(&id, answer);
            }
            summary.what.push_str("response");
            return Outcome::Accepted;
        }
    };
    summary.what.clone_from(&method);
    summary.parent = params.meta.traceparent.as_deref().and_then(TraceParent::parse);
    summary.trace = summary.parent.and_then(|parent| context.traces.join(Some(parent)));
    let call = MethodCall { context, features, headers, id: &id, method: &method };
    let Some(session) = session else {
        return respond(&call, params, summary).await;
    };
    let running = session.run(id.as_json());
    let cancelled = tokio::select! {
        biased;
        () = running.cancelled() => None,
        outcome = respond(&call, params, summary) => Some(outcome),
    };
    cancelled.unwrap_or_else(|| {
        summary.failure = Some(Kind::Abandoned);
        Outcome::Cancelled
    })
}

async fn respond(call: &MethodCall<'_>, params: Params, summary: &mut Summary) -> Outcome {
    let id = call.id;
    let method = methods::find(call.method, call.context.request.era);
    let result = match checked(call, method, &params) {
        Ok(method) => handled(call, method, params, summary).await,
        Err(refusal) => Err(refusal),
    };
    let complete = |result: String| match call.context.request.era {
        Era::Stateless => stateless::complete(result, method.is_some_and(|method| method.cacheable)),
        Era::Session => result,
    };
    let success = |result: String| Outcome::Response(ResponseStatus::Answered, envelope::success(id, result));
    match result {
        Ok(MethodResult::Complete(result)) => success(complete(result)),
        Ok(MethodResult::InputRequired(result)) => success(stateless::with_type(result, "input_required")),
        Ok(MethodResult::Begun(session, result)) => Outcome::Begun(session, envelope::success(id, result)),
        Ok(MethodResult::Listening(subscription)) => Outcome::Listening(subscription),
        Err(RequestError::Protocol(failure)) => {
            summary.failure = summary.failure.or(Some(Kind::Invalid));
            Outcome::Response(failure.status, failure.body(Some(id)))
        }
        Err(RequestError::Tool(error)) => {
            summary.failure = Some(error.kind);
            summary.reason = audit::reason(&error);
            let result = complete(tool_result::error(&error));
            match error.get_needs() {
                Some(_) => Outcome::Denied(error, envelope::success(id, result)),
                None => success(result),
            }
        }
    }
}

/// Checks what a request of its era must carry. Returns its method.
fn checked(
    call: &MethodCall<'_>,
    method: Option<&'static Method>,
    params: &Params,
) -> Result<&'static Method, RequestError> {
    if call.context.request.era == Era::Session {
        return method.ok_or_else(|| call.unknown());
    }
    stateless::check(call.method, &params.meta, call.headers)?;
    let method = method.ok_or_else(|| call.unknown())?;
    if let Some(subject) = method.subject {
        stateless::check_subject(subject, params, call.headers)?;
    }
    log_level(&params.meta)?;
    Ok(method)
}

/// Runs the method's handler.
async fn handled(
    call: &MethodCall<'_>,
    method: &Method,
    params: Params,
    summary: &mut Summary,
) -> Result<MethodResult, RequestError> {
    let context = call.context;
    // The fixed tools are there without the source; for several connections, each would have to be started.
    let is_fixed = || {
        let name = params.fields.as_ref().ok().and_then(|fields| fields.peek(method.subject?).ok()?);
        name.is_some_and(|name| tools::fixed_names().any(|fixed| fixed == name))
    };
    let is_needed = method.needs_source && (context.target.named().is_some() || !is_fixed());
    let held = if is_needed { Some(context.target.held(context.directory).await) } else { None };
    let target = held.as_ref().map_or(context.target, |(target, _)| target);
    let call = MethodCall { context: &Context { target, by: Arc::clone(&context.by), ..*context }, ..*call };
    let fields = params.fields.map_err(params_error);
    match method.handler {
        Handler::Sync(answer) => answer(&call, fields),
        Handler::Async(answer) => answer(&call, fields, summary).await,
    }
}

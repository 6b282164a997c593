//! From a message to its outcome: era, session, the rim of its era, and then the one dispatch. What
//! a method does is not known here.

use std::sync::Arc;

use portico_actors::error::{Error, Kind};
use portico_actors::trace::TraceParent;
use serde_json::Value;
use serde_json::value::RawValue;

use super::dispatch::{Found, dispatch};
use super::envelope::{self, Id, Message, Standing};
use super::era::{self, Era};
use super::logging::Level;
use super::progress::Token;
use super::sessions::Session;
use super::subscription::Subscription;
use super::{Context, Header, Headers, Outcome, Refusal, Summary, session, stateless, tasks, tool_result};
use crate::audit;

/// What is known of a message before it is answered.
#[derive(Debug)]
pub struct Reception {
    pub(super) era: Era,
    /// The session that it belongs to.
    pub session: Option<Arc<Session>>,
    /// The name under which the caller wants to hear of its progress; only calls have any.
    pub token: Option<Token>,
    /// From which severity on the caller wants log messages of this request alone.
    pub(super) level: Option<Level>,
    /// What the client can do, as far as it has declared that.
    pub(super) capabilities: Value,
}

impl Reception {
    /// Of what has neither progress nor log messages: a batch.
    pub(super) fn quiet(era: Era, session: Option<Arc<Session>>) -> Self {
        let capabilities = session.as_ref().map(|session| session.capabilities()).unwrap_or_default();
        Self { era, session, token: None, level: None, capabilities }
    }
}

/// Looks at a message: its era, its session, and whether it wants to hear of its progress.
///
/// # Errors
/// There is no such session, or it is not this caller's.
pub fn receive(context: &Context<'_>, headers: &Headers, message: &Message) -> Result<Reception, Error> {
    let (method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (method.as_str(), params.as_deref().map(RawValue::get))
        }
        Message::Response { .. } => ("", None),
    };
    let era = match &headers.version {
        Header::Invalid => Era::Stateless,
        version => era::decide(version.value(), stateless::meta_names_version(params)),
    };
    let session = match era {
        Era::Session if method != "initialize" => find_session(context, &headers.session)?,
        _ => None,
    };
    let mut reception = Reception::quiet(era, session);
    if era == Era::Stateless {
        // A level that is none is refused behind everything else that may be wrong.
        reception.level = stateless::log_level(params).unwrap_or_default();
        reception.capabilities = stateless::capabilities_of(params);
    }
    if method == "tools/call" {
        reception.token = Token::of(params);
    }
    Ok(reception)
}

/// The session that `header` names, if it names one.
///
/// # Errors
/// There is no such session, or it is not this caller's.
pub fn find_session(context: &Context<'_>, header: &Header) -> Result<Option<Arc<Session>>, Error> {
    let found = match header {
        Header::Absent => return Ok(None),
        Header::One(id) => context.sessions.find(id, &context.holder()),
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
    context.sessions.end(session.id(), &context.holder());
    Ok(())
}

/// Answers one message.
pub async fn answer(
    context: &Context<'_>,
    headers: &Headers,
    reception: &Reception,
    message: Message,
    summary: &mut Summary,
) -> Outcome {
    let (id, method, params) = match message {
        Message::Request { id, method, params } => (id, method, params),
        Message::Notification { method, params } => {
            if method == "notifications/cancelled"
                && let Some(session) = &reception.session
            {
                session::cancel(session, params.as_deref().map(RawValue::get));
            }
            summary.what = method;
            return Outcome::Accepted;
        }
        Message::Response { id, answer } => {
            if let (Some(session), Some(id)) = (&reception.session, id) {
                session.answered(&id, answer);
            }
            summary.what.push_str("response");
            return Outcome::Accepted;
        }
    };
    let params = params.as_deref().map(RawValue::get);
    summary.what.clone_from(&method);
    summary.parent = trace(params);
    summary.trace = summary.parent.and_then(|parent| context.traces.join(Some(parent)));
    let Some(session) = &reception.session else {
        return respond(context, headers, reception.era, &id, &method, params, summary).await;
    };
    let running = session.run(id.as_json());
    let cancelled = tokio::select! {
        biased;
        () = running.cancelled() => None,
        outcome = respond(context, headers, reception.era, &id, &method, params, summary) => Some(outcome),
    };
    cancelled.unwrap_or_else(|| {
        summary.failure = Some(Kind::Abandoned);
        Outcome::Cancelled
    })
}

/// The trace in `_meta` of a message.
fn trace(params: Option<&str>) -> Option<TraceParent> {
    TraceParent::parse(&stateless::meta(params)?.string("traceparent").ok()??)
}

async fn respond(
    context: &Context<'_>,
    headers: &Headers,
    era: Era,
    id: &Id,
    method: &str,
    params: Option<&str>,
    summary: &mut Summary,
) -> Outcome {
    let checked = match era {
        Era::Stateless => stateless::check(method, params, headers),
        Era::Session => Ok(()),
    };
    let result = match (checked, method, era) {
        (Err(failure), ..) => Err(failure.into()),
        (Ok(()), "subscriptions/listen", Era::Stateless) => {
            let read = Subscription::read(id, params, &context.features.capabilities());
            match read.and_then(|subscription| tasks::follow(context, subscription)) {
                Ok(subscription) => return Outcome::Listening(subscription),
                Err(failure) => Err(failure.into()),
            }
        }
        (Ok(()), "initialize", Era::Session) => match session::initialize(params, context.features.capabilities()) {
            Ok(handshake) => {
                let session = context.sessions.begin(context.holder(), handshake.version, handshake.capabilities);
                return Outcome::Begun(session, envelope::success(id, &handshake.result));
            }
            Err(failure) => Err(failure.into()),
        },
        (Ok(()), ..) => dispatch(context, headers, era, method, params, summary).await,
    };
    let complete = |result: Found| match (era, result) {
        (Era::Stateless, Found::Complete(result)) => stateless::complete(result, method),
        (Era::Stateless, Found::InputRequired(result)) => stateless::input_required(result),
        (Era::Session, Found::Complete(result) | Found::InputRequired(result)) => result,
    };
    match result {
        Ok(result) => Outcome::Response(Standing::Answered, envelope::success(id, &complete(result))),
        Err(Refusal::Protocol(failure)) => {
            summary.failure = summary.failure.or(Some(Kind::Invalid));
            Outcome::Response(failure.standing, failure.body(Some(id)))
        }
        Err(Refusal::Tool(error)) => {
            summary.failure = Some(error.kind);
            summary.reason = audit::reason(&error);
            let result = complete(Found::Complete(tool_result::error(&error)));
            Outcome::Response(Standing::Answered, envelope::success(id, &result))
        }
        Err(Refusal::Scope(error)) => {
            summary.failure = Some(error.kind);
            summary.reason = audit::reason(&error);
            let body = envelope::success(id, &complete(Found::Complete(tool_result::error(&error))));
            Outcome::Denied(error, body)
        }
    }
}

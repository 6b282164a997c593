//! Several messages in one body, which 2025-03-26 has and no other revision: each is answered as
//! if it were alone, one after the other.

use portico_actors::error::{Kind, Result};
use serde_json::{Value, json};

use crate::mcp::answer::{answer, find_session};
use crate::mcp::call::Outcome;
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::{ResponseStatus, RpcError};
use crate::mcp::era::Era;
use crate::mcp::features::Features;
use crate::mcp::model::{Header, Headers, Id, Message, present};
use crate::mcp::request_context::ParsedRequest;

/// The revision that has batches.
const VERSION: &str = "2025-03-26";

/// Returns whether batches are accepted: in a session that negotiated the revision with batches, or without a
/// session if the header names it.
///
/// # Errors
/// There is no such session, or it is not this caller's.
pub fn receive_batch(context: &Context<'_>, headers: &Headers) -> Result<Option<ParsedRequest>> {
    let session = find_session(context, &headers.session)?;
    let statement = match &headers.version {
        Header::Absent => session.as_ref().map(|session| session.version),
        Header::One(version) => Some(version.as_str()),
        Header::Invalid => None,
    };
    let taken = statement == Some(VERSION) && session.as_ref().is_none_or(|session| session.version == VERSION);
    Ok(taken.then(|| ParsedRequest::quiet(Era::Session, session)))
}

/// Answers each message of a batch. Responses are in the order of the requests; without any request there is none.
pub async fn answer_batch(
    context: &Context<'_>,
    features: &dyn Features,
    headers: &Headers,
    messages: Vec<Result<Message, (Option<Id>, RpcError)>>,
    summary: &mut Summary,
) -> Outcome {
    let mut responses: Vec<Vec<u8>> = Vec::new();
    let (mut rows, mut failure, mut calls) = (0, None, Vec::new());
    for message in messages {
        let message = match message {
            // It must not be part of a batch: nothing can be sent before it is answered.
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                Err((Some(id), RpcError::envelope("initialize must not be part of a batch")))
            }
            message => message,
        };
        let response = match message {
            Err((id, refusal)) => {
                if context.audit.is_some() {
                    calls.push(json!({ "outcome": Kind::Invalid.as_str(), "reason": refusal.message }));
                }
                failure = failure.or(Some(Kind::Invalid));
                Some(refusal.body(id.as_ref()))
            }
            Ok(message) => {
                // Nothing of one message is told of the next.
                let mut own = Summary::default();
                let response = answer(context, features, headers, message, &mut own).await.into_body();
                if context.audit.is_some() {
                    calls.push(account(&own));
                }
                rows += own.rows;
                failure = failure.or(own.failure);
                summary.cause = summary.cause.take().or(own.cause);
                summary.asked = summary.asked.or(own.asked);
                for (whole, part) in [(&mut summary.queued, own.queued), (&mut summary.source, own.source)] {
                    *whole = whole.map_or(part, |whole| Some(whole + part.unwrap_or_default()));
                }
                response
            }
        };
        responses.extend(response);
    }
    "batch".clone_into(&mut summary.what);
    (summary.rows, summary.failure, summary.calls) = (rows, failure, calls);
    if responses.is_empty() {
        return Outcome::Accepted;
    }
    let mut body = b"[".to_vec();
    body.extend_from_slice(&responses.join(&b','));
    body.push(b']');
    Outcome::Response(ResponseStatus::Answered, body)
}

/// The connection that a call was for, or all of them.
fn connection(summary: &Summary) -> Option<String> {
    if summary.several.is_empty() {
        return summary.connection.as_ref().map(|entry| entry.name.to_string());
    }
    Some(summary.several.join(", "))
}

/// One call of a batch, as the audit trail keeps it.
fn account(summary: &Summary) -> Value {
    let mut call = present(json!({
        "tool": summary.what,
        "connection": connection(summary),
        "workspace": summary.workspace,
        "rows": summary.rows,
        "outcome": summary.failure.map_or("ok", Kind::as_str),
        "class": summary.class,
        "code": summary.code,
        "reason": summary.reason,
    }));
    if let (Some(call), Ok(Value::Object(statement))) = (call.as_object_mut(), serde_json::to_value(&summary.statement))
    {
        call.extend(statement);
    }
    call
}

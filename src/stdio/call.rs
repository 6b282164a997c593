//! One message of a client in transit: its headers, whether it was cancelled, and how its answer reaches the
//! client.

use std::cell::Cell;
use std::rc::Rc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use portico_actors::error::{Error, Kind};
use reqwest::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::events::Events;
use super::frames::Outbox;
use super::server::{Failure, Headers, STREAM};
use crate::mcp;
use crate::mcp::envelope::RpcError;
use crate::mcp::model::{Id, Params};

/// Whether the method is idempotent: it is sent again where the connection broke before its answer.
pub(super) fn is_repeatable(method: &str) -> bool {
    !matches!(method, "tools/call" | "tasks/update" | "tasks/cancel")
}

/// A message that is carried.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The request's id; `None` for a message without an answer.
    pub(super) id: Option<Id>,
    pub(super) method: String,
    pub(super) body: Bytes,
    /// Whether it names its protocol version itself.
    pub(super) is_stateless: bool,
    /// Set when the client has cancelled it: it gets no more messages about it.
    pub(super) is_silent: Rc<Cell<bool>>,
    /// Cancelled when it is to end.
    pub(super) over: CancellationToken,
}

/// How an answer came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ForwardOutcome {
    /// The answer was passed on to its end.
    Whole,
    /// The stream ended before it, and can be taken up again behind this event.
    Paused(String),
    /// The stream ended without it.
    Missing,
}

/// The members that show whether a message is an answer.
#[derive(Deserialize)]
struct Shape<'m> {
    #[serde(borrow)]
    id: Option<&'m RawValue>,
    method: Option<&'m RawValue>,
}

/// The part of a refusal that is passed on.
#[derive(Deserialize)]
struct Refusal {
    error: Box<RawValue>,
}

impl Call {
    /// Returns the headers that repeat members of a request of 2026-07-28.
    pub(super) fn stateless_headers(&self, params: &Params) -> Headers {
        let version = params.version().map(|version| ("mcp-protocol-version", version.to_owned()));
        let name = mcp::subject_of(&self.method).and_then(|subject| params.text(subject));
        let name = name.map(|name| ("mcp-name", header(&name)));
        let method = ("mcp-method", header(&self.method));
        [Some(method), version.filter(|(_, version)| is_plain(version)), name].into_iter().flatten().collect()
    }

    /// Reports a failure to the client, unless it has cancelled the request.
    pub(super) async fn fail(&self, out: &Outbox, failure: Failure) {
        let error = failure.error();
        log::warn!("{}: {}", self.method, error.cause().unwrap_or(&error.message));
        self.refuse(out, &RpcError::transport(crate::code(error.kind), &error)).await;
    }

    /// Answers with an error.
    pub(super) async fn refuse(&self, out: &Outbox, error: &RpcError) {
        if let Some(id) = &self.id {
            self.say(out, error.body(Some(id))).await;
        }
    }

    /// Passes a message on to the client.
    pub(super) async fn say(&self, out: &Outbox, message: impl Into<Bytes>) {
        if !self.is_silent.get() {
            out.send(message).await;
        }
    }

    /// Passes on the service's answer. A request gets exactly one answer.
    ///
    /// # Errors
    /// The answer broke off.
    pub(super) async fn pass_on(&self, out: &Outbox, response: Response) -> Result<ForwardOutcome, Failure> {
        let status = response.status();
        if status.is_success() && is_stream(&response) {
            return self.follow(out, &mut Events::new(response)).await;
        }
        let body = response.bytes().await.map_err(|error| Failure::from_error(&error))?;
        if status.is_success() && !body.is_empty() {
            self.say(out, body).await;
        } else if status.is_success() {
            // The request was cancelled by ending its session.
            let cancelled = Error::new(Kind::Abandoned, "the request was cancelled").hint("send it again");
            self.refuse(out, &RpcError::transport(crate::code(cancelled.kind), &cancelled)).await;
        } else {
            self.pass_on_refusal(out, status.as_u16(), &body).await;
        }
        Ok(ForwardOutcome::Whole)
    }

    /// A refusal by HTTP alone has no id, or a null one if the body was not read: here it answers a request.
    async fn pass_on_refusal(&self, out: &Outbox, status: u16, body: &[u8]) {
        let words = String::from_utf8_lossy(body);
        // An error in the message is for its sender; a wrong address or token is for people to read.
        let level = if status == 400 || status == 404 { log::Level::Info } else { log::Level::Warn };
        log::log!(level, "{} was answered with the status {status}: {words}", self.method);
        let Some(id) = &self.id else { return };
        match serde_json::from_slice::<Refusal>(body) {
            Ok(Refusal { error }) => {
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}", id.as_json(), error.get());
                self.say(out, answer).await;
            }
            Err(_) => {
                let message = format!("the server answered with the status {status} and without a reason");
                let error = Error::new(Kind::Unavailable, message)
                    .hint("check whether --server is the address of a Portico server, and what is between");
                self.refuse(out, &RpcError::transport(crate::code(error.kind), &error)).await;
            }
        }
    }

    /// Passes on the messages of a stream up to the answer.
    pub(super) async fn follow(&self, out: &Outbox, events: &mut Events) -> Result<ForwardOutcome, Failure> {
        let mut last = None;
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) if last.is_none() => return Err(failure),
                // The rest can be requested again.
                Err(_) => break,
            };
            last = event.id.or(last);
            if event.data.is_empty() {
                continue;
            }
            let is_answer = self.is_answered_by(&event.data);
            self.say(out, event.data).await;
            if is_answer {
                return Ok(ForwardOutcome::Whole);
            }
        }
        match last {
            Some(last) => {
                tokio::time::sleep(events.retry()).await;
                Ok(ForwardOutcome::Paused(last))
            }
            None => Ok(ForwardOutcome::Missing),
        }
    }

    /// Whether `message` is the answer to this request.
    pub(super) fn is_answered_by(&self, message: &[u8]) -> bool {
        let Ok(Shape { id: Some(id), method: None }) = serde_json::from_slice(message) else { return false };
        self.id.as_ref().is_some_and(|own| own.as_json() == id.get())
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(STREAM))
}

fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.trim() == value && value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// A value as a header can carry it (MCP 2026-07-28, transports §Header Encoding).
fn header(value: &str) -> String {
    if is_plain(value) && !value.starts_with("=?base64?") {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_carries_every_value() {
        for (value, expected) in [
            ("tools/call", "tools/call"),
            ("é", "=?base64?w6k=?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("", "=?base64??="),
        ] {
            assert_eq!(header(value), expected);
        }
    }
}

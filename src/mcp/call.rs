//! One request as its method's handler sees it, its result, and the answer to its message.

use std::sync::Arc;

use portico_actors::error::Error;

use crate::fields::Fields;
use crate::mcp::context::Context;
use crate::mcp::envelope::{ResponseStatus, RpcError};
use crate::mcp::era::Era;
use crate::mcp::features::{Features, RequestError};
use crate::mcp::model::{Headers, Id};
use crate::mcp::sessions::Session;
use crate::mcp::streams::subscription::Subscription;

/// The parameters of a request, or their error. Methods without parameters ignore the error.
pub(super) type Params = Result<Fields, RpcError>;

/// One request.
pub(super) struct MethodCall<'a> {
    pub(super) context: &'a Context<'a>,
    /// What is offered at this address.
    pub(super) features: &'a dyn Features,
    pub(super) headers: &'a Headers,
    pub(super) id: &'a Id,
    pub(super) method: &'a str,
}

impl MethodCall<'_> {
    /// The refusal of a method that is not served here.
    pub(super) fn unknown(&self) -> RequestError {
        let status = match self.context.request.era {
            Era::Stateless => ResponseStatus::Unknown,
            Era::Session => ResponseStatus::Answered,
        };
        RpcError::method(self.method, status).into()
    }
}

/// The result of a request.
pub(super) enum MethodResult {
    /// A complete result: a JSON object as text.
    Complete(String),
    /// The client is to send more: a JSON object as text.
    InputRequired(String),
    /// The result of a handshake, and the session that begins with it.
    Begun(Arc<Session>, String),
    /// A stream that stays open.
    Listening(Subscription),
}

impl MethodResult {
    /// The result of a method that only does something.
    pub(super) fn nothing() -> Self {
        Self::Complete("{}".to_owned())
    }
}

/// How a message is answered.
#[derive(Debug)]
pub enum Outcome {
    /// Accepted, without content.
    Accepted,
    /// A response.
    Response(ResponseStatus, Vec<u8>),
    /// The response to a handshake, and the session that begins with it.
    Begun(Arc<Session>, Vec<u8>),
    /// The response is a stream that stays open.
    Listening(Subscription),
    /// The client has cancelled the request, which is not answered then.
    Cancelled,
    /// The caller's scope does not reach. The transport says so with a challenge; where it is too
    /// late for that, there is a response.
    Denied(Error, Vec<u8>),
}

impl Outcome {
    /// Bytes of the response, where there is one.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Response(_, body) | Self::Begun(_, body) | Self::Denied(_, body) => body.len(),
            Self::Accepted | Self::Listening(_) | Self::Cancelled => 0,
        }
    }

    /// The response, where there is one.
    pub fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Response(_, body) | Self::Begun(_, body) | Self::Denied(_, body) => Some(body),
            Self::Accepted | Self::Listening(_) | Self::Cancelled => None,
        }
    }
}

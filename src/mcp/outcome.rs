//! How a message is answered.

use std::sync::Arc;

use portico_actors::error::Error;

use crate::mcp::envelope::ResponseStatus;
use crate::mcp::sessions::Session;
use crate::mcp::streams::subscription::Subscription;

/// How a message is answered.
#[derive(Debug)]
pub enum Outcome {
    /// Taken; there is nothing to say.
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

//! The Model Context Protocol: one dispatch for both eras, each with its rim. Knows messages and
//! no server: headers come in as values, and what goes out is bytes and a standing. What is offered
//! at an address is behind one seam, [`features::Features`].

mod answering;
mod batch;
pub mod changes;
mod completion;
pub mod connection;
mod dispatch;
pub mod envelope;
pub mod era;
pub mod exchange;
pub mod features;
pub mod listing;
pub mod logging;
mod pages;
pub mod progress;
mod prompts;
pub mod replay;
pub mod request_state;
mod resources;
mod session;
pub mod sessions;
mod stateless;
pub mod subscription;
pub mod tasks;
mod tool_result;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_actors::call::Origin;
use portico_actors::directory::{Directory, Entry};
use portico_actors::error::{Error, Kind};
use portico_actors::principal::Principal;
use portico_actors::trace::TraceParent;

use crate::audit::{Audit, Said};
use crate::config::Connection;
use crate::observe::traces::Traces;
use crate::tools::Filter;
pub use answering::{Reception, answer, end_session, find_session, receive};
pub use batch::{answer_batch, receive_batch};
use changes::Digests;
use envelope::Standing;
use exchange::Exchange;
use features::{Features, Refusal};
use request_state::Seal;
use sessions::{Holder, Session, Sessions};
use subscription::Subscription;
use tasks::Tasks;

/// Bytes at most of a name that a client gives and that is kept beyond its request.
const LONGEST_NAME: usize = 1_024;
const PRODUCT: &str = "portico";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const INSTRUCTIONS: &str = "SQL access to one database connection. Call get_instructions first: it tells the dialect, \
                            the tables and what you may do.";

/// One header of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Not there.
    #[default]
    Absent,
    /// Its value, trimmed.
    One(String),
    /// Repeated, or no text.
    Invalid,
}

impl Header {
    fn value(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            _ => None,
        }
    }
}

/// The headers that the protocol reads.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// `MCP-Protocol-Version`.
    pub version: Header,
    /// `Mcp-Method`.
    pub method: Header,
    /// `Mcp-Name`.
    pub name: Header,
    /// `Mcp-Session-Id`.
    pub session: Header,
    /// `Last-Event-ID`.
    pub last_event: Header,
    /// `Mcp-Param-…`, by their names in lower case.
    pub params: Vec<(String, Header)>,
}

/// Where and for whom a message is answered.
pub struct Context<'a> {
    /// Sends calls.
    pub directory: &'a Directory,
    /// The connection.
    pub entry: &'a Entry,
    /// The caller.
    pub by: Arc<Principal>,
    /// The request, and its trace by the header.
    pub origin: Origin,
    /// Narrows `tools/list`.
    pub filter: &'a Filter,
    /// How the connection was configured.
    pub settings: &'a Arc<Connection>,
    /// The sessions of the 2025 revisions.
    pub sessions: &'a Sessions,
    /// Calls that go on after they were answered.
    pub tasks: &'a Tasks,
    /// Seals what the client carries for us.
    pub seal: &'a Seal,
    /// What is offered here.
    pub features: &'a dyn Features,
    /// What links the request to the one who made it.
    pub exchange: &'a Exchange,
    /// Says what is recorded of a call, where anything is.
    pub audit: Option<&'a Audit>,
    /// Gives a message its place in a trace of its own.
    pub traces: &'a Traces,
}

impl Context<'_> {
    /// Whose session or task it is that this caller begins or names.
    pub(crate) fn holder(&self) -> Holder {
        let claims = format!("{:?}", (self.by.claims.role(), self.by.claims.of_the_caller()));
        let (subject, scope) = (self.by.subject.clone(), self.by.scope());
        let configuration = self.settings.fingerprint.contents();
        Holder { subject, connection: self.entry.id, scope, claims, configuration }
    }
}

/// How a message is answered.
#[derive(Debug)]
pub enum Outcome {
    /// Taken; there is nothing to say.
    Accepted,
    /// A response.
    Response(Standing, Vec<u8>),
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

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// What a client that lost its stream sends as `Last-Event-ID`; within a session it names the
    /// stream, and the place in it.
    pub id: Option<String>,
    /// A JSON-RPC message; empty for an event that only gives an id.
    pub message: Bytes,
}

impl ServerEvent {
    /// One that only carries a message.
    pub fn message(message: impl Into<Bytes>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// What the log says of a message.
#[derive(Debug, Default)]
pub struct Summary {
    /// The tool's name, or the method.
    pub what: String,
    /// What the tool does, in one word.
    pub operation: Option<&'static str>,
    /// The trace and the span that the message itself names.
    pub parent: Option<TraceParent>,
    /// What its source is then told of it.
    pub trace: Option<TraceParent>,
    /// When the connection was asked.
    pub asked: Option<Instant>,
    /// How long the call waited for its turn.
    pub queued: Option<Duration>,
    /// How long the source then took.
    pub source: Option<Duration>,
    /// The statement's class.
    pub class: Option<&'static str>,
    /// Rows sent.
    pub rows: u64,
    /// How it failed.
    pub failure: Option<Kind>,
    /// The inner cause of an internal failure.
    pub cause: Option<String>,
    /// For the audit trail: the statement or procedure.
    pub said: Option<Said>,
    /// For the audit trail: the SQLSTATE of a failure.
    pub code: Option<String>,
    /// For the audit trail: why the caller was refused.
    pub reason: Option<String>,
    /// For the audit trail: the calls of a batch.
    pub calls: Vec<serde_json::Value>,
}

impl Summary {
    /// Where a call for this message comes from: the message's own trace goes before the header's.
    fn origin(&self, context: &Context<'_>) -> Origin {
        let trace = if self.parent.is_some() { self.trace } else { context.origin.trace };
        Origin { trace, ..context.origin }
    }
}

/// What the caller's lists hold now, as numbers that differ when they do.
pub fn digests(context: &Context<'_>) -> Digests {
    context.features.digests(context)
}

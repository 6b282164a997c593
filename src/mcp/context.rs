//! Where and for whom a message is answered, and what the log and the audit trail say of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_actors::call::Origin;
use portico_actors::directory::{Directory, Entry};
use portico_actors::error::Kind;
use portico_actors::principal::Principal;
use portico_actors::trace::TraceParent;

use crate::audit::{Audit, StatementRecord};
use crate::config::Connection;
use crate::mcp::extensions::request_state::StateSigner;
use crate::mcp::extensions::tasks::Tasks;
use crate::mcp::request_context::RequestContext;
use crate::mcp::sessions::{Owner, Sessions};
use crate::observe::traces::Traces;
use crate::tools::Filter;

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
    /// Signs what the client carries for us.
    pub state_signer: &'a StateSigner,
    /// What links the request to the one who made it.
    pub request: &'a RequestContext,
    /// Says what is recorded of a call, where anything is.
    pub audit: Option<&'a Audit>,
    /// Gives a message its place in a trace of its own.
    pub traces: &'a Traces,
}

impl Context<'_> {
    /// Whose session or task it is that this caller begins or names.
    pub(crate) fn owner(&self) -> Owner {
        let claims = format!("{:?}", (self.by.claims.role(), self.by.claims.of_the_caller()));
        let (subject, scope) = (self.by.subject.clone(), self.by.scope());
        let configuration = self.settings.fingerprint.contents();
        Owner { subject, connection: self.entry.id, scope, claims, configuration }
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
    pub statement: Option<StatementRecord>,
    /// For the audit trail: the SQLSTATE of a failure.
    pub code: Option<String>,
    /// For the audit trail: why the caller was refused.
    pub reason: Option<String>,
    /// For the audit trail: the calls of a batch.
    pub calls: Vec<serde_json::Value>,
}

impl Summary {
    /// Where a call for this message comes from, whose request came from `request`: the message's own
    /// trace goes before the header's.
    pub(super) fn origin(&self, request: Origin) -> Origin {
        let trace = if self.parent.is_some() { self.trace } else { request.trace };
        Origin { trace, ..request }
    }
}

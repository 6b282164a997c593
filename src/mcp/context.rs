//! The context of a message: the target, the caller, and its entries in the log and the audit trail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_actors::call::{Limits, Notices, Origin};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::{Error, Kind};
use portico_actors::principal::{Principal, Rights};
use portico_actors::trace::TraceParent;

use crate::audit::{Audit, StatementRecord};
use crate::federation::Federation;
use crate::mcp::extensions::request_state::StateSigner;
use crate::mcp::extensions::tasks::Tasks;
use crate::mcp::features::digest;
use crate::mcp::request_context::RequestContext;
use crate::mcp::sessions::{Owner, Sessions};
use crate::mcp::target::Target;
use crate::observe::traces::Traces;
use crate::routing::AskOptions;
use crate::tools::Filter;

/// The context of a message: its target, its caller, and the services.
#[derive(Clone)]
pub struct Context<'a> {
    /// Sends calls.
    pub directory: &'a Directory,
    /// Runs statements over several connections.
    pub federation: &'a Federation,
    /// The target of its address.
    pub target: &'a Target,
    /// The caller.
    pub by: Arc<Principal>,
    /// The request, and its trace by the header.
    pub origin: Origin,
    /// Narrows `tools/list`.
    pub filter: &'a Filter,
    /// The sessions of the 2025 revisions.
    pub sessions: &'a Sessions,
    /// Calls that go on after they were answered.
    pub tasks: &'a Tasks,
    /// Signs data that the client carries for us.
    pub state_signer: &'a StateSigner,
    /// The connection between the request and its client.
    pub request: &'a RequestContext,
    /// Determines what is recorded of a call, if there is an audit trail.
    pub audit: Option<&'a Audit>,
    /// Makes a trace context for each message.
    pub traces: &'a Traces,
}

impl Context<'_> {
    /// Returns the options for calling connections.
    pub(super) fn asking(&self, summary: &Summary, limits: Limits, notices: Option<Notices>) -> AskOptions {
        let (by, origin) = (Arc::clone(&self.by), summary.origin(self.origin));
        AskOptions { by, origin, limits, notices, effects: self.request.effects.next() }
    }

    /// Records the only connection that is called, if the address does not determine it.
    pub(super) fn note(&self, entry: &ConnectionEntry, summary: &mut Summary) {
        if self.target.named().is_none() {
            summary.connection = Some(entry.clone());
        }
    }

    /// Returns the owner of a session or task that this caller starts or names.
    pub(crate) fn owner(&self) -> Owner {
        let claims = format!("{:?}", (self.by.claims.role(), self.by.claims.of_the_caller()));
        let workspaces: Vec<_> = match self.target {
            Target::Workspace(it) => vec![&it.reachable],
            Target::All(all) => all.workspaces.iter().map(|it| &it.reachable).collect(),
            Target::Connection(_) => Vec::new(),
        };
        let rights = match self.target {
            Target::Connection(_) => Rights::all(self.by.scope()),
            Target::All(_) | Target::Workspace(_) => self.by.rights.clone(),
        };
        let connections = self.target.connections().iter();
        let connections = connections.map(|member| digest(&(member.entry.id, member.settings.fingerprint.source)));
        let workspaces = workspaces.into_iter().map(|workspace| digest(&format!("{workspace:?}")));
        let mut configuration: Vec<u64> = connections.chain(workspaces).collect();
        configuration.sort_unstable();
        Owner { subject: self.by.subject.clone(), target: self.target.id(), rights, claims, configuration }
    }
}

/// The summary of a message for the log.
#[derive(Default)]
pub struct Summary {
    /// The tool's name, or the method.
    pub what: String,
    /// The operation of the tool, in one word.
    pub operation: Option<&'static str>,
    /// The trace and the span that the message itself names.
    pub parent: Option<TraceParent>,
    /// The trace context for its source.
    pub trace: Option<TraceParent>,
    /// The connection that was asked, where the address does not say it.
    pub connection: Option<ConnectionEntry>,
    /// The names of the connections that were asked, where these are more than one.
    pub several: Vec<Arc<str>>,
    /// The name of the workspace that was asked.
    pub workspace: Option<Arc<str>>,
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
    /// Notes how a call of a tool failed, or a part of it.
    pub(super) fn note_failure(&mut self, error: &Error) {
        self.failure = Some(error.kind);
        self.code = error.get_sqlstate().map(str::to_owned);
        self.reason = crate::audit::reason(error);
        self.cause = error.cause().filter(|_| error.kind == Kind::Internal).map(str::to_owned);
    }

    /// Returns the origin of a call for this message, whose request has the origin `request`: the message's own
    /// trace takes precedence over the header's.
    pub(super) fn origin(&self, request: Origin) -> Origin {
        let trace = if self.parent.is_some() { self.trace } else { request.trace };
        Origin { trace, ..request }
    }
}

//! What the log and the audit trail say of a message.

use std::time::{Duration, Instant};

use portico_actors::call::Origin;
use portico_actors::error::Kind;
use portico_actors::trace::TraceParent;

use crate::audit::StatementRecord;

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

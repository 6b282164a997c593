//! The offer that tools are made for, and the operation that a tool call becomes.

use std::sync::Arc;
use std::time::Duration;

use portico_actors::call::{Limits, Op};
use portico_actors::error::Result;
use portico_actors::principal::{Principal, Scope};
use portico_actors::source::{Access, Profile};

use super::kind::{Operation, Type};
use super::own_tools::OwnTool;
use super::switches::Switches;
use crate::encode::{Caps, Format, TruncationHint};
use crate::fields::Fields;

/// The connection and the caller that a catalogue is made for.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    /// The connection's name, or the workspace's.
    pub connection: &'a str,
    /// Whether it is a workspace.
    pub is_workspace: bool,
    /// Whether the connection may write.
    pub access: Access,
    /// The source's profile, once it was up.
    pub profile: Option<&'a Arc<Profile>>,
    /// The caller.
    pub by: &'a Principal,
    /// The caller's role in the database, where callers have any.
    pub role: Option<&'a str>,
    /// What an administrator has disabled.
    pub switches: &'a Switches,
    /// The administrator's own tools.
    pub own: &'a [OwnTool],
    /// Tokens of the instructions at most.
    pub instructions_tokens: usize,
    /// Whether instructions include the rows of small lookup tables.
    pub lookup_rows: bool,
    /// How much of a result, and how many tools, a caller is shown.
    pub bounds: Bounds,
}

/// How much a caller is shown at one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Rows of a result at most.
    pub max_rows: u64,
    /// Bytes of a result at most.
    pub max_bytes: usize,
    /// Rows of a result where the call does not ask for more.
    pub tool_rows: u64,
    /// Bytes of a result where the call does not ask for more rows.
    pub tool_bytes: usize,
    /// The maximal number of listed tools made from the source; 0 means all.
    pub max_source_tools: usize,
}

impl Bounds {
    /// Rows of a result where the call does not ask for more.
    pub fn rows(&self) -> u64 {
        self.tool_rows.min(self.max_rows)
    }

    /// Bytes of a result where the call does not ask for more rows.
    pub fn bytes(&self) -> usize {
        self.tool_bytes.min(self.max_bytes)
    }

    /// As much as either of two allows.
    fn widened(self, other: Self) -> Self {
        Self {
            max_rows: self.max_rows.max(other.max_rows),
            max_bytes: self.max_bytes.max(other.max_bytes),
            tool_rows: self.tool_rows.max(other.tool_rows),
            tool_bytes: self.tool_bytes.max(other.tool_bytes),
            max_source_tools: self.max_source_tools,
        }
    }
}

/// A call of a tool, understood.
#[derive(Debug)]
pub struct ResolvedCall {
    /// The operation of the tool, in one word.
    pub operation: Operation,
    /// The operation for the connection.
    pub op: Op,
    /// How much may be spent on it.
    pub limits: Limits,
    /// How much of the result is read.
    pub caps: Caps,
    /// The form of the text block.
    pub format: Format,
}

impl Offer<'_> {
    /// Returns true if the connection can be written to.
    pub(super) fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Whether an administrator has left a tool switched on.
    pub(super) fn passes(&self, kind: Type, operation: Operation, name: &str) -> bool {
        self.switches.pass(kind, operation, name)
    }

    /// Returns true if a tool exists: it is not disabled, and it does not write where nothing can be written.
    pub(super) fn has(&self, kind: Type, operation: Operation, name: &str, writes: bool) -> bool {
        self.passes(kind, operation, name) && (self.is_writable() || !writes)
    }

    /// Whether the caller may write here.
    pub fn may_write(&self) -> bool {
        self.is_writable() && self.by.may(Scope::Write)
    }
}

/// Returns the first of `offers` with the largest limits among them: for tools of all of them.
pub fn widest<'a>(offers: &[Offer<'a>]) -> Offer<'a> {
    let mut widest = offers[0];
    for offer in offers {
        widest.bounds = widest.bounds.widened(offer.bounds);
    }
    widest
}

/// As much of a result as a context window has room for.
pub(super) fn caps(offer: &Offer<'_>, rest: TruncationHint) -> Caps {
    let bounds = offer.bounds;
    Caps { rows: bounds.rows(), bytes: bounds.bytes(), rows_bound: bounds.max_rows, rest }
}

/// The bounds of a call's `timeout`, in seconds.
pub const TIMEOUT_SECONDS: std::ops::RangeInclusive<u64> = 1..=300;

/// The `timeout` member, or its default.
pub fn timeout(fields: &mut Fields) -> Result<Duration> {
    Ok(fields.integer("timeout", TIMEOUT_SECONDS)?.map_or(Limits::DEFAULT_TIMEOUT, Duration::from_secs))
}

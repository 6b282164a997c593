//! Where and for whom a message is answered.

use std::sync::Arc;

use portico_actors::call::Origin;
use portico_actors::directory::{Directory, Entry};
use portico_actors::principal::Principal;

use crate::audit::Audit;
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

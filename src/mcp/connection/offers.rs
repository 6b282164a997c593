//! The offers that tools are made of: one for each connection of the target, as its caller sees it.

use std::slice;
use std::sync::Arc;

use portico_actors::principal::Principal;
use portico_actors::source::{Access, Profile};

use crate::mcp::context::Context;
use crate::mcp::target::{Member, Target, WorkspaceTarget};
use crate::tools::Offer;

/// What an offer borrows besides the connection.
struct Seen {
    by: Arc<Principal>,
    role: Option<String>,
    profile: Option<Arc<Profile>>,
}

impl Seen {
    fn new(context: &Context<'_>, member: &Member) -> Self {
        let Member { entry, settings } = member;
        let by = context.by.at(entry.id);
        // Without a role there is nothing to run, and every call is told so.
        let role = settings.identity.as_ref().and_then(|mapping| mapping.role(&entry.name, &by).ok());
        Self { by, role, profile: entry.profile() }
    }

    fn offer<'a>(&'a self, Member { entry, settings }: &'a Member) -> Offer<'a> {
        Offer {
            connection: &entry.name,
            access: entry.access,
            profile: self.profile.as_ref(),
            by: &self.by,
            role: self.role.as_deref(),
            max_rows: settings.max_rows,
            max_bytes: settings.max_bytes,
            instructions_tokens: settings.instructions_tokens,
            lookup_rows: settings.lookup_rows,
            switches: &settings.switches,
            own: &settings.tools,
        }
    }
}

/// The offer of a workspace, which is only read, and of what all the connections underneath have switched on.
fn of_workspace<'a>(context: &'a Context<'_>, it: &'a WorkspaceTarget) -> Offer<'a> {
    let workspace = &it.reachable.workspace;
    Offer {
        connection: &workspace.name,
        access: Access::ReadOnly,
        profile: None,
        by: &context.by,
        role: None,
        max_rows: workspace.max_rows,
        max_bytes: workspace.max_bytes,
        instructions_tokens: workspace.instructions_tokens,
        lookup_rows: workspace.lookup_rows,
        switches: &it.switches,
        own: &[],
    }
}

/// Makes the offers of `context`, one for each connection in their order, and hands them on.
pub(super) fn with<T>(context: &Context<'_>, then: impl FnOnce(&[Offer<'_>]) -> T) -> T {
    if let Target::Workspace(it) = context.target {
        return then(&[of_workspace(context, it)]);
    }
    match context.target.members() {
        [only] => then(slice::from_ref(&Seen::new(context, only).offer(only))),
        members => {
            let seen: Vec<Seen> = members.iter().map(|member| Seen::new(context, member)).collect();
            let offers: Vec<Offer<'_>> = seen.iter().zip(members).map(|(seen, member)| seen.offer(member)).collect();
            then(&offers)
        }
    }
}

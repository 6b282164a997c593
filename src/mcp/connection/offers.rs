//! The offers that tools are made of: one for each connection of the target, as its caller sees it.

use std::slice;
use std::sync::Arc;

use portico_actors::principal::{Principal, Rights};
use portico_actors::source::Profile;

use crate::mcp::context::Context;
use crate::mcp::target::{Member, Target, WorkspaceTarget};
use crate::tools::{Bounds, Offer};

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
            instructions_tokens: settings.instructions_tokens,
            lookup_rows: settings.lookup_rows,
            bounds: Bounds {
                max_rows: settings.max_rows,
                max_bytes: settings.max_bytes,
                tool_rows: settings.tool_rows,
                tool_bytes: settings.tool_bytes,
                max_source_tools: settings.max_source_tools,
                explain_cost_limit: settings.explain_cost_limit,
            },
            switches: &settings.switches,
            own: &settings.tools,
        }
    }
}

/// The caller as the tools of a workspace see them: as far as they may go in it.
fn by_workspace(context: &Context<'_>, it: &WorkspaceTarget) -> Arc<Principal> {
    let rights = Rights::only(it.reachable.underneath.iter().copied(), it.reachable.scope);
    Arc::new(Principal { rights, ..Principal::clone(&context.by) })
}

/// The offer of a workspace: what all the connections underneath have switched on, and writing where one of them can be
/// written to.
fn of_workspace<'a>(by: &'a Principal, it: &'a WorkspaceTarget) -> Offer<'a> {
    let workspace = &it.reachable.workspace;
    Offer {
        connection: &workspace.name,
        access: it.access(),
        profile: None,
        by,
        role: None,
        instructions_tokens: workspace.instructions_tokens,
        lookup_rows: workspace.lookup_rows,
        bounds: Bounds {
            max_rows: workspace.max_rows,
            max_bytes: workspace.max_bytes,
            tool_rows: workspace.tool_rows,
            tool_bytes: workspace.tool_bytes,
            max_source_tools: 0,
            explain_cost_limit: None,
        },
        switches: &it.switches,
        own: &[],
    }
}

/// Makes the offers of `context`, one for each connection in their order, and hands them on.
pub(super) fn with<T>(context: &Context<'_>, then: impl FnOnce(&[Offer<'_>]) -> T) -> T {
    if let Target::Workspace(it) = context.target {
        return then(&[of_workspace(&by_workspace(context, it), it)]);
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

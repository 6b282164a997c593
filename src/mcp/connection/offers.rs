//! The offers that tools are made of: one for each connection and workspace of the target, as its caller sees it.

use std::slice;
use std::sync::Arc;

use portico_actors::principal::Principal;
use portico_actors::source::{Access, Procedure, Profile};
use portico_actors::workspace::{Asset, MAIN};

use crate::mcp::context::Context;
use crate::mcp::target::{Target, TargetConnection, WorkspaceTarget};
use crate::tools::{Bounds, Offer};

/// The data that an offer borrows besides the connection.
struct Seen {
    by: Arc<Principal>,
    role: Option<String>,
    profile: Option<Arc<Profile>>,
}

impl Seen {
    fn new(context: &Context<'_>, member: &TargetConnection) -> Self {
        let TargetConnection { entry, settings } = member;
        let by = context.by.at(entry.id);
        // Without a role nothing can run, and every call gets that error.
        let role = settings.identity.as_ref().and_then(|mapping| mapping.role(&entry.name, &by).ok());
        Self { by, role, profile: entry.profile() }
    }

    fn offer<'a>(&'a self, TargetConnection { entry, settings }: &'a TargetConnection) -> Offer<'a> {
        Offer {
            connection: &entry.name,
            is_workspace: false,
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
            },
            switches: &settings.switches,
            own: &settings.tools,
        }
    }
}

/// The data that the offer of a workspace borrows besides it.
struct WorkspaceOffer {
    /// The caller as its tools see them: as far as they may go in it.
    by: Principal,
    /// The procedures that it has, under its own names.
    profile: Arc<Profile>,
}

impl WorkspaceOffer {
    fn new(context: &Context<'_>, it: &WorkspaceTarget) -> Self {
        let rights = it.reachable.rights(it.reachable.scope);
        let procedures = it.underneath.iter().flat_map(|member| procedures(context, it, member)).collect();
        let default_schema = Some(MAIN.to_owned());
        Self {
            by: Principal { rights, ..Principal::clone(&context.by) },
            profile: Arc::new(Profile { default_schema, procedures, ..Profile::default() }),
        }
    }

    /// Returns what all the connections underneath have enabled, with write access if one of them has it.
    fn offer<'a>(&'a self, it: &'a WorkspaceTarget) -> Offer<'a> {
        let workspace = &it.reachable.workspace;
        Offer {
            connection: &workspace.name,
            is_workspace: true,
            access: it.access(),
            profile: Some(&self.profile),
            by: &self.by,
            role: None,
            instructions_tokens: workspace.instructions_tokens,
            lookup_rows: workspace.lookup_rows,
            bounds: Bounds {
                max_rows: workspace.max_rows,
                max_bytes: workspace.max_bytes,
                tool_rows: workspace.tool_rows,
                tool_bytes: workspace.tool_bytes,
                max_source_tools: workspace.max_source_tools,
            },
            switches: &it.switches,
            own: &[],
        }
    }
}

/// The procedures of `member` that the workspace has and its caller may run.
fn procedures(context: &Context<'_>, it: &WorkspaceTarget, member: &TargetConnection) -> Vec<Procedure> {
    let TargetConnection { entry, settings } = member;
    let listed = |procedure: &Procedure| {
        let is_it = |asset: &Asset| {
            matches!(asset, Asset::Procedure { .. })
                && asset.connection() == &*entry.name
                && asset.is(&procedure.schema, &procedure.name)
        };
        it.reachable.workspace.assets.iter().any(is_it)
    };
    let Some(profile) = entry.profile() else { return Vec::new() };
    let by = it.reachable.writer(&context.by, entry.id);
    let role = settings.identity.as_ref().and_then(|mapping| mapping.role(&entry.name, &by).ok());
    let may = |procedure: &&Procedure| {
        procedure.is_for(role.as_deref()) && (procedure.reads_only || entry.access == Access::ReadWrite)
    };
    let found = profile.procedures.iter().filter(|procedure| listed(procedure)).filter(may);
    found.map(|procedure| Procedure { schema: MAIN.to_owned(), roles: None, ..procedure.clone() }).collect()
}

/// The workspaces that have offers of their own beside the connections.
pub(super) fn own_workspaces(target: &Target) -> Vec<&WorkspaceTarget> {
    match target {
        Target::All(all) => all.own_workspaces().collect(),
        Target::Connection(_) | Target::Workspace(_) => Vec::new(),
    }
}

/// Makes the offers of `context`, one for each connection in their order, followed by one for each workspace with
/// tables that they do not have, and passes them on.
pub(super) fn with<T>(context: &Context<'_>, then: impl FnOnce(&[Offer<'_>]) -> T) -> T {
    if let Target::Workspace(it) = context.target {
        return then(&[WorkspaceOffer::new(context, it).offer(it)]);
    }
    let workspaces = own_workspaces(context.target);
    match context.target.members() {
        [only] if workspaces.is_empty() => then(slice::from_ref(&Seen::new(context, only).offer(only))),
        members => {
            let seen: Vec<Seen> = members.iter().map(|member| Seen::new(context, member)).collect();
            let within: Vec<WorkspaceOffer> = workspaces.iter().map(|it| WorkspaceOffer::new(context, it)).collect();
            let offers = seen.iter().zip(members).map(|(seen, member)| seen.offer(member));
            let offers = offers.chain(within.iter().zip(workspaces).map(|(within, it)| within.offer(it)));
            then(&offers.collect::<Vec<Offer<'_>>>())
        }
    }
}

//! The target of an MCP address: one connection, all that the caller reaches, or a workspace.

use std::borrow::Borrow;
use std::slice;
use std::sync::Arc;

use futures_util::future::join_all;
use portico_actors::directory::{ConnectionEntry, ConnectionLease, Directory};
use portico_actors::principal::Principal;
use portico_actors::source::Access;
use uuid::Uuid;

use crate::config::Connection;
use crate::tools::Switches;
use crate::workspace::Reachable;

/// One connection of a target: its current state, and its configuration.
#[derive(Clone)]
pub struct TargetConnection {
    /// Its current state.
    pub entry: ConnectionEntry,
    /// Its configuration.
    pub settings: Arc<Connection>,
}

impl Borrow<ConnectionEntry> for TargetConnection {
    fn borrow(&self) -> &ConnectionEntry {
        &self.entry
    }
}

/// Identifies a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetId {
    /// The connection with this id.
    Connection(Uuid),
    /// All that the caller reaches.
    All,
    /// The workspace of this name.
    Workspace(Arc<str>),
}

impl TargetId {
    /// The caller as it is seen here: at one connection, with the scope that it has there.
    pub fn caller(&self, by: &Arc<Principal>) -> Arc<Principal> {
        match self {
            Self::Connection(id) => by.at(*id),
            Self::All | Self::Workspace(_) => Arc::clone(by),
        }
    }
}

/// Keeps connections from becoming idle; a single one needs no list.
#[derive(Default)]
#[expect(dead_code, reason = "what is in use is so until it is dropped")]
pub struct ConnectionLeases(Option<ConnectionLease>, Vec<ConnectionLease>);

/// The target of an MCP address.
#[derive(Clone)]
pub enum Target {
    /// One connection, which the address names.
    Connection(TargetConnection),
    /// Everything that the caller reaches.
    All(AllTarget),
    /// A workspace that the caller reaches.
    Workspace(Box<WorkspaceTarget>),
}

/// All that a caller reaches.
#[derive(Clone)]
pub struct AllTarget {
    /// The connections within reach, by name; followed by those that are reached only through a workspace.
    connections: Vec<TargetConnection>,
    /// How many of them are within reach by themselves.
    reached: usize,
    /// The workspaces, in the order of their names.
    pub workspaces: Vec<WorkspaceTarget>,
}

impl AllTarget {
    /// Of the connections and the workspaces that a caller reaches.
    pub fn new(members: Vec<TargetConnection>, workspaces: Vec<WorkspaceTarget>) -> Self {
        let (reached, mut connections) = (members.len(), members);
        for member in workspaces.iter().flat_map(|it| &it.underneath) {
            if connections.iter().all(|known| known.entry.id != member.entry.id) {
                connections.push(member.clone());
            }
        }
        Self { connections, reached, workspaces }
    }

    /// Returns the target with `connections` in place of their earlier states.
    fn with(&self, connections: Vec<TargetConnection>) -> Self {
        let now = |member: &TargetConnection| {
            let found = connections.iter().find(|known| known.entry.id == member.entry.id);
            found.unwrap_or(member).clone()
        };
        let workspace = |it: &WorkspaceTarget| WorkspaceTarget {
            underneath: it.underneath.iter().map(now).collect(),
            ..it.clone()
        };
        let workspaces = self.workspaces.iter().map(workspace).collect();
        Self { connections, reached: self.reached, workspaces }
    }

    /// Returns true if it is empty.
    pub fn is_empty(&self) -> bool {
        self.reached == 0 && self.workspaces.is_empty()
    }

    /// The connections that the caller reaches.
    pub fn members(&self) -> &[TargetConnection] {
        self.connections.get(..self.reached).unwrap_or_default()
    }

    /// Returns the workspaces with tables that no connection within reach has.
    pub fn own_workspaces(&self) -> impl Iterator<Item = &WorkspaceTarget> {
        let is_reached =
            |member: &TargetConnection| self.members().iter().any(|known| known.entry.id == member.entry.id);
        self.workspaces.iter().filter(move |it| !it.underneath.iter().all(is_reached))
    }

    /// Returns the only workspace, if there is nothing else.
    pub fn only_workspace(&self) -> Option<&WorkspaceTarget> {
        match self.workspaces.as_slice() {
            [only] if self.reached == 0 => Some(only),
            _ => None,
        }
    }

    /// The workspace of this name.
    pub fn workspace(&self, name: &str) -> Option<&WorkspaceTarget> {
        self.workspaces.iter().find(|it| it.reachable.workspace.name.eq_ignore_ascii_case(name))
    }
}

/// A workspace as an MCP address has it.
#[derive(Clone)]
pub struct WorkspaceTarget {
    /// The workspace, and the caller's scope in it.
    pub reachable: Reachable,
    /// The connections underneath.
    pub underneath: Vec<TargetConnection>,
    /// What is disabled: whatever is disabled on one of them.
    pub switches: Switches,
}

impl WorkspaceTarget {
    /// Makes the target of a workspace over `underneath`.
    pub fn new(reachable: Reachable, underneath: Vec<TargetConnection>) -> Self {
        let mut switches = Switches::default();
        for TargetConnection { settings, .. } in &underneath {
            switches.types.extend_from_slice(&settings.switches.types);
            switches.operations.extend_from_slice(&settings.switches.operations);
            switches.tools.extend_from_slice(&settings.switches.tools);
        }
        Self { reachable, underneath, switches }
    }

    /// Returns whether one of the connections underneath can be written to.
    pub(super) fn access(&self) -> Access {
        let writable = self.underneath.iter().any(|member| member.entry.access == Access::ReadWrite);
        if writable { Access::ReadWrite } else { Access::ReadOnly }
    }
}

/// A container of tables whose qualified names start with its name: a catalogue in JDBC.
#[derive(Clone, Copy)]
pub enum Catalog<'m> {
    /// A connection.
    Connection(&'m TargetConnection),
    /// A workspace.
    Workspace(&'m WorkspaceTarget),
}

impl<'m> Catalog<'m> {
    /// Its name.
    pub fn name(self) -> &'m Arc<str> {
        match self {
            Self::Connection(member) => &member.entry.name,
            Self::Workspace(it) => &it.reachable.workspace.name,
        }
    }

    /// The connection that it is, unless it is a workspace.
    pub fn connection(self) -> Option<&'m TargetConnection> {
        match self {
            Self::Connection(member) => Some(member),
            Self::Workspace(_) => None,
        }
    }
}

impl Target {
    /// Returns its identity.
    pub fn id(&self) -> TargetId {
        match self {
            Self::Connection(member) => TargetId::Connection(member.entry.id),
            Self::All(_) => TargetId::All,
            Self::Workspace(it) => TargetId::Workspace(Arc::clone(&it.reachable.workspace.name)),
        }
    }

    /// Returns the connections that can be named here; a workspace has names of its own.
    pub fn members(&self) -> &[TargetConnection] {
        match self {
            Self::Connection(member) => slice::from_ref(member),
            Self::All(all) => all.members(),
            Self::Workspace(_) => &[],
        }
    }

    /// Returns the catalogues with tables of their own.
    pub fn catalogs(&self) -> Vec<Catalog<'_>> {
        let members = self.members().iter().map(Catalog::Connection);
        match self {
            Self::Connection(_) => members.collect(),
            Self::Workspace(it) => vec![Catalog::Workspace(it)],
            Self::All(all) => members.chain(all.own_workspaces().map(Catalog::Workspace)).collect(),
        }
    }

    /// Its connections, named or not.
    pub fn connections(&self) -> &[TargetConnection] {
        match self {
            Self::Workspace(it) => &it.underneath,
            Self::All(all) => &all.connections,
            Self::Connection(_) => self.members(),
        }
    }

    /// The connection that the address names, if it names one.
    pub fn named(&self) -> Option<&TargetConnection> {
        match self {
            Self::Connection(member) => Some(member),
            Self::All(_) | Self::Workspace(_) => None,
        }
    }

    /// Returns the target in its current state, after each idle connection was started and had its first attempt;
    /// and leases that keep them from becoming idle. A connection that is gone keeps its last state.
    pub async fn held(&self, directory: &Directory) -> (Self, ConnectionLeases) {
        let hold = async |member: &TargetConnection| match directory.lease(&member.entry).await {
            Ok((entry, in_use)) => (TargetConnection { entry, settings: Arc::clone(&member.settings) }, Some(in_use)),
            Err(_) => (member.clone(), None),
        };
        if let Self::Connection(member) = self {
            let (member, in_use) = hold(member).await;
            return (Self::Connection(member), ConnectionLeases(in_use, Vec::new()));
        }
        let held = join_all(self.connections().iter().map(hold)).await;
        let (members, in_use): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let target = match self {
            Self::Workspace(it) => Self::Workspace(Box::new(WorkspaceTarget { underneath: members, ..(**it).clone() })),
            Self::All(all) => Self::All(all.with(members)),
            Self::Connection(_) => self.clone(),
        };
        (target, ConnectionLeases(None, in_use.into_iter().flatten().collect()))
    }
}

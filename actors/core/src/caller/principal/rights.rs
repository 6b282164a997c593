//! The rights of a credential.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::scope::Scope;

/// The rights of a credential, as one value: connections and workspaces, each with its maximal scope, or everything
/// with one scope for the whole service. Rights are stored and compared as a whole; rights of equal meaning are
/// equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rights(Extent);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Extent {
    /// Every configured connection and workspace, including ones added later, and the service itself.
    All(Scope),
    /// Only these, each once.
    Each {
        /// The widest scope among them.
        widest: Scope,
        connections: Connections,
        /// By name: those with a grant of their own, beside `connections`.
        workspaces: Arc<[(Arc<str>, WorkspaceGrant)]>,
    },
}

/// Connections by id, each with its scope.
type Connections = Arc<[(Uuid, Scope)]>;

/// How a workspace is reached, and with which scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkspaceGrant {
    /// It was given, with this scope.
    Given(Scope),
    /// Through the connections underneath, each with its scope. The workspace is reached by a caller who reaches
    /// all of them, with the narrowest of their scopes.
    Through(Connections),
}

impl WorkspaceGrant {
    /// Returns the widest scope that the grant can result in.
    pub fn widest(&self) -> Option<Scope> {
        match self {
            Self::Given(scope) => Some(*scope),
            Self::Through(connections) => connections.iter().map(|(_, scope)| *scope).max(),
        }
    }

    /// Returns what both grants allow.
    fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Given(own), Self::Given(most)) => Self::Given(*own.min(most)),
            (Self::Given(most), Self::Through(_)) => other.up_to(*most),
            (Self::Through(_), Self::Given(most)) => self.up_to(*most),
            (Self::Through(own), Self::Through(most)) => Self::Through(shared(own, most)),
        }
    }

    fn up_to(&self, scope: Scope) -> Self {
        match self {
            Self::Given(own) => Self::Given(scope.min(*own)),
            Self::Through(connections) => Self::Through(narrowed(connections, scope)),
        }
    }

    /// Returns the part of the grant that has the scope `admin`.
    fn administered(&self) -> Self {
        match self {
            Self::Given(Scope::Admin) => self.clone(),
            Self::Given(_) => Self::Through(Arc::default()),
            Self::Through(connections) => Self::Through(administered(connections)),
        }
    }
}

fn find(connections: &[(Uuid, Scope)], connection: Uuid) -> Option<Scope> {
    let found = connections.binary_search_by_key(&connection, |(id, _)| *id).ok();
    found.and_then(|at| connections.get(at)).map(|(_, scope)| *scope)
}

fn shared(own: &[(Uuid, Scope)], most: &[(Uuid, Scope)]) -> Connections {
    own.iter().filter_map(|(id, own)| Some((*id, find(most, *id)?.min(*own)))).collect()
}

fn narrowed(connections: &[(Uuid, Scope)], scope: Scope) -> Connections {
    connections.iter().map(|(id, own)| (*id, scope.min(*own))).collect()
}

fn administered(connections: &[(Uuid, Scope)]) -> Connections {
    connections.iter().filter(|(_, scope)| *scope == Scope::Admin).copied().collect()
}

impl Rights {
    /// Everything: intersecting with it restricts nothing.
    pub const ALL: Self = Self(Extent::All(Scope::Admin));

    /// Grants every connection and workspace, including ones added later, and the service itself, with this scope.
    pub const fn all(scope: Scope) -> Self {
        Self(Extent::All(scope))
    }

    /// Grants only these connections, each with its scope, and the workspaces over them. If a connection is named
    /// twice, the first entry counts.
    pub fn each(connections: impl IntoIterator<Item = (Uuid, Scope)>) -> Self {
        let mut connections: Vec<_> = connections.into_iter().collect();
        connections.sort_by_key(|(id, _)| *id);
        connections.dedup_by_key(|(id, _)| *id);
        Self::with_grants(connections.into(), Vec::new())
    }

    /// Grants only these connections, all with this scope.
    pub fn only(connections: impl IntoIterator<Item = Uuid>, scope: Scope) -> Self {
        Self::each(connections.into_iter().map(|id| (id, scope)))
    }

    /// Adds these workspaces, by name. If a workspace is named twice, the first entry counts. Rights to everything
    /// already include them.
    #[must_use]
    pub fn with_workspaces(self, workspaces: impl IntoIterator<Item = (Arc<str>, WorkspaceGrant)>) -> Self {
        let Extent::Each { connections, workspaces: own, .. } = self.0 else { return self };
        let mut all: Vec<_> = own.iter().cloned().chain(workspaces).collect();
        for (_, grant) in &mut all {
            if let WorkspaceGrant::Through(connections) = grant {
                *connections = connections.iter().copied().collect::<BTreeMap<_, _>>().into_iter().collect();
            }
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all.dedup_by(|(one, _), (other, _)| one == other);
        Self::with_grants(connections, all)
    }

    /// Takes connections and workspaces in order. Drops a workspace's grant if it says no more than the connections
    /// imply.
    fn with_grants(connections: Connections, mut workspaces: Vec<(Arc<str>, WorkspaceGrant)>) -> Self {
        workspaces.retain(|(_, grant)| !matches!(grant, WorkspaceGrant::Through(through) if *through == connections));
        let granted = workspaces.iter().filter_map(|(_, grant)| grant.widest());
        let widest = connections.iter().map(|(_, scope)| *scope).chain(granted).max().unwrap_or(Scope::Read);
        // An empty list of its own would cost an allocation.
        let workspaces = if workspaces.is_empty() { Arc::default() } else { workspaces.into() };
        Self(Extent::Each { widest, connections, workspaces })
    }

    /// Returns true for rights to everything, including what is added later.
    pub const fn is_all(&self) -> bool {
        matches!(self.0, Extent::All(_))
    }

    /// Returns the widest scope held anywhere; [`Scope::Read`] if nothing is within reach.
    pub const fn widest(&self) -> Scope {
        match self.0 {
            Extent::All(scope) => scope,
            Extent::Each { widest, .. } => widest,
        }
    }

    /// Returns the connections within reach by id, each with its scope; `None` for rights to everything.
    pub fn list(&self) -> Option<&[(Uuid, Scope)]> {
        match &self.0 {
            Extent::All(_) => None,
            Extent::Each { connections, .. } => Some(connections),
        }
    }

    /// Returns the workspaces with a grant of their own, beside the connections of [`Rights::list`].
    pub fn workspaces(&self) -> &[(Arc<str>, WorkspaceGrant)] {
        match &self.0 {
            Extent::All(_) => &[],
            Extent::Each { workspaces, .. } => workspaces,
        }
    }

    /// Returns true if `connection` is within reach.
    pub fn covers(&self, connection: Uuid) -> bool {
        self.scope_at(connection).is_some()
    }

    /// Returns the scope at `connection`; `None` if it is not within reach.
    pub fn scope_at(&self, connection: Uuid) -> Option<Scope> {
        match &self.0 {
            Extent::All(scope) => Some(*scope),
            Extent::Each { connections, .. } => find(connections, connection),
        }
    }

    /// Returns the scope in a workspace over the connections `underneath`: the scope that the workspace was granted
    /// with or, without a grant, the narrowest scope at these connections. Returns `None` if the workspace is not
    /// within reach.
    pub fn scope_in(&self, workspace: &str, underneath: impl IntoIterator<Item = Uuid>) -> Option<Scope> {
        match self.grant(workspace) {
            WorkspaceGrant::Given(scope) => Some(scope),
            WorkspaceGrant::Through(connections) => {
                let scopes: Option<Vec<_>> = underneath.into_iter().map(|id| find(&connections, id)).collect();
                scopes?.into_iter().min()
            }
        }
    }

    /// Returns how the workspace of that name is reached.
    fn grant(&self, workspace: &str) -> WorkspaceGrant {
        match &self.0 {
            Extent::All(scope) => WorkspaceGrant::Given(*scope),
            Extent::Each { connections, workspaces, .. } => {
                let found = workspaces.binary_search_by(|(name, _)| name.as_ref().cmp(workspace)).ok();
                let granted = found.and_then(|at| workspaces.get(at)).map(|(_, grant)| grant.clone());
                granted.unwrap_or_else(|| WorkspaceGrant::Through(Arc::clone(connections)))
            }
        }
    }

    /// Returns true if a workspace of that name could be within reach.
    pub fn may_reach(&self, workspace: &str) -> bool {
        self.grant(workspace).widest().is_some()
    }

    /// Returns the names of the workspaces with a grant in either of them.
    fn names<'a>(&'a self, other: &'a Self) -> BTreeSet<&'a Arc<str>> {
        self.workspaces().iter().chain(other.workspaces()).map(|(name, _)| name).collect()
    }

    /// Returns what both allow: the connections and workspaces of both, each with the narrower of the two scopes.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Extent::All(own), Extent::All(most)) => Self(Extent::All(*own.min(most))),
            (Extent::All(most), Extent::Each { .. }) => other.up_to(*most),
            (Extent::Each { .. }, Extent::All(most)) => self.up_to(*most),
            (Extent::Each { connections: own, .. }, Extent::Each { connections: most, .. }) => {
                let both = |name: &Arc<str>| (Arc::clone(name), self.grant(name).intersection(&other.grant(name)));
                Self::with_grants(shared(own, most), self.names(other).into_iter().map(both).collect())
            }
        }
    }

    /// Limits every scope to `scope`.
    #[must_use]
    pub fn up_to(&self, scope: Scope) -> Self {
        match &self.0 {
            _ if self.widest() <= scope => self.clone(),
            Extent::All(_) => Self(Extent::All(scope)),
            Extent::Each { connections, .. } => {
                self.each_grant(narrowed(connections, scope), |grant| grant.up_to(scope))
            }
        }
    }

    /// Replaces the connections, and changes the grant of each workspace.
    fn each_grant(&self, connections: Connections, change: impl Fn(&WorkspaceGrant) -> WorkspaceGrant) -> Self {
        let workspaces = self.workspaces().iter().map(|(name, grant)| (Arc::clone(name), change(grant)));
        Self::with_grants(connections, workspaces.collect())
    }

    /// Returns true if these rights include all of `other`.
    pub fn contains(&self, other: &Self) -> bool {
        match &other.0 {
            Extent::All(asked) => self.is_all() && *asked <= self.widest(),
            Extent::Each { .. } => self.intersection(other) == *other,
        }
    }

    /// Returns true if nothing is within reach.
    pub fn is_empty(&self) -> bool {
        self.list().is_some_and(<[_]>::is_empty) && self.workspaces().is_empty()
    }

    /// Returns true if the holder is an administrator: of the service, or of the connections and workspaces that
    /// are named.
    pub fn administer(&self) -> bool {
        self.widest() == Scope::Admin
    }

    /// Returns the part with the scope `admin`, or everything if the whole service is administered.
    #[must_use]
    pub fn administered(&self) -> Self {
        let Some(connections) = self.list() else { return self.clone() };
        self.each_grant(administered(connections), WorkspaceGrant::administered)
    }

    /// Describes the rights for people: the connections as `name` calls them, and the workspaces. An entry with
    /// less than the widest scope has its scope beside it.
    pub fn describe(&self, name: impl Fn(Uuid) -> String) -> String {
        let Some(connections) = self.list() else { return "all".to_owned() };
        let connections = connections.iter().map(|(id, scope)| (name(*id), *scope));
        let workspaces = self.workspaces().iter();
        let workspaces = workspaces.filter_map(|(name, grant)| Some((format!("workspace {name}"), grant.widest()?)));
        let described = connections.chain(workspaces).map(|(name, scope)| match scope {
            scope if scope == self.widest() => name,
            scope => format!("{name}:{}", scope.as_str()),
        });
        described.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);
    const C: Uuid = Uuid::from_u128(3);

    #[test]
    fn what_two_share_has_the_narrower_scope() {
        let own = Rights::each([(B, Scope::Write), (A, Scope::Read)]);
        assert_eq!((own.intersection(&Rights::ALL), Rights::ALL.intersection(&own)), (own.clone(), own.clone()));
        let other = Rights::each([(C, Scope::Write), (B, Scope::Read), (A, Scope::Admin)]);
        assert_eq!(own.intersection(&other), Rights::only([A, B], Scope::Read));
        assert_eq!(own.intersection(&Rights::only([B], Scope::Admin)), Rights::only([B], Scope::Write));
        assert_eq!(
            Rights::all(Scope::Write).intersection(&other),
            Rights::each([(A, Scope::Write), (B, Scope::Read), (C, Scope::Write)])
        );
        assert_eq!(Rights::all(Scope::Write).intersection(&Rights::all(Scope::Read)), Rights::all(Scope::Read));
        assert_eq!((own.widest(), own.up_to(Scope::Read).widest()), (Scope::Write, Scope::Read));
        assert_eq!((own.scope_at(C), own.covers(A)), (None, true));
        assert_eq!(Rights::each([(A, Scope::Read), (A, Scope::Admin)]), Rights::only([A], Scope::Read));
    }

    /// Every grant of a workspace that the connections A and B and two scopes make.
    fn grants() -> Vec<Option<WorkspaceGrant>> {
        let scopes = [None, Some(Scope::Read), Some(Scope::Admin)];
        let through = scopes.into_iter().flat_map(|at_a| {
            scopes.map(|at_b| {
                let each = [(A, at_a), (B, at_b)].into_iter().filter_map(|(id, at)| Some((id, at?)));
                Some(WorkspaceGrant::Through(each.collect()))
            })
        });
        let given = [None, Some(WorkspaceGrant::Given(Scope::Read)), Some(WorkspaceGrant::Given(Scope::Admin))];
        given.into_iter().chain(through).collect()
    }

    #[test]
    fn what_is_contained_is_what_an_intersection_leaves_as_it_is() {
        let scopes = [None, Some(Scope::Read), Some(Scope::Admin)];
        let mut all: Vec<Rights> = Scope::ALL.into_iter().map(Rights::all).collect();
        for at_a in scopes {
            for at_b in scopes {
                for grant in grants() {
                    let each = Rights::each([(A, at_a), (B, at_b)].into_iter().filter_map(|(id, at)| Some((id, at?))));
                    all.push(each.with_workspaces(grant.map(|grant| ("w".into(), grant))));
                }
            }
        }
        let places: [&[Uuid]; 5] = [&[A], &[B], &[A, B], &[C], &[A, C]];
        // The meaning of rights: the scope at every connection and in every workspace.
        let meaning = |rights: &Rights| {
            let at = [A, B, C].map(|id| rights.scope_at(id));
            let within = ["w", "v"].map(|name| places.map(|place| rights.scope_in(name, place.iter().copied())));
            (rights.is_all(), at, within)
        };
        for one in &all {
            for other in &all {
                assert_eq!(meaning(one) == meaning(other), one == other, "{one:?} {other:?}");
                let both = one.intersection(other);
                assert_eq!(both, other.intersection(one));
                assert_eq!(one.contains(other), both == *other, "{one:?} {other:?}");
                assert!(one.contains(&both) && other.contains(&both), "{one:?} {other:?}");
                let ((_, one_at, one_in), (_, other_at, other_in)) = (meaning(one), meaning(other));
                let (_, both_at, both_in) = meaning(&both);
                let pairs = one_at.iter().zip(&other_at).chain(one_in.iter().flatten().zip(other_in.iter().flatten()));
                for ((own, most), found) in pairs.zip(both_at.iter().chain(both_in.iter().flatten())) {
                    let narrower = own.and_then(|own| Some(own.min((*most)?)));
                    assert_eq!(*found, narrower, "{one:?} {other:?}");
                }
            }
            for scope in Scope::ALL {
                assert_eq!(one.up_to(scope), one.intersection(&Rights::all(scope)), "{one:?}");
            }
            let (_, own_at, own_in) = meaning(one);
            let (_, left_at, left_in) = meaning(&one.administered());
            let own = own_at.iter().chain(own_in.iter().flatten());
            for (own, left) in own.zip(left_at.iter().chain(left_in.iter().flatten())).filter(|_| !one.is_all()) {
                assert_eq!(*left, own.filter(|own| *own == Scope::Admin), "{one:?}");
            }
        }
        assert!(!Rights::only([A, B], Scope::Admin).contains(&Rights::all(Scope::Read)), "there may be more of them");
    }

    #[test]
    fn a_workspace_is_reached_by_itself_or_by_every_connection_underneath() {
        let by_connections = Rights::each([(A, Scope::Write), (B, Scope::Read)]);
        assert_eq!(by_connections.scope_in("w", [A, B]), Some(Scope::Read));
        assert_eq!(by_connections.scope_in("w", [A, C]), None);
        let given = Rights::each([]).with_workspaces([("w".into(), WorkspaceGrant::Given(Scope::Write))]);
        assert_eq!((given.scope_in("w", [A, C]), given.scope_in("v", [A])), (Some(Scope::Write), None));
        assert_eq!((given.covers(A), given.is_empty(), given.widest()), (false, false, Scope::Write));
        let both = by_connections.intersection(&given);
        assert_eq!((both.scope_in("w", [A]), both.scope_in("w", [A, B])), (Some(Scope::Write), Some(Scope::Read)));
        assert_eq!((both.scope_in("w", [A, C]), both.covers(A)), (None, false));
        let mixed = Rights::only([A], Scope::Write).with_workspaces([("w".into(), WorkspaceGrant::Given(Scope::Read))]);
        assert_eq!(mixed.describe(|_| "sales".to_owned()), "sales, workspace w:read");
    }
}

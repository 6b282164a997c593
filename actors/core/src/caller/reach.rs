//! Serialises rights for listings and the store: the widest scope, and the connections and workspaces within reach.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use super::principal::{Rights, Scope, WorkspaceGrant};

/// Writes `scope` (the widest), `reach`, and `workspaces` if any has a grant.
impl Serialize for Rights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        members(self, "reach", serializer)
    }
}

/// Writes the same members with the list of connections as `connections`.
pub fn with_connections<S: Serializer>(rights: &Rights, serializer: S) -> Result<S::Ok, S::Error> {
    members(rights, "connections", serializer)
}

fn members<S: Serializer>(rights: &Rights, list: &'static str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut members = serializer.serialize_map(None)?;
    members.serialize_entry("scope", &rights.widest())?;
    match rights.list() {
        None => members.serialize_entry(list, "all")?,
        Some(connections) => members.serialize_entry(list, &plain(connections, rights.widest()))?,
    }
    let workspaces: Vec<_> = rights.workspaces().iter().filter_map(|held| Listed::new(held, rights.widest())).collect();
    if !workspaces.is_empty() {
        members.serialize_entry("workspaces", &workspaces)?;
    }
    members.end()
}

/// A workspace in a listing, beside the widest scope.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    /// With the widest scope.
    Plain(&'a str),
    /// With this narrower scope.
    Narrowed { name: &'a str, scope: Scope },
}

impl<'a> Listed<'a> {
    fn new((name, grant): &'a (Arc<str>, WorkspaceGrant), widest: Scope) -> Option<Self> {
        let scope = grant.widest()?;
        Some(if scope == widest { Self::Plain(name) } else { Self::Narrowed { name, scope } })
    }
}

/// One entry of the rights, as the store writes it beside the widest scope; listings write connections alike.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredGrant {
    /// A connection, with the widest scope.
    Plain(Uuid),
    /// A connection, with a narrower scope.
    Narrowed {
        /// The connection.
        id: Uuid,
        /// The scope's name.
        scope: String,
    },
    /// A workspace with a scope of its own.
    Workspace {
        /// Its name.
        workspace: Arc<str>,
        /// The scope's name.
        scope: String,
    },
    /// A workspace that is reached through connections.
    Through {
        /// Its name.
        workspace: Arc<str>,
        /// The connections, each with its scope's name.
        through: Vec<(Uuid, String)>,
    },
}

fn plain(connections: &[(Uuid, Scope)], widest: Scope) -> Vec<StoredGrant> {
    let reached = |(id, scope): &(Uuid, Scope)| match scope {
        scope if *scope == widest => StoredGrant::Plain(*id),
        scope => StoredGrant::Narrowed { id: *id, scope: scope.as_str().to_owned() },
    };
    connections.iter().map(reached).collect()
}

impl StoredGrant {
    /// Returns the entries of `rights`; `None` for rights to everything.
    pub fn list(rights: &Rights) -> Option<Vec<Self>> {
        let mut list = plain(rights.list()?, rights.widest());
        list.extend(rights.workspaces().iter().map(|(name, grant)| match grant {
            WorkspaceGrant::Given(scope) => {
                Self::Workspace { workspace: Arc::clone(name), scope: scope.as_str().to_owned() }
            }
            WorkspaceGrant::Through(connections) => {
                let through = connections.iter().map(|(id, scope)| (*id, scope.as_str().to_owned())).collect();
                Self::Through { workspace: Arc::clone(name), through }
            }
        }));
        Some(list)
    }

    /// Returns the rights that the entries describe beside the scope `widest`; `None` if a scope's name is unknown.
    pub fn rights(listed: Vec<Self>, widest: Scope) -> Option<Rights> {
        let (mut connections, mut workspaces) = (Vec::new(), Vec::new());
        for each in listed {
            match each {
                Self::Plain(id) => connections.push((id, widest)),
                Self::Narrowed { id, scope } => connections.push((id, Scope::parse(&scope)?)),
                Self::Workspace { workspace, scope } => {
                    workspaces.push((workspace, WorkspaceGrant::Given(Scope::parse(&scope)?)));
                }
                Self::Through { workspace, through } => {
                    let read = |(id, scope): &(Uuid, String)| Some((*id, Scope::parse(scope)?));
                    workspaces
                        .push((workspace, WorkspaceGrant::Through(through.iter().map(read).collect::<Option<_>>()?)));
                }
            }
        }
        Some(Rights::each(connections).with_workspaces(workspaces).up_to(widest))
    }
}

/// Writes the scope's name.
impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    #[test]
    fn rights_are_read_as_they_were_written() {
        let connections = Rights::each([(A, Scope::Write), (B, Scope::Read)]);
        let given = |name: &str, scope| (Arc::from(name), WorkspaceGrant::Given(scope));
        let held = connections.clone().with_workspaces([given("v", Scope::Read), given("w", Scope::Write)]);
        let alone = Rights::each([]).with_workspaces([given("w", Scope::Write)]);
        let nothing = WorkspaceGrant::Through(Arc::default());
        for rights in [
            &connections,
            &held,
            &alone,
            &connections.intersection(&alone),
            &connections.clone().with_workspaces([("w".into(), nothing)]),
        ] {
            let text = serde_json::to_string(&StoredGrant::list(rights).unwrap()).unwrap();
            let read = StoredGrant::rights(serde_json::from_str(&text).unwrap(), rights.widest());
            assert_eq!(read.as_ref(), Some(rights), "{text}");
        }
        // The format before workspaces were introduced.
        let text = format!("[\"{A}\",{{\"id\":\"{B}\",\"scope\":\"read\"}}]");
        assert_eq!(StoredGrant::rights(serde_json::from_str(&text).unwrap(), Scope::Write), Some(connections.clone()));
        assert_eq!(
            json!(held),
            json!({"scope": "write", "reach": [A, {"id": B, "scope": "read"}], "workspaces": [{"name": "v", "scope": "read"}, "w"]})
        );
        assert_eq!(
            json!(connections.intersection(&alone)),
            json!({"scope": "write", "reach": [], "workspaces": ["w"]})
        );
    }
}

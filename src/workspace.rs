//! Which workspaces a caller reaches, and how far they go there.

use std::sync::Arc;

use portico_actors::directory::{self, ConnectionEntry, Directory};
use portico_actors::error::{Error, Result};
use portico_actors::near;
use portico_actors::principal::{Rights, Scope};
use portico_actors::workspace::Workspace;
use uuid::Uuid;

use crate::config::{Config, Connection};

/// A workspace, and the connections underneath.
#[derive(Clone)]
pub struct ConfiguredWorkspace {
    /// Its declaration.
    pub workspace: Arc<Workspace>,
    /// Each once.
    pub underneath: Arc<[Arc<Connection>]>,
}

impl ConfiguredWorkspace {
    /// Every workspace, ordered by name.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let underneath = |workspace: &Workspace| {
            let names = workspace.connections();
            names.into_iter().filter_map(|name| config.connection(name).cloned()).collect()
        };
        let configured =
            |workspace: &Arc<Workspace>| Self { underneath: underneath(workspace), workspace: Arc::clone(workspace) };
        let mut all: Vec<Self> = config.workspaces.iter().map(configured).collect();
        all.sort_by(|one, other| one.workspace.name.cmp(&other.workspace.name));
        all
    }
}

/// A workspace within a caller's reach.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// Its declaration.
    pub workspace: Arc<Workspace>,
    /// The connections underneath as they were declared with it, each once.
    pub underneath: Arc<[Arc<Connection>]>,
    /// The caller's maximal scope in it. A caller who was granted the workspace need not reach the connections
    /// themselves.
    pub scope: Scope,
}

impl Reachable {
    /// The connections underneath, as they are now.
    ///
    /// # Errors
    /// A reload has changed or removed one: the workspace was declared over another one.
    pub(crate) fn entries(&self, directory: &Directory) -> Result<Vec<ConnectionEntry>> {
        let entry = |declared: &Arc<Connection>| {
            let found = directory.get(declared.id).filter(|entry| entry.fingerprint == declared.fingerprint.source);
            found.ok_or_else(|| directory::changed(&declared.name))
        };
        self.underneath.iter().map(entry).collect()
    }

    /// Returns these rights at the connections underneath, and none elsewhere.
    pub(crate) fn rights(&self, scope: Scope) -> Rights {
        Rights::only(ids(&self.underneath), scope)
    }
}

fn ids(connections: &[Arc<Connection>]) -> impl Iterator<Item = Uuid> {
    connections.iter().map(|connection| connection.id)
}

/// Returns those of `all` within `rights`: those that were granted, and those whose connections are all within
/// reach.
pub(crate) fn within(all: &[ConfiguredWorkspace], rights: &Rights) -> Vec<Reachable> {
    let reachable = |ConfiguredWorkspace { workspace, underneath }: &ConfiguredWorkspace| {
        let scope = rights.scope_in(&workspace.name, ids(underneath))?;
        Some(Reachable { workspace: Arc::clone(workspace), underneath: Arc::clone(underneath), scope })
    };
    all.iter().filter_map(reachable).collect()
}

/// Returns the workspace of that name.
///
/// # Errors
/// [`Kind::NotFound`](portico_actors::error::Kind::NotFound) if it is not among them; names of others are not
/// revealed.
pub(crate) fn named(mut within: Vec<Reachable>, name: &str) -> Result<Reachable> {
    if let Some(at) = within.iter().position(|it| it.workspace.name.eq_ignore_ascii_case(name)) {
        return Ok(within.swap_remove(at));
    }
    let known: Vec<&str> = within.iter().map(|it| it.workspace.name.as_ref()).collect();
    let near = near::suggestion(name, known.iter().copied());
    let listed = || (!known.is_empty()).then(|| format!("workspaces: {}", known.join(", ")));
    Err(Error::not_found(format!("there is no workspace {name:?}")).with(near.or_else(listed), Error::hint))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use portico_actors::budget::Budget;
    use portico_actors::directory::Intensity;
    use portico_actors::error::Kind;
    use portico_actors::principal::WorkspaceGrant;

    use super::*;
    use crate::app::runnable;

    const SALES: Uuid = Uuid::from_u128(1);
    const CRM: Uuid = Uuid::from_u128(2);

    fn config(file: &str) -> Config {
        let connection =
            |id, name, file| format!("[[connections]]\nid = \"{id}\"\nname = \"{name}\"\nurl = \"sqlite:{file}\"\n");
        let text = connection(SALES, "sales", "x.db")
            + &connection(CRM, "crm", file)
            + "[[workspaces]]\nname = \"turnover\"\nassets = [{ table = \"sales.main.orders\" }]\n\
               [[workspaces]]\nname = \"revenue\"\nassets = [{ table = \"Sales.main.a\" }, { procedure = \"crm.main.b\" }]\n";
        Config::parse(&text, Path::new(""), &|_| None).unwrap()
    }

    fn configured() -> Vec<ConfiguredWorkspace> {
        ConfiguredWorkspace::all(&config("x.db"))
    }

    #[actix::test]
    async fn a_workspace_is_not_read_from_connections_that_were_declared_otherwise() {
        let declared = |file| config(file).connections.iter().map(|it| runnable(it, &Budget::default())).collect();
        let directory = Directory::start(declared("x.db"), Intensity::default(), Arc::new(|_| {}));
        let found = |name| {
            let entries = named(within(&configured(), &Rights::ALL), name).unwrap().entries(&directory);
            entries.map(|entries| entries.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(found("revenue").unwrap(), ["crm", "sales"]);
        let mut before = None;
        directory.reload(declared("y.db"), Vec::new(), || before = Some(found("revenue").unwrap())).await.unwrap();
        assert_eq!(before.unwrap(), ["crm", "sales"], "the new settings are not in force yet");
        assert_eq!(found("revenue").unwrap_err().kind, Kind::Unavailable);
        assert_eq!(found("turnover").unwrap(), ["sales"]);
        directory.reload(Vec::new(), vec![SALES], || ()).await.unwrap();
        assert_eq!(found("turnover").unwrap_err().kind, Kind::Unavailable);
    }

    #[test]
    fn a_workspace_that_is_not_within_reach_is_none() {
        let all = configured();
        let given = Rights::each([]).with_workspaces([("revenue".into(), WorkspaceGrant::Given(Scope::Write))]);
        let both = Rights::each([(SALES, Scope::Write), (CRM, Scope::Read)]);
        for (rights, expected) in [
            (Rights::ALL, vec![("revenue", Scope::Admin), ("turnover", Scope::Admin)]),
            (both.clone(), vec![("revenue", Scope::Read), ("turnover", Scope::Write)]),
            (Rights::only([SALES], Scope::Read), vec![("turnover", Scope::Read)]),
            (Rights::only([CRM], Scope::Admin), vec![]),
            (given.clone(), vec![("revenue", Scope::Write)]),
            (given.intersection(&both), vec![("revenue", Scope::Read)]),
            (given.intersection(&Rights::only([CRM], Scope::Admin)), vec![]),
        ] {
            let found = within(&all, &rights);
            let found: Vec<_> = found.iter().map(|it| (it.workspace.name.as_ref(), it.scope)).collect();
            assert_eq!(found, expected, "{rights:?}");
        }
        assert_eq!(named(within(&all, &both), "Revenue").ok().map(|it| it.underneath.len()), Some(2));
        let hint = |rights: &Rights, name: &str| {
            let error = named(within(&all, rights), name).err().unwrap();
            error.get_hint().map(str::to_owned)
        };
        assert_eq!(hint(&both, "revenu").as_deref(), Some("did you mean revenue?"));
        assert_eq!(hint(&Rights::only([SALES], Scope::Read), "revenue").as_deref(), Some("workspaces: turnover"));
        assert_eq!(hint(&Rights::each([]), "revenue"), None, "names of others' workspaces are not told");
    }
}
